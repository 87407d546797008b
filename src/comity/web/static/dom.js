// Elements, requests and numbers. Text from files becomes text nodes only, never markup.

export function h(tag, attributes = {}, ...children) {
  const svg = ["svg", "path", "circle", "line", "text", "polygon", "polyline", "g", "title", "rect"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, own] of Object.entries(value)) element.style.setProperty(key, own);
    else if (["value", "checked", "disabled", "selected"].includes(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(4).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function replace(place, ...children) {
  place.replaceChildren(...children.flat(4).filter((child) => child !== null && child !== undefined && child !== false));
}

export function say(text) {
  document.getElementById("status").textContent = text;
}

async function answer(response) {
  const text = await response.text();
  let data;
  try { data = JSON.parse(text); } catch { data = { error: text || `The server said ${response.status}.` }; }
  if (!response.ok) throw new Error(data.error || `The server said ${response.status}.`);
  return data;
}

export async function get(path, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const own of Array.isArray(value) ? value : [value]) query.append(name, own);
  }
  const tail = query.size ? `?${query}` : "";
  try { return await answer(await fetch(path + tail)); }
  catch (error) { throw error instanceof TypeError ? new Error("The server does not answer.") : error; }
}

export async function post(path, body) {
  try {
    return await answer(await fetch(path, {
      method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
    }));
  } catch (error) { throw error instanceof TypeError ? new Error("The server does not answer.") : error; }
}

export function problem(error) {
  say(error.message);
  return h("p", { class: "problem", role: "alert" }, error.message);
}

export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(1);
  return value.toFixed(size >= 1000 ? 0 : digits);
}

export function ago(seconds) {
  const past = Math.max(0, Date.now() / 1000 - seconds);
  if (past < 60) return "now";
  if (past < 3600) return `${Math.floor(past / 60)} min ago`;
  if (past < 86400) return `${Math.floor(past / 3600)} h ago`;
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

export const SERIES = 8;
export function colour(index) { return `var(--series-${index % SERIES})`; }
export function colourValue(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

export function link(page, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const own of Array.isArray(value) ? value : [value]) query.append(name, own);
  }
  return `#/${page}${query.size ? `?${query}` : ""}`;
}

export function select(options, attributes = {}, chosen = null) {
  return h("select", attributes, options.map((option) => {
    const [value, text] = Array.isArray(option) ? option : [option, option];
    return h("option", { value, selected: value === chosen }, text);
  }));
}

// A table whose columns sort it; a third press gives the first order back.
export function table(headings, rows, options = {}) {
  const numeric = headings.map((_, i) => rows.length > 0 && rows.every((row) => typeof row[i] === "number" || row[i] === null));
  const body = h("tbody");
  const cells = (row) => h("tr", {}, row.map((cell, i) =>
    h("td", { class: numeric[i] ? "number" : "" }, typeof cell === "number" || cell === null ? number(cell) : cell)));
  const lines = rows.map((row, i) => ({ row, i, line: cells(row) }));
  let column = -1, down = false;
  const fill = () => {
    const order = [...lines];
    if (column >= 0) order.sort((a, b) => (down ? -1 : 1) * compared(a.row[column], b.row[column]) || a.i - b.i);
    body.replaceChildren(...order.map((own) => own.line));
    heads.forEach((head, i) => { if (i === column) head.setAttribute("aria-sort", down ? "descending" : "ascending"); else head.removeAttribute("aria-sort"); });
  };
  const turn = (i) => {
    const first = numeric[i];
    if (column !== i) { column = i; down = first; } else if (down === first) down = !first; else column = -1;
    fill();
  };
  const heads = headings.map((text, i) => h("th", { scope: "col", class: numeric[i] ? "number" : "" },
    text && rows.length > 2 ? h("button", { type: "button", onclick: () => turn(i) }, text) : text));
  fill();
  return h("div", { class: "scroll" }, h("table", { class: options.full ? "full" : "" },
    options.caption ? h("caption", { class: "hidden-text" }, options.caption) : null, h("thead", {}, h("tr", {}, heads)), body));
}

function compared(a, b) {
  const text = (x) => x instanceof Node ? x.textContent : String(x);
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return typeof a === "number" && typeof b === "number" ? a - b : text(a).localeCompare(text(b), "en", { numeric: true });
}

// Hears that files changed; returns a function that stops listening.
export function listen(paths, changed) {
  const query = new URLSearchParams(paths.map((path) => ["path", path]));
  const source = new EventSource(`/api/live${query.size ? `?${query}` : ""}`);
  source.addEventListener("changed", changed);
  return () => source.close();
}
