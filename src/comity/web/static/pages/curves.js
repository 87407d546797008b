// Curves of one run or several, live; their settings and how they differ.
import { chart, legend } from "../chart.js";
import { get, h, link, listen, number, problem, replace, say, select, table } from "../dom.js";

const FIRST = ["reward", "outcome/cooperation", "entropy", "loss"];
const options = { x: "iteration", smooth: 0, log: false, logX: false, bands: true, metrics: null };

export async function curves(place, parameters) {
  const paths = parameters.getAll("path");
  const about = await get("/api/run", { path: paths });
  const known = about.metrics;
  const kept = (options.metrics || FIRST).filter((name) => known.includes(name));
  let metrics = kept.length ? kept : known.slice(0, 4);
  const title = paths.length === 1 ? paths[0] : `${paths.length} runs`;
  const charts = h("div", { class: "charts" }), key = h("div"), finals = h("div");
  let drawing = 0;
  const draw = async () => {
    const own = ++drawing;
    options.metrics = metrics;
    const query = { path: paths, x: options.x, smooth: options.smooth, bands: options.bands ? 1 : 0 };
    try {
      const found = await Promise.all(metrics.map((metric) => get("/api/curves", { ...query, metric })));
      if (own === drawing) picture(found, charts, key, finals);
    } catch (error) { if (own === drawing) replace(charts, problem(error)); }
  };
  const change = (name, value) => { options[name] = value; draw(); };
  const smooth = h("output", {}, `${Math.round(options.smooth * 100)}%`);
  replace(place, h("h1", {}, title), facts(about),
    h("div", { class: "bar", role: "group", "aria-label": "how curves are drawn" },
      h("label", {}, "x", select(Object.entries(about.axes), { id: "axis", onchange: (event) => change("x", event.target.value) }, options.x)),
      h("label", {}, "smoothing", h("input", { type: "range", id: "smooth", min: 0, max: 0.3, step: 0.01, value: options.smooth,
        oninput: (event) => { smooth.textContent = `${Math.round(event.target.value * 100)}%`; change("smooth", Number(event.target.value)); } }), smooth),
      h("label", {}, h("input", { type: "checkbox", id: "log", checked: options.log, onchange: (event) => change("log", event.target.checked) }), "log y"),
      h("label", {}, h("input", { type: "checkbox", id: "log-x", checked: options.logX, onchange: (event) => change("logX", event.target.checked) }), "log x"),
      paths.length > 1 ? h("label", {}, h("input", { type: "checkbox", id: "bands", checked: options.bands,
        onchange: (event) => change("bands", event.target.checked) }), "bands over seeds") : null),
    h("details", {}, h("summary", {}, "Metrics"), h("div", { class: "bar" }, known.map((name) => h("button", {
      type: "button", "aria-pressed": String(metrics.includes(name)), onclick: (event) => {
        metrics = metrics.includes(name) ? metrics.filter((other) => other !== name) : [...metrics, name];
        event.target.setAttribute("aria-pressed", String(metrics.includes(name))); draw(); } }, name)))),
    key, charts, finals, settings(about));
  if (!known.length) replace(charts, h("p", { class: "note" }, "Nothing was logged yet."));
  await draw();
  const size = () => { clearTimeout(size.timer); size.timer = setTimeout(draw, 200); };
  addEventListener("resize", size);
  const stop = listen(paths, async () => {
    if (!known.length) {
      const again = await get("/api/run", { path: paths });
      if (again.metrics.length) { known.push(...again.metrics); metrics = FIRST.filter((name) => known.includes(name)); }
    }
    await draw();
  });
  return () => { stop(); removeEventListener("resize", size); clearTimeout(size.timer); };
}

function picture(found, charts, key, finals) {
  const names = [...new Set(found.flatMap((one) => one.curves.map((curve) => curve.name)))];
  const first = found.find((one) => one.curves.length === names.length) || found[0];
  if (!first) return;
  const colours = (list) => list.map((curve) => names.indexOf(curve.name));
  replace(key, legend(first.curves, colours(first.curves)));
  const boxes = found.map((one) => h("div", { class: "chart", "data-metric": one.metric, "data-x": lastX(one) }, h("h3", {}, one.metric), h("div")));
  while (charts.children.length > boxes.length) charts.lastChild.remove();
  boxes.forEach((box, i) => { if (charts.children[i]) charts.children[i].replaceWith(box); else charts.append(box); });
  found.forEach((one, i) => {
    if (!one.curves.length) { replace(boxes[i].lastChild, h("p", { class: "note" }, "No values on this axis.")); return; }
    chart(boxes[i].lastChild, { title: one.metric, xLabel: one.x, curves: one.curves, log: options.log, logX: options.logX, colours: colours(one.curves) });
  });
  const value = (one, name) => { const own = one.curves.find((curve) => curve.name === name); return own ? own.y.at(-1) : null; };
  replace(finals, h("h2", {}, "Last values"),
    table(["", ...found.map((one) => one.metric)], names.map((name) => [name, ...found.map((one) => value(one, name))])));
  say("curves drawn");
}

function lastX(one) { return Math.max(0, ...one.curves.map((curve) => curve.x.at(-1) ?? 0)); }

function facts(about) {
  if (about.runs.length > 1) {
    return h("details", {}, h("summary", {}, "Which runs"), h("ul", {}, about.runs.map((run) =>
      h("li", {}, h("a", { href: link("curves", { path: run.path }) }, run.path)))));
  }
  const [run] = about.runs;
  const command = run.facts.command;
  return [
    h("p", { class: "note" }, [run.facts.status, run.facts.reason, `${number(run.rows)} rows read`,
      run.facts.cpu_seconds ? `${number(run.facts.cpu_seconds, 0)} CPU seconds` : null].filter((x) => typeof x === "string").join(", ")),
    h("p", {}, run.players.length || run.checkpoint ? h("a", { href: link("replay", { game: run.path, players: run.path, go: 1 }) }, "Watch its players, and why they act as they do") : null,
      run.players.length ? [" · ", h("a", { href: link("play", { game: run.path, players: run.path }) }, "Play against them")] : null),
    typeof command === "string" ? h("div", { class: "command" }, command) : null,
  ];
}

function settings(about) {
  const show = (value) => value === null || value === undefined ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value);
  const differing = Object.entries(about.differences);
  const parts = [];
  if (about.runs.length > 1) {
    parts.push(h("h2", {}, "How their settings differ"));
    const groups = new Map();
    about.runs.forEach((run, i) => {
      const own = JSON.stringify(differing.map(([, values]) => values[i]));
      groups.set(own, [...(groups.get(own) || []), run.path]);
    });
    const columns = [...groups.values()];
    const at = columns.map((own) => about.runs.findIndex((run) => run.path === own[0]));
    const shown = differing.length ? table(["setting", ...columns.map((own) => own.length > 1 ? `${own[0]} and ${own.length - 1} more` : own[0])],
      differing.map(([name, values]) => [name, ...at.map((i) => show(values[i]))])) : h("p", { class: "note" }, "In nothing but their seeds.");
    parts.push(differing.length > 12 ? h("details", {}, h("summary", {}, `${differing.length} settings differ`), shown) : shown);
  }
  for (const run of about.runs.slice(0, 12)) {
    parts.push(h("details", {}, h("summary", {}, about.runs.length > 1 ? `Settings of ${run.path}` : "Settings"),
      table(["setting", "value"], Object.entries({ seed: run.seed, ...run.settings }).map(([name, value]) => [name, show(value)]))));
  }
  return parts;
}
