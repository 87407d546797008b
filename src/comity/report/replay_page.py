"""The page that plays a replay: frames inside it, a few lines of script, nothing from outside."""

import html
import json
from collections.abc import Sequence

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c1f23; --soft: #5a6068; --line: #d5d9de; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181c; --ink: #e8eaed; --soft: #a7adb5; --line: #3a3f46; }
}
body { margin: 0; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.4 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; }
h1 { font-size: 1.1rem; overflow-wrap: anywhere; }
img { display: block; max-width: 100%; height: auto; margin: 0 auto; border-radius: 6px; }
.bar { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin-top: .75rem; }
button, select { font: inherit; padding: .3rem .7rem; border: 1px solid var(--line); border-radius: 6px;
  background: transparent; color: inherit; }
input { flex: 1 1 10rem; min-width: 8rem; }
p { color: var(--soft); font-size: .85rem; }
"""

SCRIPT = """
const picture = document.getElementById("picture"), scrub = document.getElementById("scrub");
const button = document.getElementById("play"), count = document.getElementById("count");
const speed = document.getElementById("speed");
let now = 0, timer = null;
function show(number) {
  now = Math.min(Math.max(number, 0), frames.length - 1);
  picture.src = "data:image/png;base64," + frames[now];
  picture.alt = "frame " + (now + 1) + " of " + frames.length;
  scrub.value = now;
  count.textContent = (now + 1) + " / " + frames.length;
}
function pause() { clearInterval(timer); timer = null; button.textContent = "Play"; }
function play() {
  if (now === frames.length - 1) show(0);
  button.textContent = "Pause";
  clearInterval(timer);
  timer = setInterval(() => { if (now === frames.length - 1) pause(); else show(now + 1); },
    milliseconds / Number(speed.value));
}
function toggle() { if (timer) pause(); else play(); }
button.onclick = toggle;
document.getElementById("back").onclick = () => { pause(); show(now - 1); };
document.getElementById("next").onclick = () => { pause(); show(now + 1); };
scrub.oninput = () => { pause(); show(Number(scrub.value)); };
speed.onchange = () => { if (timer) play(); };
document.onkeydown = (event) => {
  if (event.target.tagName === "SELECT" || event.target.tagName === "BUTTON" && event.key === " ") return;
  if (event.key === " ") { event.preventDefault(); toggle(); }
  if (event.key === "ArrowRight" && event.target !== scrub) { pause(); show(now + 1); }
  if (event.key === "ArrowLeft" && event.target !== scrub) { pause(); show(now - 1); }
};
show(0);
"""


def replay_page(title: str, pictures: Sequence[str], milliseconds: int) -> str:
    """The page; `pictures` are PNG files in base64."""
    name = html.escape(title)
    data = f"const milliseconds = {milliseconds}, frames = {json.dumps(list(pictures))};"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{name}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>
<body><main><h1>{name}</h1>
<img id="picture" alt="" src="data:image/png;base64,{pictures[0]}">
<div class="bar">
<button id="play" type="button">Play</button>
<button id="back" type="button" aria-label="one step back">&#9664;</button>
<button id="next" type="button" aria-label="one step on">&#9654;</button>
<input id="scrub" type="range" min="0" max="{len(pictures) - 1}" value="0" aria-label="frame">
<span id="count">1 / {len(pictures)}</span>
<select id="speed" aria-label="speed"><option value="0.5">0.5x</option><option value="1" selected>1x</option>
<option value="2">2x</option><option value="4">4x</option></select>
</div>
<p>Space plays and pauses, the arrow keys step.</p>
</main><script>{data}{SCRIPT}</script></body></html>
"""
