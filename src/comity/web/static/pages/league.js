// A league as a heat map; a cell opens the pairing.
import { get, h, link, number, problem, replace, say, table } from "../dom.js";

export async function league(place, parameters) {
  const path = parameters.get("path") || "";
  const data = await get("/api/league", { path });
  const order = data.standings.map((row) => data.players.indexOf(row.player));
  const panel = h("section", { class: "panel", id: "pairing", "aria-label": "pairing", tabindex: -1 },
    h("p", { class: "note" }, "Choose a cell to see the pairing."));
  const tables = { "reward per step": { mean: data.mean, low: data.low, high: data.high }, ...data.outcomes };
  const map = h("div", { class: "scroll" });
  const draw = (name) => replace(map, heat(data, order, tables[name], name, panel));
  const chooser = Object.keys(tables).length > 1 ? h("label", { class: "field" }, "shown",
    h("select", { id: "outcome", onchange: (event) => draw(event.target.value) }, Object.keys(tables).map((name) => h("option", { value: name }, name.replaceAll("_", " "))))) : null;
  draw("reward per step");
  const analysis = h("div", { id: "analysis" });
  if (data.players.length > 1) get("/api/league/analysis", { path }).then((found) => replace(analysis, as_game(found)), (error) => replace(analysis, problem(error)));
  replace(place, h("h1", {}, `${data.game_settings.name}: ${data.players.length} players`),
    h("p", { class: "note" }, `${path}: ${number(data.episodes)} episodes of ${number(data.horizon)} steps, seed ${data.seed}. ` +
      "A cell says what the player of its row earns when it meets the player of its column."),
    h("div", { class: "bar" }, chooser), map, panel,
    h("h2", {}, "How they stand"),
    h("p", { class: "note" }, "The best first by self-play less exploitation, the most that an opponent earns more than it."),
    table(["player", "self-play", "exploitation", "by", "less exploitation", "worst", "mean"], data.standings.map((row) =>
      [row.player, row.self_play, row.exploitation, row.exploiter || "nobody", row.secured, row.worst, row.mean])), analysis,
    h("p", { class: "note" }, "The same on a page of its own, and in the terminal:"),
    h("div", { class: "command" }, `comity report ${path}`), h("div", { class: "command" }, `comity analyse ${path}`));
}

function as_game(report) {
  const { alpha_rank: rank, exploitability, ratings } = report;
  const mixture = (own) => Object.entries(own).map(([name, share]) => share > 1 - 1e-9 ? name : `${name} ${number(share, 2)}`).join(", ");
  return [h("h2", {}, "The league as a game"),
    h("p", { class: "note" }, "The players are the strategies, and what they earned is the payoff. Exploitability: what the best answer among them gains against a population of one player. Alpha-rank: the share of time that a population under selection spends with it."),
    table(["player", "exploitability", "by", "alpha-rank", "Elo"], report.players.map((name, i) => [name, exploitability.by_league[i],
      exploitability.by_league[i] > 0 ? exploitability.exploiter[i] : "nobody", rank ? rank.distribution[i] : null, ratings ? Math.round(ratings.elo[i]) : null])),
    h("h3", {}, "Equilibria"),
    table(["one population", "the other", "payoffs", "true regret within"], report.equilibria.slice(0, 12).map((own) => [mixture(own.strategies.row), mixture(own.strategies.column),
      own.payoffs.map((x) => number(x)).join(", "), own.regret_interval.map((x) => number(x)).join(" to ")])),
    report.notes.map((note) => h("p", { class: "note" }, note))];
}

function shade(share) {
  // From vermilion over white to blue, as light as dark text needs.
  const mix = (from, to, t) => from.map((x, i) => Math.round(x + t * (to[i] - x)));
  const [low, middle, high] = [[238, 150, 100], [250, 248, 244], [110, 178, 220]];
  const rgb = share < 0.5 ? mix(low, middle, share * 2) : mix(middle, high, share * 2 - 1);
  return `rgb(${rgb.join(",")})`;
}

function heat(data, order, shown, name, panel) {
  const values = shown.mean.flat().filter((x) => x !== null);
  const least = Math.min(...values), most = Math.max(...values), width = most - least || 1;
  const cell = (i, j) => {
    const value = shown.mean[i][j];
    const half = shown.low && value !== null ? (shown.high[i][j] - shown.low[i][j]) / 2 : null;
    return h("td", {}, h("button", { type: "button", "aria-pressed": "false", "data-cell": `${i}-${j}`,
      "aria-label": `${data.players[i]} against ${data.players[j]}: ${number(value)}`,
      style: { background: value === null ? "#e3e6ea" : shade((value - least) / width) },
      onclick: (event) => {
        for (const other of event.target.closest("table").querySelectorAll("button")) other.setAttribute("aria-pressed", "false");
        event.target.closest("button").setAttribute("aria-pressed", "true");
        pairing(data, i, j, panel);
      } }, number(value), half === null ? null : h("small", {}, `±${number(half)}`)));
  };
  return h("table", { class: "heat" },
    h("caption", { class: "hidden-text" }, `${name} of the row's player against the column's`),
    h("thead", {}, h("tr", {}, h("td"), order.map((j) => h("th", { scope: "col" }, data.players[j])))),
    h("tbody", {}, order.map((i) => h("tr", {}, h("th", { scope: "row" }, data.players[i]), order.map((j) => cell(i, j))))));
}

function pairing(data, i, j, panel) {
  const [a, b] = [data.players[i], data.players[j]];
  const interval = (table, x, y) => `${number(table.mean[x][y])} [${number(table.low[x][y])}, ${number(table.high[x][y])}]`;
  const rows = [["reward per step", interval(data, i, j), interval(data, j, i)]];
  for (const [name, outcome] of Object.entries(data.outcomes)) rows.push([name.replaceAll("_", " "), number(outcome.mean[i][j]), number(outcome.mean[j][i])]);
  const players = [data.sources[a], ...Array(Math.max((data.seats || []).length - 1, 1)).fill(data.sources[b])];
  replace(panel, h("h2", {}, i === j ? `${a} with its own kind` : `${a} meets ${b}`),
    i === j ? table(["", a], rows.map((row) => row.slice(0, 2))) : table(["", a, b], rows),
    h("p", {}, h("a", { href: link("replay", { game: data.game_settings.name, players, go: 1 }) }, "Watch them play"),
      " · ", h("a", { href: link("play", { game: data.game_settings.name, players: data.sources[b] }) }, `Play against ${b}`)));
  say(`${a} against ${b}`);
  panel.focus({ preventScroll: true });
  panel.scrollIntoView({ block: "nearest" });
}
