"""How pages look: light and dark, wide and narrow, on a screen and on paper."""

from comity.core import palette


def _variables(dark: bool) -> str:
    return " ".join(f"--{name}: {colours[dark]};" for name, colours in palette.THEME.items())


CSS = (
    f":root {{ color-scheme: light dark; {_variables(dark=False)} }}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_variables(dark=True)} }} }}\n"
    """* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--ink);
       background: var(--paper); margin: 0 auto; padding: 1.4rem 1.2rem 3rem; max-width: 74rem; }
h1 { font-size: 1.7rem; line-height: 1.2; letter-spacing: -.01em; margin: 0 0 .5rem;
     overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 1.8rem 0 .5rem; padding-top: .8rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.1rem 0 .3rem; }
p { margin: .45rem 0; max-width: 50rem; }
a { color: inherit; }
.verdict { font-size: 1.15rem; line-height: 1.45; max-width: 60rem; margin: .3rem 0; }
.lead, .note { color: var(--soft); }
.note { font-size: .88rem; }
nav { font-size: .88rem; margin: .5rem 0 .3rem; display: flex; flex-wrap: wrap; gap: .1rem 1rem; }
nav a { color: var(--soft); }
figure { margin: .6rem 0; overflow-x: auto; }
figure svg { display: block; width: 100%; height: auto; max-width: 37rem; }
figure svg.as-drawn { width: auto; max-width: 100%; }
figure img { max-width: 100%; height: auto; border-radius: 4px; background: #fff; }
figcaption { color: var(--soft); font-size: .88rem; max-width: 46rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; margin: .5rem 0; }
caption { text-align: left; color: var(--soft); font-size: .88rem; padding-bottom: .2rem; }
th, td { text-align: left; vertical-align: top; padding: .28rem .75rem .28rem 0;
         border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer;
            text-align: inherit; }
th[aria-sort=ascending] button::after { content: " \\25b2"; font-size: .7em; }
th[aria-sort=descending] button::after { content: " \\25bc"; font-size: .7em; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
dl.columns { color: var(--soft); font-size: .88rem; margin: .3rem 0 .6rem; max-width: 50rem; }
dl.columns dt { display: inline; font-weight: 600; } dl.columns dd { display: inline; margin: 0; }
dl.columns dd::after { content: ""; display: block; }
pre { background: var(--wash); padding: .7rem 1rem; border-radius: 6px; overflow-x: auto; font-size: .86rem; }
code { font-family: ui-monospace, Menlo, Consolas, monospace; }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--soft); }
.cards { display: grid; gap: .6rem; margin: .8rem 0;
         grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); }
.card { background: var(--wash); border-radius: 8px; padding: .55rem .9rem; }
.card b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: .88rem; }
.side-by-side { display: grid; gap: .4rem 2rem; grid-template-columns: minmax(0, 1fr); align-items: start; }
.tabs > input { position: absolute; opacity: 0; }
.tabs > label { display: inline-block; padding: .1rem .7rem; margin: 0 .3rem .2rem 0; border-radius: 6px;
                font-size: .88rem; color: var(--soft); background: var(--wash); cursor: pointer; }
.tabs > input:checked + label { color: var(--paper); background: var(--soft); }
.tabs > input:focus-visible + label { outline: 2px solid var(--ink); outline-offset: 1px; }
.tabs > .panel { display: none; }
.tabs > input:nth-of-type(1):checked ~ .panel:nth-of-type(1),
.tabs > input:nth-of-type(2):checked ~ .panel:nth-of-type(2),
.tabs > input:nth-of-type(3):checked ~ .panel:nth-of-type(3),
.tabs > input:nth-of-type(4):checked ~ .panel:nth-of-type(4) { display: block; }
footer { color: var(--soft); font-size: .85rem; margin-top: 2.4rem; }
@media (min-width: 60rem) { .side-by-side { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); } }
@media (max-width: 32rem) { body { padding: 1rem .8rem 2rem; } h1 { font-size: 1.4rem; }
  .verdict { font-size: 1.05rem; } .cards { grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); } }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } nav, .tabs > label { display: none; }
  section, figure, tr { break-inside: avoid-page; } details:not([open]) { display: none; }
  .tabs > input:checked + label { display: inline-block; } }
"""
)
