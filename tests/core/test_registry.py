"""Names from other packages and by import path: found when asked for, refused when nobody named them."""

import sys
from pathlib import Path

import pytest

from comity.core.errors import ComityError
from comity.core.registry import Registry, Row
from comity.core.trust import TRUST, trust

GROUP = "comity.things"
MODULE = '''
"""A module that tells when it is imported."""
import pathlib
pathlib.Path(__file__).with_name("imported").touch()


class Thing:
    """One thing."""

    class Inner:
        """A thing within it."""


not_a_class = Thing()
'''


def distribution(folder: Path, package: str, entries: str, group: str = GROUP) -> None:
    """An installed package without code: what pip leaves behind that importlib.metadata reads."""
    about = folder / f"{package}-1.2.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{entries}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path of modules with a module `plugin_of_test`."""
    (tmp_path / "plugin_of_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "plugin_of_test", raising=False)
    monkeypatch.setenv(TRUST, "")
    return tmp_path


def registry() -> Registry:
    return Registry("thing", {"path": Row("pathlib:Path", "a path")}, GROUP)


def test_an_installed_package_adds_a_name_and_is_imported_only_when_asked_for(site: Path) -> None:
    distribution(site, "things", "mine = plugin_of_test:Thing\ninner = plugin_of_test:Thing.Inner")
    things = registry()
    assert things.rows() == {
        "path": Row("pathlib:Path", "a path"),
        "mine": Row("plugin_of_test:Thing", "from things 1.2"),
        "inner": Row("plugin_of_test:Thing.Inner", "from things 1.2"),
    }
    assert "mine" in things
    assert "yours" not in things
    assert not (site / "imported").exists()
    assert things.load("path") is Path
    assert not (site / "imported").exists()
    cls = things.load("mine")
    assert (cls.__module__, cls.__qualname__) == ("plugin_of_test", "Thing")
    assert things.name_of(cls) == "mine"
    assert things.name_of(cls.Inner) == "inner"
    with pytest.raises(ComityError, match=r"no thing named 'mne'\. Did you mean mine"):
        things.load("mne")


def test_other_groups_and_registries_without_one_see_nothing(site: Path) -> None:
    distribution(site, "things", "mine = plugin_of_test:Thing", group="comity.others")
    for things in (registry(), Registry("thing", {})):
        assert "mine" not in things
        with pytest.raises(ComityError, match="no thing named 'mine'"):
            things.load("mine")


def test_the_package_itself_comes_first_and_two_offers_are_refused(site: Path) -> None:
    distribution(site, "things", "path = plugin_of_test:Thing\nmine = plugin_of_test:Thing")
    distribution(site, "more", "mine = plugin_of_test:Thing.Inner")
    things = registry()
    assert things.rows()["path"].target == "pathlib:Path"
    assert things.load("path") is Path
    with pytest.raises(ComityError, match=r"'mine' is offered by (things|more) 1\.2 and (things|more) 1\.2"):
        things.load("mine")


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("no_such_module:Thing", "'mine' of things 1.2 cannot be imported: No module named"),
        ("plugin_of_test:Nothing", "'mine' of things 1.2 cannot be imported: .*Nothing"),
        ("plugin_of_test:not_a_class", "The thing mine is not a class"),
    ],
)
def test_what_cannot_be_loaded_is_said(site: Path, target: str, sentence: str) -> None:
    distribution(site, "things", f"mine = {target}")
    with pytest.raises(ComityError, match=sentence):
        registry().load("mine")


def test_an_import_path_runs_only_if_the_user_named_it(site: Path) -> None:
    things = registry()
    name = "plugin_of_test:Thing"
    with pytest.raises(ComityError, match=f"thing {name} runs code of its own. If you trust it"):
        things.load(name)
    assert not (site / "imported").exists()
    trust(name)
    cls = things.load(name)
    assert cls.__qualname__ == "Thing"
    assert things.name_of(cls) == name  # so that a file can name it, and reading it back asks for trust
    trust("plugin_of_test:Nothing")
    with pytest.raises(ComityError, match="has no Nothing that gives the thing"):
        things.load("plugin_of_test:Nothing")
    trust("plugin_of_test:not_a_class")
    with pytest.raises(ComityError, match="has no not_a_class that gives the thing"):
        things.load("plugin_of_test:not_a_class")
