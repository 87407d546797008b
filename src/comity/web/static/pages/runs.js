// Everything in the folder: leagues, runs, games that people played.
import { ago, get, h, link, listen, number, replace } from "../dom.js";

const COLUMNS = [
  ["path", "run"], ["game", "game"], ["agents", "agents"], ["seed", "seed"], ["status", "status"],
  ["iteration", "progress"], ["reward", "reward"], ["outcome/cooperation", "cooperation"], ["changed", "changed"],
];
const NARROW = new Set(["game", "seed", "outcome/cooperation", "changed"]);
const state = { filter: "", sort: "path", down: false, chosen: new Set() };

export async function runs(place) {
  const list = h("div"), title = h("h1", {}, "Runs");
  replace(place, title, list);
  let data = null;
  const draw = () => { if (data) replace(list, page(data, draw)); };
  const load = async () => {
    const focus = document.activeElement && document.activeElement.id;
    data = await get("/api/index");
    title.textContent = `Runs in ${data.folder}`;
    draw();
    if (focus && document.getElementById(focus)) document.getElementById(focus).focus();
  };
  await load();
  return listen([], load);
}

function page(data, draw) {
  const of = (kind) => data.entries.filter((entry) => entry.kind === kind);
  const found = of("run"), leagues = of("league"), plays = of("play"), sweeps = of("sweep"), populations = of("population");
  if (!data.entries.length) {
    return h("p", {}, "Nothing is here yet. ", h("code", {}, "comity train prisoners-dilemma adalign"),
      " trains something, or begin on the page ", h("a", { href: "#/build" }, "Build"), ".");
  }
  return [
    leagues.length ? [h("h2", {}, "Leagues"), h("div", { class: "cards" }, leagues.map((entry) =>
      h("a", { class: "card", href: link("league", { path: entry.path }) }, h("b", {}, entry.path),
        h("span", {}, `${entry.game}, ${entry.players.length} players, ${ago(entry.changed)}`))))] : null,
    populations.length ? [h("h2", {}, "Populations"), h("div", { class: "cards" }, populations.map((entry) =>
      h("a", { class: "card", href: link("population", { path: entry.path }) }, h("b", {}, entry.path),
        h("span", {}, `${number(entry.generations)} generations, ${number(entry.members)} members, ${ago(entry.changed)}`))))] : null,
    found.length ? [h("h2", {}, `Runs (${found.length})`), runTable(found, draw)] : null,
    sweeps.length ? [h("h2", {}, "Sweeps"), h("div", { class: "cards" }, sweeps.map((entry) => sweepCard(entry, found)))] : null,
    plays.length ? [h("h2", {}, "Games that people played"), h("div", { class: "cards" }, plays.map((entry) =>
      h("a", { class: "card", href: link("played", { path: entry.path }) },
        h("b", {}, `${entry.game}: ${entry.players.join(", ")}`),
        h("span", {}, `${(entry.total || []).map((x) => number(x, 2)).join(" : ")}, ${ago(entry.changed)}`))))] : null,
  ];
}

function sweepCard(entry, found) {
  const folder = entry.path.replace(/sweep\.json$/, "");
  const own = found.filter((run) => run.path.startsWith(folder)).map((run) => run.path).slice(0, 64);
  return h("a", { class: "card", href: link("curves", { path: own }) }, h("b", {}, entry.path),
    h("span", {}, `${own.length} runs, ${ago(entry.changed)}`));
}

function runTable(found, draw) {
  const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const text = (run) => `${run.path} ${run.game} ${run.agents.join(" ")} ${run.status}`.toLowerCase();
  const shown = found.filter((run) => words.every((word) => text(run).includes(word)));
  const key = (run) => { const value = run[state.sort]; return Array.isArray(value) ? value.join() : value; };
  shown.sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === undefined || x === null) return 1;
    if (y === undefined || y === null) return -1;
    const order = typeof x === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
    return state.down ? -order : order;
  });
  const paths = shown.map((run) => run.path);
  const chosen = paths.filter((path) => state.chosen.has(path));
  const compare = h("button", { class: "main", id: "compare", type: "button", disabled: !chosen.length,
    onclick: () => { location.hash = link("curves", { path: chosen.slice(0, 64) }); } },
    chosen.length > 1 ? `Compare ${Math.min(chosen.length, 64)} runs` : "Show curves");
  const toggle = (path, on) => { if (on) state.chosen.add(path); else state.chosen.delete(path); draw(); };
  return [
    h("div", { class: "bar" },
      h("input", { id: "filter", type: "search", placeholder: "filter", "aria-label": "filter runs", value: state.filter,
        oninput: (event) => { state.filter = event.target.value; draw(); const box = document.getElementById("filter");
          box.focus(); box.setSelectionRange(box.value.length, box.value.length); } }),
      compare, h("span", { class: "note" }, `${shown.length} shown, ${chosen.length} chosen`)),
    h("div", { class: "scroll" }, h("table", { class: "full" },
      h("thead", {}, h("tr", {},
        h("th", {}, h("input", { type: "checkbox", id: "all", "aria-label": "choose all that are shown",
          checked: paths.length > 0 && chosen.length === paths.length,
          onchange: (event) => { for (const path of paths) if (event.target.checked) state.chosen.add(path); else state.chosen.delete(path); draw(); } })),
        COLUMNS.map(([name, label]) => h("th", { scope: "col", class: NARROW.has(name) ? "wide-only" : "",
          "aria-sort": state.sort === name ? (state.down ? "descending" : "ascending") : null },
          h("button", { type: "button", id: `sort-${name}`, onclick: () => {
            state.down = state.sort === name ? !state.down : false; state.sort = name; draw(); } }, label))))),
      h("tbody", {}, shown.map((run, i) => h("tr", {},
        h("td", {}, h("input", { type: "checkbox", id: `run-${i}`, "aria-label": `choose ${run.path}`,
          checked: state.chosen.has(run.path), onchange: (event) => toggle(run.path, event.target.checked) })),
        h("td", { class: "path" }, h("a", { href: link("curves", { path: run.path }) }, run.path)),
        h("td", { class: "wide-only" }, run.game), h("td", {}, run.agents.join(", ")),
        h("td", { class: "wide-only" }, String(run.seed ?? "")),
        h("td", {}, h("span", { class: `badge ${run.status}` }, run.status || "unknown")),
        h("td", {}, progress(run)), h("td", {}, number(run.reward)),
        h("td", { class: "wide-only" }, number(run["outcome/cooperation"], 2)),
        h("td", { class: "wide-only" }, ago(run.changed))))))),
  ];
}

function progress(run) {
  if (!Number.isFinite(run.iterations)) return number(run.iteration);
  return [h("progress", { max: run.iterations, value: run.iteration, "aria-label": "iterations done", class: "wide-only" }),
    ` ${number(run.iteration)} / ${number(run.iterations)}`];
}
