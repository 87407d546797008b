// Which address shows which page. A page is a function (place, parameters) that may return how to leave it.
import { problem } from "./dom.js";
import { runs } from "./pages/runs.js";
import { curves } from "./pages/curves.js";
import { league } from "./pages/league.js";
import { population } from "./pages/population.js";
import { play, played } from "./pages/play.js";
import { replay } from "./pages/replay.js";
import { theory } from "./pages/theory.js";
import { build } from "./pages/build.js";

const PAGES = { runs, curves, league, population, play, played, replay, theory, build };
const PARENTS = { curves: "runs", league: "runs", population: "runs", played: "play" };
const main = document.getElementById("main");
let leave = null, visit = 0;

async function show() {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  if (location.hash && !location.hash.startsWith("#/")) return;
  const page = PAGES[name] ? name : "runs";
  const own = ++visit;
  if (leave) { leave(); leave = null; }
  for (const anchor of document.querySelectorAll("nav a")) {
    const current = anchor.getAttribute("href") === `#/${PARENTS[page] || page}`;
    if (current) anchor.setAttribute("aria-current", "page"); else anchor.removeAttribute("aria-current");
  }
  const place = document.createElement("div");
  main.replaceChildren(place);
  try {
    const left = await PAGES[page](place, new URLSearchParams(query || ""));
    if (own === visit) leave = left || null; else if (left) left();
  } catch (error) {
    place.append(problem(error));
  }
  const title = place.querySelector("h1");
  document.title = title ? `${title.textContent} · Comity` : "Comity";
  place.dataset.ready = "yes";
}

const root = document.documentElement;
const stored = localStorage.getItem("comity-theme");
if (stored) root.dataset.theme = stored;
document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("comity-theme", root.dataset.theme);
  show();
});
addEventListener("hashchange", () => { show(); main.focus({ preventScroll: true }); });
show();
