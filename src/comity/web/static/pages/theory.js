// A pasted table of payoffs, and what theory says about it while it is typed.
import { get, h, number, post, problem, replace, select, table } from "../dom.js";

const COALITION = '{"worth": {"a": 0, "b": 0, "c": 0, "a,b": 4, "a,c": 3, "b,c": 2, "a,b,c": 6}}';

export async function theory(place) {
  const tables = await get("/api/theory");
  const names = Object.keys(tables);
  const text = h("textarea", { id: "payoffs", spellcheck: "false", "aria-label": "table of payoffs", value: tables[names[0]] });
  const coalition = h("input", { type: "checkbox", id: "coalition" });
  const result = h("div", { id: "result" });
  let asked = 0, timer = null;
  const solve = async () => {
    const own = ++asked;
    try {
      const data = await post("/api/theory", { text: text.value, coalition: coalition.checked });
      if (own === asked) replace(result, coalition.checked ? coalitions(data) : game(data));
    } catch (error) { if (own === asked) replace(result, problem(error)); }
    if (own === asked) result.dataset.answer = String(own);
  };
  const later = () => { clearTimeout(timer); timer = setTimeout(solve, 350); };
  text.addEventListener("input", later);
  coalition.addEventListener("change", () => { text.value = coalition.checked ? COALITION : tables[chooser.value]; solve(); });
  const chooser = select(names.map((name) => [name, name.replaceAll("-", " ")]), { id: "named", onchange: () => { coalition.checked = false; text.value = tables[chooser.value]; solve(); } });
  replace(place, h("h1", {}, "Theory"),
    h("p", { class: "note" }, "Type or paste a table: one line for each action of the row's player, both payoffs in each cell (\"3 5\"; one number if the game is zero-sum). JSON and Gambit's .nfg work too."),
    h("div", { class: "bar" }, h("label", {}, "begin with", chooser), h("label", {}, coalition, "coalitions")), text, result);
  await solve();
  return () => clearTimeout(timer);
}

function mixture(strategy) {
  return Object.entries(strategy).map(([name, p]) => p > 1 - 1e-9 ? name : `${name} ${number(p)}`).join(", ");
}
const together = (numbers) => numbers.map((x) => number(x)).join(", ");

function game(data) {
  const { report, players, actions } = data;
  const kinds = Object.entries(report.structure).filter(([, holds]) => holds === true).map(([name]) => name.replaceAll("_", " "));
  const parts = [h("h2", {}, data.title || "This game"), h("p", { class: "note" }, `${players.length} players, ${actions.map((own) => own.length).join(" × ")} actions; ${kinds.join(", ") || "no special structure"}.`)];
  const rows = report.equilibria.map((found, k) => [String(k + 1), ...players.map((player) => mixture(found.strategies[player])), together(found.payoffs)]);
  parts.push(h("h2", {}, `Nash equilibria (${rows.length})`), table(["", ...players, "payoffs"], rows));
  parts.push(h("div", { class: "pictures" }, pictures(data)));
  if (report.correlated) {
    const joint = report.correlated.distribution.flat(9), cells = profiles(actions);
    parts.push(h("h2", {}, "Best correlated equilibrium"), h("p", { class: "note" }, `Payoffs ${together(report.correlated.payoffs)}.`),
      table(["profile", "probability"], cells.map((cell, i) => [cell.join(", "), joint[i]]).filter(([, p]) => p > 1e-9)));
  }
  parts.push(h("h2", {}, "More"), table(["what", "answer"], [
    ["Pareto-optimal pure profiles", report.pareto.map((one) => `${one.profile.join(", ")} (${together(one.payoffs)})`).join("; ")],
    ["largest sum of payoffs", `${number(report.optimum.welfare)} at ${report.optimum.profiles.slice(0, 4).map((own) => own.join(", ")).join("; ")}`],
    ...report.security.map((own) => [`${own.player} can secure`, number(own.value)]),
    ...players.map((player, i) => [`strict dominance leaves ${player}`, report.dominance.strict.left[i].join(", ")]),
    ...["anarchy", "stability"].filter((name) => typeof report.price?.[name] === "number").map((name) => [`price of ${name}`, number(report.price[name])]),
    ...(report.commitment || []).map((own) => [`${own.leader} as leader earns`, number(own.leader_payoff)]),
  ]));
  for (const note of report.notes) parts.push(h("p", { class: "note" }, note));
  return parts;
}

function profiles(actions) {
  return actions.reduce((all, own) => all.flatMap((before) => own.map((name) => [...before, name])), [[]]);
}

const SIZE = 300, EDGE = 42;
const at = (x) => EDGE + x * (SIZE - EDGE - 12), up = (y) => SIZE - EDGE - y * (SIZE - EDGE - 12);

