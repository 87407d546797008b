// A training or a league from its parts, started in the background; and the command that does the same.
import { get, h, link, number, post, problem, replace, select } from "../dom.js";
import { gameNames, needsToken, withGame } from "./choosing.js";

export async function build(place, parameters) {
  const [games, index] = await Promise.all([gameNames(), get("/api/index")]);
  const form = h("div"), jobs = h("div", { id: "jobs" });
  let kind = parameters.get("kind") === "league" ? "league" : "train";
  const tabs = h("div", { class: "bar", role: "group", "aria-label": "what is built" });
  const draw = async () => {
    replace(tabs, ["train", "league"].map((name) => h("button", { type: "button", id: `kind-${name}`, "aria-pressed": String(kind === name),
      onclick: () => { kind = name; draw(); } }, name === "train" ? "A training" : "A league")));
    await withGame(form, games, form.querySelector("#game")?.value || null, (about, game) =>
      kind === "train" ? training(about, game, index, refresh) : league(about, game, index, refresh));
  };
  const refresh = async () => {
    try {
      const [found, now] = await Promise.all([get("/api/jobs"), get("/api/index")]);
      replace(jobs, found.length ? [h("h2", {}, "Started here"), found.map((job) => card(job, now, refresh))] : null);
    } catch (error) { replace(jobs, problem(error)); }
  };
  replace(place, h("h1", {}, "Build"), needsToken(index), tabs, form, jobs);
  await draw();
  await refresh();
  const timer = setInterval(() => { if (!document.hidden) refresh(); }, 1500);
  return () => clearInterval(timer);
}

function card(job, index, refresh) {
  const runs = index.entries.filter((entry) => entry.kind === "run" && (entry.path === job.out || entry.path.startsWith(`${job.out}/`)));
  const done = runs.reduce((sum, run) => sum + run.iteration, 0), all = runs.reduce((sum, run) => sum + (run.iterations || 0), 0);
  const look = job.kind === "league" ? (job.status === "finished" ? link("league", { path: job.out }) : null)
    : runs.length ? link("curves", { path: runs.map((run) => run.path) }) : null;
  return h("div", { class: "panel", "data-job": job.status, "data-out": job.out }, h("div", { class: "bar" }, h("b", {}, job.out), h("span", { class: `badge ${job.status}` }, job.status),
    h("span", { class: "note" }, `${number(job.seconds, 0)} s`), all ? [h("progress", { max: all, value: done, "aria-label": "iterations done" }), h("span", { class: "note" }, `${number(done)} / ${number(all)}`)]
      : ["running", "cancelling"].includes(job.status) ? h("progress", { "aria-label": "under way" }) : null,
    look ? h("a", { href: look }, "Look") : null,
    ["running", "cancelling"].includes(job.status) ? h("button", { type: "button", class: "cancel", onclick: async () => { await post(`/api/jobs/${job.id}/cancel`, {}); refresh(); } }, job.status === "running" ? "Cancel" : "End at once") : null),
    h("div", { class: "command" }, job.command), job.status === "failed" ? h("pre", {}, job.said) : null);
}

function starter(index, request, refresh) {
  const command = h("div", { class: "command", id: "command" }), message = h("div");
  const start = h("button", { type: "button", class: "main", id: "start", disabled: !index.token }, "Start");
  let asked = 0;
  const preview = async () => {
    const own = ++asked;
    if (!index.token) return;
    try { const plan = await post("/api/jobs", { ...request(), plan: true }); if (own === asked) { command.textContent = plan.command; replace(message); } }
    catch (error) { if (own === asked) { command.textContent = ""; replace(message, problem(error)); } }
  };
  start.addEventListener("click", async () => {
    start.disabled = true;
    try { await post("/api/jobs", request()); await refresh(); document.getElementById("jobs").scrollIntoView({ block: "nearest" }); }
    catch (error) { replace(message, problem(error)); }
    start.disabled = false;
  });
  setTimeout(preview);
  return { box: [h("p", { class: "note" }, "In the folder that is shown, this command does the same:"), command, message, h("div", { class: "bar" }, start)], preview };
}

const stamp = () => new Date().toISOString().slice(5, 16).replace(/[-:T]/g, "");

