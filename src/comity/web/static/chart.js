// Curves with bands, drawn by uPlot; beside them, in words, what they show.
import uPlot from "./vendor/uPlot.esm.js";
import { colourValue, h, number, SERIES } from "./dom.js";

function colourOf(index) { return colourValue(`--series-${index % SERIES}`); }

function faint(colour) {
  const value = colour.replace("#", "");
  const [r, g, b] = [0, 2, 4].map((i) => parseInt(value.slice(i, i + 2), 16));
  return `rgba(${r}, ${g}, ${b}, 0.18)`;
}

const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

export function chart(place, { title, xLabel, curves, log, logX, colours }) {
  const width = Math.max(260, place.clientWidth), height = Math.round(Math.min(300, width * 0.62));
  const tables = curves.map((curve) => [curve.x, curve.y, curve.low || curve.y, curve.high || curve.y]);
  const data = tables.length === 1 ? tables[0] : uPlot.join(tables);
  const positive = curves.every((curve) => curve.y.every((y) => y === null || y > 0));
  const ink = colourValue("--soft"), line = colourValue("--line");
  const series = [{}], bands = [];
  curves.forEach((curve, i) => {
    const index = colours[i], own = colourOf(index), first = series.length;
    const dash = DASHES[Math.floor(index / SERIES) % DASHES.length];
    series.push({ label: curve.name, stroke: own, width: 2, dash, spanGaps: true, points: { show: curve.x.length < 3 } });
    series.push({ stroke: "transparent", spanGaps: true, points: { show: false } });
    series.push({ stroke: "transparent", spanGaps: true, points: { show: false } });
    if (curve.low) bands.push({ series: [first + 2, first + 1], fill: faint(own) });
  });
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const short = (_, values) => values.map((value) => value === null ? "" : compact(value));
  const options = {
    width, height, series, bands, legend: { show: false }, cursor: { drag: { x: true, y: false } },
    scales: { x: { time: false, ...(logX && curves.every((curve) => curve.x.every((x) => x > 0)) ? { distr: 3 } : {}) }, y: log ? { distr: positive ? 3 : 4, asinh: 0.01 } : {} },
    axes: [{ ...axis, label: xLabel, labelSize: 22, size: 34, values: short }, { ...axis, size: 56, values: short }],
  };
  place.replaceChildren();
  const plot = new uPlot(options, data, place);
  const last = curves.map((curve) => `${curve.name}: ${number(curve.y.at(-1))}`).join("; ");
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", `${title} by ${xLabel}. Last values: ${last}.`);
  return plot;
}

function compact(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${+(value / 1e9).toPrecision(3)}G`;
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
  if (size !== 0 && size < 1e-3) return value.toExponential(0);
  return `${+value.toPrecision(4)}`;
}

export function legend(curves, colours) {
  return h("ul", { class: "legend" }, curves.map((curve, i) => h("li", {},
    h("span", { class: "swatch", style: { "border-color": `var(--series-${colours[i] % SERIES})`,
      "border-top-style": colours[i] >= SERIES ? "dashed" : "solid" } }),
    curve.seeds > 1 ? `${curve.name} (mean of ${curve.seeds} seeds, 95% band)` : curve.name)));
}