function frame(title, caption, x, y, inside, ticks = ["0", "1", "0", "1"]) {
  const [left, right, bottom, top] = ticks;
  return h("figure", {}, h("h3", {}, title), h("svg", { class: "plot", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "aria-label": `${title}. ${caption}` },
    h("polygon", { points: [[0, 0], [1, 0], [1, 1], [0, 1]].map(([a, b]) => `${at(a)},${up(b)}`).join(" "), fill: "none", stroke: "var(--rule)" }), inside,
    h("text", { x: (at(0) + at(1)) / 2, y: SIZE - 8, "text-anchor": "middle" }, x),
    h("text", { x: 12, y: (up(0) + up(1)) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(up(0) + up(1)) / 2})` }, y),
    h("text", { x: at(0), y: up(0) + 15 }, left), h("text", { x: at(1), y: up(0) + 15, "text-anchor": "end" }, right),
    h("text", { x: at(0) - 5, y: up(0), "text-anchor": "end" }, bottom), h("text", { x: at(0) - 5, y: up(1) + 9, "text-anchor": "end" }, top)),
    h("figcaption", {}, caption));
}

const line = (points, colour, extra = {}) => h("polyline", { points: points.map(([x, y]) => `${at(x)},${up(y)}`).join(" "), fill: "none", stroke: colour, ...extra });

function pictures(data) {
  const { pictures: found, actions, players, report } = data;
  const shown = [];
  const dots = (points) => points.map(([x, y]) => h("circle", { cx: at(x), cy: up(y), r: 5.5, fill: "var(--ink)", stroke: "var(--paper)", "stroke-width": 1.5 }));
  if (found.responses) {
    const axes = [`${players[0]}: probability of ${actions[0][0]}`, `${players[1]}: probability of ${actions[1][0]}`];
    const rest = report.equilibria.map((own) => [own.strategies[players[0]][actions[0][0]] || 0, own.strategies[players[1]][actions[1][0]] || 0]);
    shown.push(frame("Best responses", `Solid: ${players[0]}'s best response; dashed: ${players[1]}'s. They cross at the equilibria (dots).`, ...axes,
      [line(found.responses.row, "var(--series-0)", { "stroke-width": 4 }), line(found.responses.column, "var(--series-1)", { "stroke-width": 3, "stroke-dasharray": "8 5" }), dots(rest)]));
    shown.push(frame("Replicator flow", "Two populations; every path begins at its open end and ends at its dot.", ...axes,
      [found.flow.map((path) => [line(path, "var(--series-0)", { "stroke-width": 1.1, opacity: 0.75 }),
        h("circle", { cx: at(path.at(-1)[0]), cy: up(path.at(-1)[1]), r: 2.6, fill: "var(--series-1)" })]), dots(rest)]));
  }
  if (found.simplex) {
    const flat = ([a, b, c]) => [b + c / 2, c * 0.866];
    const corner = (x, y, text, anchor) => h("text", { x: at(x), y: up(y), "text-anchor": anchor }, text);
    shown.push(h("figure", {}, h("h3", {}, "Replicator flow"), h("svg", { class: "plot", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img", "aria-label": "Replicator flow of one population on a triangle" },
      h("polygon", { points: [[0, 0], [1, 0], [0.5, 0.866]].map(([a, b]) => `${at(a)},${up(b)}`).join(" "), fill: "none", stroke: "var(--edge)" }),
      found.simplex.map((path) => [line(path.map(flat), "var(--series-0)", { "stroke-width": 1.1, opacity: 0.75 })]),
      report.equilibria.filter((own) => JSON.stringify(Object.values(own.strategies[players[0]])) === JSON.stringify(Object.values(own.strategies[players[1]])))
        .map((own) => dots([flat(actions[0].map((name) => own.strategies[players[0]][name] || 0))])),
      corner(0, -0.06, actions[0][0], "start"), corner(1, -0.06, actions[0][1], "end"), corner(0.5, 0.9, actions[0][2], "middle")),
      h("figcaption", {}, "Shares of one population; dots are symmetric equilibria.")));
  }
  if (found.region && found.region.feasible.length) {
    const points = found.region.feasible, xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
    const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const scale = ([x, y]) => [(x - x0) / (x1 - x0 || 1), (y - y0) / (y1 - y0 || 1)];
    const area = (polygon, colour, opacity) => polygon.length ? h("polygon", { points: polygon.map(scale).map(([x, y]) => `${at(x)},${up(y)}`).join(" "),
      fill: colour, "fill-opacity": opacity, stroke: colour, "stroke-width": 2 }) : null;
    shown.push(frame("Payoffs", "Grey: what can be had on average; blue: what both would accept when the game is repeated; dots: equilibria.",
      `payoff of ${players[0]}`, `payoff of ${players[1]}`, [area(points, "var(--guide)", 0.25), area(found.region.rational, "var(--series-0)", 0.3),
        dots(report.equilibria.map((own) => scale(own.payoffs)))], [x0, x1, y0, y1].map((x) => number(x, 1))));
  }
  return shown;
}

function coalitions(data) {
  const { report, players } = data;
  const kinds = Object.entries(report.structure).filter(([, holds]) => holds).map(([name]) => name);
  const columns = [["Shapley value", report.shapley], ["Banzhaf value", report.banzhaf], ["nucleolus", report.nucleolus], ["a point of the core", report.core?.point]].filter(([, own]) => own);
  return [h("h2", {}, `${players.length} players together: ${number(report.worth)}`), h("p", { class: "note" }, kinds.join(", ") || "general"),
    table(["player", ...columns.map(([name]) => name)], players.map((player, i) => [player, ...columns.map(([, own]) => own[i])])),
    report.core?.empty ? h("p", {}, "The core is empty.") : null, report.notes.map((note) => h("p", { class: "note" }, note))];
}
