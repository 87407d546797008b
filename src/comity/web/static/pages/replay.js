// Replays: play, pause, step, speed, scrub; who did and earned what; export.
import { get, h, number, post, problem, replace, say, select } from "../dom.js";
import { gameNames, needsToken, playerField, withGame } from "./choosing.js";
import { why } from "./why.js";

export async function replay(place, parameters) {
  const [games, index] = await Promise.all([gameNames(), get("/api/index")]);
  const form = h("div"), stage = h("div", { id: "replay" });
  let leave = () => {};
  replace(place, h("h1", {}, "Replays"), needsToken(index), form, stage);
  const given = parameters.getAll("players");
  await withGame(form, games, parameters.get("game"), (about, game) => {
    const several = about.seats.length <= 8 ? about.seats : about.seats.slice(0, 1);
    const fields = several.map((seat, i) => playerField(seat.name, about, given[i] || given[0], `player-${i}`));
    const seed = h("input", { type: "number", id: "seed", min: 0, max: 2147483647, value: 0 });
    const fixed = h("input", { type: "checkbox", id: "deterministic" });
    const button = h("button", { class: "main", id: "watch", type: "button", disabled: !index.token }, "Watch");
    const request = () => ({ game, players: fields.map((field) => field.querySelector("select").value),
      seed: Number(seed.value) || 0, deterministic: fixed.checked });
    const start = async () => {
      leave(); button.disabled = true;
      replace(stage, h("p", { class: "note" }, "The episode is being played."));
      try { leave = show(stage, await post("/api/replays", request())); }
      catch (error) { replace(stage, problem(error)); }
      button.disabled = false;
    };
    button.addEventListener("click", start);
    const command = h("div", { class: "command" });
    const write = () => {
      const own = request();
      const whole = own.players.every((player) => player === own.players[0]) ? own.players.slice(0, 1) : own.players;
      command.textContent = ["comity replay", own.game, ...whole, `--seed ${own.seed}`, own.deterministic ? "--deterministic" : ""].join(" ").trim();
    };
    write();
    const box = h("div", { onchange: write }, h("div", { class: "form" }, fields, h("label", {}, "seed", seed),
      h("label", { class: "check" }, fixed, "always the most likely action")), h("div", { class: "bar" }, button), command);
    if (parameters.get("go") && index.token) { parameters.delete("go"); setTimeout(start); }
    return box;
  });
  return () => leave();
}

export function show(place, data) {
  let now = 0, timer = null;
  const last = data.moments.length - 1;
  const image = h("img", { alt: "", id: "frame" });
  const scrub = h("input", { type: "range", id: "scrub", min: 0, max: last, value: 0, "aria-label": "step" });
  const count = h("output", { id: "count" });
  const toggle = h("button", { type: "button", id: "toggle", class: "main" }, "Play");
  const speed = select([["0.5", "0.5×"], ["1", "1×"], ["2", "2×"], ["4", "4×"], ["8", "8×"]], { id: "speed", "aria-label": "speed" }, "1");
  const reasons = h("div", { id: "why" });
  const tell = data.id ? why(reasons, data) : () => {};
  const now_table = h("div", { class: "scroll" }), steps = h("tbody");
  const frame = (number) => `/api/replays/${data.id}/frames/${number}`;
  const rows = data.moments.slice(1).map((moment) => h("tr", { onclick: () => { pause(); go(moment.step); } },
    h("td", { class: "number" }, String(moment.step)),
    data.seats.map((_, i) => [h("td", {}, moment.actions[i] ?? "waits"), h("td", { class: "number" }, signed(moment.reward[i]))])));
  steps.append(...rows);
  function go(step) {
    now = Math.min(Math.max(step, 0), last);
    const moment = data.moments[now];
    image.src = frame(now);
    image.alt = `${data.title}, step ${now}: ${data.seats.map((seat, i) => `${seat} ${moment.actions[i] ?? ""}, sum ${number(moment.total[i], 2)}`).join("; ")}`;
    scrub.value = now;
    count.textContent = `${now} / ${last}`;
    if (now < last) new Image().src = frame(now + 1);
    replace(now_table, h("table", { class: "full" }, h("thead", {}, h("tr", {}, ["seat", "player", "action"].map((text) => h("th", {}, text)),
      ["reward", "sum"].map((text) => h("th", { class: "number" }, text)))),
      h("tbody", {}, data.seats.map((seat, i) => h("tr", {},
        h("td", {}, h("span", { class: "dot", style: { background: data.colours[i] } }), seat), h("td", { class: "path" }, data.players[i]),
        h("td", {}, now ? moment.actions[i] ?? "waits" : ""), h("td", { class: "number" }, now ? signed(moment.reward[i]) : ""),
        h("td", { class: "number" }, number(moment.total[i], 2)))))));
    tell(now);
    rows.forEach((row, i) => row.classList.toggle("now", i + 1 === now));
    if (rows[now - 1]) { const box = steps.closest(".tall"); box.scrollTop = rows[now - 1].offsetTop - box.clientHeight / 2; }
  }
  function pause() { clearInterval(timer); timer = null; toggle.textContent = "Play"; }
  function play() {
    if (now === last) go(0);
    toggle.textContent = "Pause";
    clearInterval(timer);
    timer = setInterval(() => { if (now === last) pause(); else go(now + 1); }, 500 / Number(speed.value));
  }
  const flip = () => { if (timer) pause(); else play(); };
  toggle.addEventListener("click", flip);
  scrub.addEventListener("input", () => { pause(); go(Number(scrub.value)); });
  speed.addEventListener("change", () => { if (timer) play(); });
  const keys = (event) => {
    if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
    if (event.key === " " && event.target.tagName !== "BUTTON") { event.preventDefault(); flip(); }
    if (event.key === "ArrowRight") { pause(); go(now + 1); }
    if (event.key === "ArrowLeft") { pause(); go(now - 1); }
  };
  document.addEventListener("keydown", keys);
  const wide = data.seats.length > 3;
  replace(place, h("div", { class: "two" },
    h("div", {}, h("div", { class: "stage" }, image),
      h("div", { class: "transport" }, toggle,
        h("button", { type: "button", id: "back", "aria-label": "one step back", onclick: () => { pause(); go(now - 1); } }, "◀"),
        h("button", { type: "button", id: "next", "aria-label": "one step on", onclick: () => { pause(); go(now + 1); } }, "▶"),
        scrub, count, speed),
      h("p", { class: "note" }, "Space plays and pauses, the arrow keys step."),
      h("p", {}, "Save as ", ["gif", "webp", "html"].map((kind, i) => [i ? " · " : "",
        h("a", { href: `/api/replays/${data.id}/export?format=${kind}`, download: `replay.${kind}`, id: `export-${kind}` }, kind === "html" ? "a page" : kind.toUpperCase())])),
      h("h2", {}, "Step by step"), h("div", { class: "tall scroll" }, h("table", {},
        h("thead", {}, h("tr", {}, h("th", { class: "number" }, "step"), data.seats.map((seat) => [h("th", {}, seat), h("th", { class: "number" }, wide ? "" : "reward")]))), steps))),
    h("div", {}, now_table, reasons)));
  go(0);
  say(`A replay of ${last} steps.`);
  return () => { pause(); document.removeEventListener("keydown", keys); };
}

function signed(value) { return `${value > 0 ? "+" : ""}${number(value, 2)}`; }
