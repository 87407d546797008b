"""What MkDocs calls: adds generated pages, follows links into the repository, writes formulas as MathML."""

import logging
import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from docsite import algorithms, gallery, markup, notebooks, reference, results  # noqa: E402

log = logging.getLogger("mkdocs.hooks.docsite")

# Pages that stand elsewhere in the repository, by where they are in the site.
ELSEWHERE = {
    "results/index.md": "experiments/README.md",
    "results/notes-coin.md": "experiments/notes.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
INDEX = "<!-- all algorithms -->"
PICTURES = "<!-- pictures of the gallery -->"
SHIM = "assets/javascripts/iframe-worker.js"  # for the search in a folder; Material would fetch it
FETCHED = re.compile(r'(?:<(?:script|img|iframe|source)\b[^>]*\bsrc|<link\b[^>]*\bhref)="(https?:[^"]+)"')
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^()\s]+)((?:\s+\"[^\"]*\")?\))")
FENCED = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
_sources: dict[str, str] = {}  # pages that are generated: where their links count from


def on_config(config: Any) -> Any:
    """Adds to the navigation what follows from the code: algorithms, results, the reference."""
    sections = {title: entries for item in config.nav for title, entries in item.items()}
    groups: dict[str, list[dict[str, str]]] = {}
    for name in algorithms.names():
        groups.setdefault(algorithms.family(name), []).append({name: f"algorithms/{name}.md"})
    sections["Algorithms"] += [{title: entries} for title, entries in groups.items()]
    sections["Results"] += [{"Studies": [{name: f"results/{name}.md"} for name in results.names()]}]
    notes = sorted(path.name for path in (ROOT / "docs" / "notes").glob("*.md"))
    sections["Results"] += [{"Lab notes": ["results/notes-coin.md", *(f"notes/{name}" for name in notes)]}]
    sections["Reference"] += ["changelog.md", "contributing.md"]
    shelves = [name for name in reference.pages() if name != "reference/index.md"]
    sections["Reference"] += [{"Packages": [{Path(name).stem: name} for name in shelves]}]
    listed = str(config.nav)
    new = [path.name for path in sorted((ROOT / "docs").glob("*.md")) if f"'{path.name}'" not in listed]
    sections["Guides"] += new
    return config


def on_files(files: Files, config: Any) -> Files:
    """Adds the generated pages, and the files of the repository that pages link to."""
    found = {**reference.pages(), **results.pages(), **algorithms.pages()}
    for name, place in ELSEWHERE.items():
        found[name] = (ROOT / place).read_text(encoding="utf-8")
        _sources[name] = place
    for path in sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")):
        shown = notebooks.page(path)
        found[f"tutorials/{path.stem}.md"] = shown.text
        for name, picture in shown.pictures.items():
            files.append(File.generated(config, f"tutorials/{name}", content=picture))
    for name, text in found.items():
        written = files.get_file_from_path(name)
        if written is not None:
            files.remove(written)
        files.append(File.generated(config, name, content=text))
    files.append(
        File.generated(config, SHIM, abs_src_path=str(ROOT / "docsite" / "vendor" / "iframe-worker.js"))
    )
    texts = {file.src_uri: file.content_string for file in files if file.is_documentation_page()}
    linked = {target for name, text in texts.items() for target in _outside(name, text)}
    for place in sorted(linked):
        files.append(File.generated(config, _kept(place), abs_src_path=str(ROOT / place)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Expands what is generated, and turns links into the repository into links within the site."""
    name = page.file.src_uri
    if INDEX in markdown:
        markdown = markdown.replace(INDEX, algorithms.index())
    if PICTURES in markdown:
        markdown = markdown.replace(PICTURES, gallery.page())
    markdown = re.sub(r"^<!-- not run: .*? -->\n", "", markdown, flags=re.MULTILINE)

    def link(found: re.Match[str]) -> str:
        return f"{found[1]}{_within(name, found[2])}{found[3]}"

    parts = FENCED.split(markdown)
    return "".join(part if i % 2 else LINK.sub(link, part) for i, part in enumerate(parts))


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Formulas as MathML."""
    html, failed = markup.mathml(html)
    for formula in failed:
        log.warning("%s: this formula has no MathML: %s", page.file.src_uri, formula)
    return html


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """The finished page: nothing that it shows may come from elsewhere."""
    shim = posixpath.relpath(SHIM, posixpath.dirname(page.file.dest_uri) or ".")
    output = output.replace("https://unpkg.com/iframe-worker/shim", shim)
    for address in FETCHED.findall(output):
        log.warning("%s: a reader's browser would fetch %s", page.file.src_uri, address)
    return output


def _place(name: str, target: str) -> tuple[str, str]:
    """What a link on a page points to, as a path of the repository, and its anchor."""
    source = _sources.get(name, f"docs/{name}")
    path, _, anchor = target.partition("#")
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), path)), anchor


def _is_local(target: str) -> bool:
    return not re.match(r"[a-z]+:|#|/", target)


def _outside(name: str, text: str) -> set[str]:
    """The files of the repository outside the documentation that a page links to and that are no pages."""
    found = set()
    for part in FENCED.split(text)[::2]:
        for _, target, _ in LINK.findall(part):
            if not _is_local(target):
                continue
            place, _ = _place(name, target)
            if not _in_site(place) and (ROOT / place).is_file():
                found.add(place)
    return found


def _in_site(place: str) -> str:
    """The page or file of the site for a path of the repository, if there is one."""
    if place.startswith("docs/"):
        return place.removeprefix("docs/").replace(".ipynb", ".md")
    named = {source: name for name, source in ELSEWHERE.items()} | {
        "README.md": "index.md",
        "docs": "index.md",
        "experiments": "results/index.md",
    }
    return named.get(place, "")


def _kept(place: str) -> str:
    """Where a file of the repository is kept in the site; code as text that browsers show."""
    return f"files/{place}.txt" if place.endswith((".py", ".sh")) else f"files/{place}"


def _within(name: str, target: str) -> str:
    """A link as it is within the site."""
    if not _is_local(target) or target == f"{posixpath.basename(name).removesuffix('.md')}.ipynb":
        return target  # elsewhere, or a notebook's page offers its file
    place, anchor = _place(name, target)
    inside = _in_site(place) or (_kept(place) if (ROOT / place).is_file() else "")
    if not inside:
        return target
    path = posixpath.relpath(inside, posixpath.dirname(name) or ".")
    return f"{path}#{anchor}" if anchor else path