function training(about, game, index, refresh) {
  const chosen = about.zoo.length ? about.zoo[0].split("/")[1] : "ppo";
  const agent = select(Object.entries(about.learners).map(([name, text]) => [name, `${name}: ${text}`]), { id: "agent" }, chosen);
  const out = h("input", { id: "out", value: `${game}-${agent.value}-${stamp()}`, maxlength: 60 });
  const second = select([["", "the same, with the same parameters"], ...Object.entries({ ...about.scripted, ...about.learners }).map(([name, text]) => [name, `${name}: ${text}`])], { id: "second" });
  const pair = about.seats.length === 2;
  const seeds = h("input", { id: "seeds", type: "number", min: 1, max: 32, value: 1 });
  const seed = h("input", { id: "seed", type: "number", min: 0, value: 0 });
  const iterations = h("input", { id: "iterations", type: "number", min: 1, value: 1000 });
  let typed = false;  // what is typed while the settings are on their way stays
  iterations.addEventListener("input", () => { typed = true; });
  const settings = h("div"), changed = {};
  const request = () => ({ kind: "train", game, agents: pair && second.value ? [agent.value, second.value] : [agent.value], out: out.value, iterations: Number(iterations.value), seeds: Number(seeds.value) || 1,
    seed: Number(seed.value) || 0, settings: changed });
  const { box, preview } = starter(index, request, refresh);
  const load = async () => {
    for (const name of Object.keys(changed)) delete changed[name];
    try {
      const found = await get("/api/choices", { game, agent: agent.value });
      if (!typed) iterations.value = found.find((one) => one.name === "iterations").default;
      const rows = found.filter((one) => one.name !== "iterations");
      const list = h("div", { class: "form" });
      const filter = h("input", { type: "search", placeholder: "filter", "aria-label": "filter settings", oninput: () => fill() });
      const fill = () => replace(list, rows.filter((one) => `${one.name} ${one.help}`.includes(filter.value)).map((one) =>
        h("label", {}, one.name, h("input", { value: changed[one.name] ?? (one.default === null ? "" : String(one.default)), placeholder: "none",
          onchange: (event) => { const value = event.target.value.trim(); if (value === "" || value === String(one.default)) delete changed[one.name]; else changed[one.name] = value; preview(); } }), h("small", {}, one.help))));
      fill();
      replace(settings, h("details", {}, h("summary", {}, `All ${rows.length} settings`), h("div", { class: "bar" }, filter), list));
    } catch (error) { replace(settings, problem(error)); }
    preview();
  };
  agent.addEventListener("change", () => { out.value = `${game}-${agent.value}-${stamp()}`; typed = false; load(); });
  load();
  return h("div", { onchange: preview }, h("div", { class: "form" }, h("label", {}, "agent", agent), pair ? h("label", {}, `who sits in the seat ${about.seats[1].name}`, second) : null, h("label", {}, "iterations", iterations),
    h("label", {}, "seeds", seeds), h("label", {}, "first seed", seed), h("label", {}, "name of the result", out)), settings, box);
}

function league(about, game, index, refresh) {
  const names = [...Object.keys(about.scripted), ...about.runs, ...about.zoo];
  const first = new Set([...Object.keys(about.scripted).slice(0, 3), ...about.zoo.slice(0, 1)]);
  const boxes = names.map((name) => h("input", { type: "checkbox", value: name, checked: first.has(name) }));
  const episodes = h("input", { id: "episodes", type: "number", min: 1, max: 100000, value: 100 });
  const out = h("input", { id: "out", value: `league-${game}-${stamp()}`, maxlength: 60 });
  const request = () => ({ kind: "league", game, players: boxes.filter((box) => box.checked).map((box) => box.value), episodes: Number(episodes.value), out: out.value });
  const { box, preview } = starter(index, request, refresh);
  return h("div", { onchange: preview }, h("fieldset", {}, h("legend", {}, "players"), h("div", { class: "bar tall" }, names.map((name, i) => h("label", {}, boxes[i], name)))),
    h("div", { class: "form" }, h("label", {}, "episodes of each pairing", episodes), h("label", {}, "name of the result", out)), box);
}
