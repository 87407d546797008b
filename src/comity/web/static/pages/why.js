// Why players did what they did in a replay: how likely it was, and what learning from it would change.
import { get, h, number, problem, replace } from "../dom.js";

const WIDTH = 560, HEIGHT = 96, MOST_CHOICES = 12;

// Fills `place` once the server knows; returns how a step is shown.
export function why(place, data) {
  let known = null, now = 0;
  const draw = () => { if (known) replace(place, parts(data, known, now)); };
  get(`/api/replays/${data.id}/reasons`).then((found) => { known = found.seats; draw(); place.dataset.known = "yes"; })
    .catch((error) => replace(place, problem(error)));
  replace(place, h("p", { class: "note" }, "What the players thought is being worked out."));
  return (step) => { now = step; draw(); };
}

function parts(data, known, now) {
  if (known.every((own) => !own.probabilities && !own.own)) {
    return h("p", { class: "note" }, "These players keep no probabilities. Advantages are known of runs that have a checkpoint.");
  }
  const learning = known.some((own) => own.own);
  return [h("h2", {}, "Why"),
    learning ? h("p", { class: "note" }, "What learning from this episode alone would follow: an action becomes more likely where its advantage and the term for the others are together above 0.")
      : h("p", { class: "note" }, "How likely each action was. Values and advantages are known of runs that have a checkpoint."),
    known.map((own, seat) => own.probabilities || own.own ? one(data, own, seat, now) : null)];
}

function one(data, own, seat, now) {
  const moment = data.moments[now], step = now - 1;
  const done = step >= 0 ? moment.choices[seat] : null;
  return h("section", { class: "why", "data-why": String(seat) },
    h("h3", {}, h("span", { class: "dot", style: { background: data.colours[seat] } }), `${data.seats[seat]}: ${data.players[seat]}`),
    step >= 0 && own.probabilities ? chances(own, step, done) : null,
    step >= 0 && own.own ? figures(data, own, seat, step) : null,
    own.own ? h("figure", {}, strip(own, step, data.colours[seat]),
      h("figcaption", {}, own.others.length ? "own advantage (solid) and the term for the others (outlined), step by step" : "advantage, step by step")) : null);
}

function chances(own, step, done) {
  const all = own.probabilities[step].map((share, i) => [share, i]);
  const shown = all.length <= MOST_CHOICES ? all : all.sort((a, b) => b[0] - a[0]).slice(0, MOST_CHOICES);
  return shown.map(([share, i]) => h("div", { class: i === done ? "meter chosen" : "meter" },
    h("span", {}, i === done ? `${own.choices[i]} (done)` : own.choices[i]),
    h("meter", { min: 0, max: 1, value: share ?? 0, "aria-label": `probability of ${own.choices[i]}` }), h("span", {}, percent(share))));
}

function percent(share) { return share === null ? "–" : share > 0 && share < 0.005 ? "<1%" : `${Math.round(share * 100)}%`; }

function figures(data, own, seat, step) {
  const count = data.seats.length;
  const other = (row) => own.others.length === count - 1 ? data.seats[(seat + row + 1) % count] : "the others";
  const total = own.advantage[step], term = own.term[step];
  const rows = [["value before the step", own.value[step]], ["own advantage", own.own[step]]];
  own.others.forEach((values, row) => {
    rows.push([`advantage of ${other(row)}`, values[step]], [`own past, as ${other(row)} is answered`, own.past[row][step]]);
  });
  if (own.others.length) rows.push(["term for the others", term]);
  rows.push(["together", total]);
  const words = total === null ? "" : Math.abs(total) < 1e-9 ? "changes nothing" : total > 0 ? "makes what was done more likely" : "makes what was done less likely";
  return [h("dl", { class: "figures" }, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, signed(value))])),
    h("p", { class: total > 0 ? "verdict up" : "verdict down" }, words)];
}

function signed(value) { return value === null ? "–" : `${value > 0 ? "+" : ""}${number(value, 3)}`; }

function strip(own, step, colour) {
  const count = own.own.length, wide = WIDTH / Math.max(count, 1);
  const most = Math.max(1e-9, ...own.own.map((x) => Math.abs(x ?? 0)), ...own.term.map((x) => Math.abs(x ?? 0)));
  const middle = HEIGHT / 2, scale = (middle - 3) / most;
  const bar = (value, i, left, share, look) => {
    const tall = Math.abs(value ?? 0) * scale;
    return h("rect", { x: i * wide + left * wide, width: Math.max(share * wide, 0.5), y: value > 0 ? middle - tall : middle, height: tall, ...look });
  };
  const half = own.others.length ? 0.42 : 0.84;
  return h("svg", { class: "strip", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `advantages in ${count} steps, the largest ${number(most)}` },
    step >= 0 ? h("rect", { x: step * wide, width: wide, y: 0, height: HEIGHT, fill: "var(--line)" }) : null,
    own.own.map((value, i) => bar(value, i, 0.08, half, { fill: colour })),
    own.others.length ? own.term.map((value, i) => bar(value, i, 0.5, half, { fill: "none", stroke: "var(--ink)", "stroke-width": 1, "vector-effect": "non-scaling-stroke" })) : null,
    h("line", { x1: 0, x2: WIDTH, y1: middle, y2: middle, stroke: "var(--edge)", "vector-effect": "non-scaling-stroke" }));
}
