// A population's lineage: generations from left to right, lines from parents to children; a member opens its run.
import { get, h, link, listen, number, replace, say, table } from "../dom.js";

const WIDTH = 860, HEIGHT = 360, LEFT = 60, RIGHT = 16, TOP = 14, BOTTOM = 44;

export async function population(place, parameters) {
  const path = parameters.get("path") || "";
  const shown = h("div"), panel = h("section", { class: "panel", id: "member", "aria-label": "member", tabindex: -1 });
  let chosen = null;
  const load = async () => {
    const data = await get("/api/population", { path });
    const choose = (own) => { chosen = own.name; replace(panel, member(data, own)); say(own.name); panel.focus({ preventScroll: true }); };
    const known = data.members.find((own) => own.name === chosen) || data.members.find((own) => own.name === data.line.at(-1));
    replace(panel, known ? member(data, known) : h("p", { class: "note" }, "No generation has come to its end yet."));
    replace(shown, h("p", { class: "note" }, `${path}: ${number(data.members.length)} members in ${number(data.generations)} generations; height is ${data.measure}. The line of the fittest is drawn thick.`),
      h("div", { class: "scroll" }, tree(data, choose)), panel, h("h2", {}, "Generations"), generations(data),
      h("h2", {}, "The line of the fittest"), line(data), h("div", { class: "command" }, `comity lineage ${path.replace(/\/?population\.json$/, "") || "."}`));
  };
  replace(place, h("h1", {}, "Population"), shown);
  await load();
  return listen([], load);
}

function scales(data) {
  const values = data.members.map((own) => own.fitness).filter((x) => x !== null);
  const low = Math.min(...values), high = Math.max(...values), most = Math.max(data.generations - 1, 1);
  return { low, high, x: (own) => LEFT + own.generation / most * (WIDTH - LEFT - RIGHT),
    y: (own) => HEIGHT - BOTTOM - (own.fitness - low) / (high - low || 1) * (HEIGHT - TOP - BOTTOM) };
}

function tree(data, choose) {
  const measured = data.members.filter((own) => own.fitness !== null);
  if (!measured.length) return h("p", { class: "note" }, "Nobody has been measured yet.");
  const { low, high, x, y } = scales(data), byName = new Map(measured.map((own) => [own.name, own]));
  const best = new Set(data.line);
  const links = measured.filter((own) => byName.has(own.parent)).map((own) => {
    const parent = byName.get(own.parent), thick = best.has(own.name);
    return h("line", { x1: x(parent), y1: y(parent), x2: x(own), y2: y(own), stroke: thick ? "var(--series-1)" : "var(--guide)", "stroke-width": thick ? 3 : 1 });
  });
  const dots = measured.map((own) => h("circle", { cx: x(own), cy: y(own), r: best.has(own.name) ? 6 : 4.5, fill: best.has(own.name) ? "var(--series-1)" : "var(--series-0)",
    stroke: "var(--paper)", tabindex: 0, role: "button", class: "member", "data-member": own.name, "aria-label": `${own.name}: ${number(own.fitness)}`,
    onclick: () => choose(own), onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(own); } } },
    h("title", {}, `${own.name}: ${number(own.fitness)}`)));
  const text = (words, at, anchor = "middle") => h("text", { ...at, "text-anchor": anchor }, words);
  return h("svg", { class: "plot tree", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": `lineage of ${measured.length} members` },
    h("line", { x1: LEFT - 12, x2: WIDTH - RIGHT, y1: HEIGHT - BOTTOM + 14, y2: HEIGHT - BOTTOM + 14, stroke: "var(--rule)" }), links, dots,
    text(number(high), { x: LEFT - 14, y: TOP + 6 }, "end"), text(number(low), { x: LEFT - 14, y: HEIGHT - BOTTOM + 4 }, "end"),
    text("0", { x: LEFT, y: HEIGHT - 14 }), text(number(data.generations - 1), { x: WIDTH - RIGHT, y: HEIGHT - 14 }, "end"), text("generation", { x: WIDTH / 2, y: HEIGHT - 8 }));
}

function member(data, own) {
  const children = data.members.filter((other) => other.parent === own.name).map((other) => other.name);
  return [h("h2", {}, own.name), h("p", { class: "note" }, `Generation ${own.generation}, ${data.measure} ${number(own.fitness)}${own.diversity === null ? "" : `, diversity ${number(own.diversity)}`}. `
    + (own.parent ? `It began from ${own.parent}. ` : "It began anew. ") + (children.length ? `From it: ${children.slice(0, 8).join(", ")}${children.length > 8 ? " ..." : ""}.` : "Nobody began from it.")),
    table(["setting", "value"], Object.entries(own.settings)),
    own.run ? h("p", {}, h("a", { href: link("curves", { path: own.run }) }, "Its curves"), " · ", h("a", { href: link("replay", { game: own.run, players: own.run }) }, "Watch it")) : null];
}

function generations(data) {
  const rows = [];
  for (let i = 0; i < data.generations; i++) {
    const own = data.members.filter((one) => one.generation === i), known = own.map((one) => one.fitness).filter((x) => x !== null).sort((a, b) => a - b);
    const last = (name) => (name || "").split("/").at(-1);
    const copies = own.filter((one) => one.parent && last(one.parent) !== last(one.name)).length;
    rows.push([i, own.length, known.at(-1) ?? null, known.length ? known[Math.floor(known.length / 2)] : null, known[0] ?? null, copies]);
  }
  return table(["generation", "members", "best", "median", "worst", "copied from another"], rows);
}

function line(data) {
  const byName = new Map(data.members.map((own) => [own.name, own]));
  return table(["member", data.measure, ...data.settings], data.line.map((name) => byName.get(name)).map((own) =>
    [own.run ? h("a", { href: link("curves", { path: own.run }) }, own.name) : own.name, own.fitness, ...data.settings.map((name) => own.settings[name] ?? null)]));
}
