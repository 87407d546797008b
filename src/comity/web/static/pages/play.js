// A person plays: buttons, keys or sliders; score, what the other tends to do, and a file at the end.
import { get, h, link, number, post, problem, replace, say, table } from "../dom.js";
import { gameNames, needsToken, playerField, withGame } from "./choosing.js";

const FIRST = ["prisoners-dilemma", "coin", "negotiation", "commons-harvest-open"];
const KEYS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", " ": "space" };
const SIGNS = { up: "↑", down: "↓", left: "←", right: "→" };

export async function play(place, parameters) {
  const [all, index] = await Promise.all([gameNames(), get("/api/index")]);
  const games = [...FIRST.map((name) => all.find(([own]) => own === name)).filter(Boolean), ...all.filter(([name]) => !FIRST.includes(name))];
  const form = h("div"), board = h("div", { id: "board" });
  let leave = () => {};
  replace(place, h("h1", {}, "Play"), needsToken(index), form, board);
  await withGame(form, games, parameters.get("game"), (about, game) => {
    const seats = about.seats.map((seat, i) => [String(i), seat.name]).filter((_, i) => about.seats[i].playable);
    if (!seats.length) return h("p", { class: "note" }, "A person cannot type the actions of this game.");
    const opponent = playerField(about.seats.length > 2 ? "all others" : "against", about, parameters.get("players"), "opponent");
    const seat = h("select", { id: "seat" }, seats.map(([value, text]) => h("option", { value }, text)));
    const person = h("input", { id: "person", maxlength: 60, placeholder: "optional", value: localStorage.getItem("comity-person") || "" });
    const horizon = h("input", { id: "horizon", type: "number", min: 1, max: 1000, value: about.horizon || "" });
    const hidden = h("input", { id: "hidden", type: "checkbox" });
    const room = h("input", { id: "room", type: "checkbox" });
    const remember = h("input", { id: "remember", type: "checkbox" });
    const players = [...Object.keys(about.scripted).filter((name) => name !== "memory-one"), ...about.runs, ...about.zoo];
    const usual = new Set(candidates(about));
    const boxes = players.map((name) => h("input", { type: "checkbox", value: name, checked: usual.has(name) }));
    const whom = h("fieldset", { id: "whom", hidden: true }, h("legend", {}, "who it may be"),
      h("div", { class: "bar tall" }, players.map((name, i) => h("label", {}, boxes[i], name))));
    const guessing = () => { whom.hidden = !(hidden.checked || room.checked); };
    hidden.addEventListener("change", guessing); room.addEventListener("change", guessing);
    const pairs = about.seats.length === 2 && seats.length === 2;
    const button = h("button", { class: "main", id: "begin", type: "button", disabled: !index.token }, "Begin");
    button.addEventListener("click", async () => {
      leave(); button.disabled = true;
      localStorage.setItem("comity-person", person.value);
      replace(board, h("p", { class: "note" }, room.checked ? "Somebody is being found." : "The game is being set up."));
      const players = hidden.checked || room.checked ? boxes.filter((box) => box.checked).map((box) => box.value) : [opponent.querySelector("select").value];
      try {
        const body = { game, players, seat: Number(seat.value), person: person.value, hidden: hidden.checked,
          room: room.checked, remember: remember.checked };
        if (Number(horizon.value)) body.horizon = Number(horizon.value);
        leave = table_of(board, await post("/api/play", body));
        board.scrollIntoView({ block: "start" });
      } catch (error) { replace(board, problem(error)); }
      button.disabled = false;
    });
    const command = h("div", { class: "command", id: "command" });
    const write = () => {
      const own = ["comity play", game, opponent.querySelector("select").value, seat.value === "0" ? "" : `--seat ${seat.value}`,
        horizon.value && Number(horizon.value) !== about.horizon ? `--game.horizon ${horizon.value}` : "", "--save game.json"];
      command.textContent = own.filter(Boolean).join(" ");
    };
    setTimeout(() => { for (const field of form.querySelectorAll("select, input")) field.addEventListener("change", write); write(); });
    return [h("p", { class: "note" }, about.about), h("div", { class: "form" }, opponent,
      h("label", {}, "your seat", seat), h("label", {}, "steps", horizon), h("label", {}, "your name", person),
      h("label", { class: "check" }, remember, "it begins with what it remembers of me"),
      h("label", { class: "check" }, hidden, "do not tell me who it is, I will guess"),
      pairs ? h("label", { class: "check" }, room, "nor whether it is a person") : null), whom, h("div", { class: "bar" }, button),
      pairs ? h("p", { class: "note" }, "Whoever asks for a game in which the other may be a person waits a few seconds. Those who wait then are paired or given a player, by the toss of a coin.") : null,
      h("details", {}, h("summary", {}, "The same in the terminal"), command)];
  });
  return () => leave();
}

function candidates(about) {
  const zoo = ["adalign", "ppo"].map((word) => about.zoo.find((name) => name.includes(word))).filter(Boolean);
  const scripted = Object.keys(about.scripted), first = ["tit-for-tat", "always-defect", "greedy", "sustainable"].filter((name) => scripted.includes(name));
  return [...(first.length ? first : scripted.slice(0, 2)), ...zoo];
}

function table_of(place, first) {
  let data = first, busy = false, left = false;
  const image = h("img", { alt: "", id: "frame" }), moves = h("div"), side = h("div"), top = h("div"), message = h("div", { role: "status" });
  replace(place, h("div", { class: "two" }, h("div", {}, top, h("div", { class: "stage" }, image), moves, message), side));
  const send = async (body) => {
    if (busy) return;
    busy = true;
    try {
      data = await post(`/api/play/${data.id}`, body);
      replace(message);
      while (data.waits && place.isConnected && !left) {
        replace(message, h("p", { class: "note" }, "The other is thinking."));
        await new Promise((done) => { setTimeout(done, 300); });
        data = await get(`/api/play/${data.id}`);
      }
      replace(message);
      if (!left) draw();
    } catch (error) { replace(message, problem(error)); }
    busy = false;
  };
  const act = (action) => { if (!data.over) send({ action }); };
  const keys = (event) => {
    if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = KEYS[event.key] || event.key.toLowerCase();
    if (data.space.kind !== "choice" || !(key in data.space.keys)) return;
    event.preventDefault();
    act(data.space.keys[key]);
  };
  document.addEventListener("keydown", keys);
  function draw() {
    const step = data.moments.length - 1, moment = data.moments[step];
    image.src = `/api/play/${data.id}/frames/${step}`;
    image.alt = `${data.game} after step ${step}`;
    place.dataset.step = String(step);
    place.dataset.over = String(data.over);
    replace(top, h("div", { class: "score" }, data.seats.map((seat, i) => h("div", {}, h("span", {},
      h("span", { class: "dot", style: { background: data.colours[i] } }), i === data.seat ? `you (${seat})` : data.seats.length > 3 || data.players[i] === "?" ? seat : data.players[i]), h("b", {}, number(moment.total[i], 2)))),
      h("div", {}, h("span", {}, "step"), h("b", {}, `${step} / ${data.horizon}`))));
    replace(moves, data.over ? ending() : data.space.kind === "choice" ? buttons() : sliders());
    replace(side, tendencies(data), record(data), history(data),
      step && !data.over ? h("div", { class: "bar" }, h("button", { type: "button", id: "save", onclick: () => send({ save: true }) }, "Save what was played so far")) : null,
      data.saved && !data.over ? h("p", { class: "note" }, `Saved to ${data.saved}.`) : null);
    if (step) say(`step ${step}: ${data.seats.map((seat, i) => `${i === data.seat ? "you" : seat} ${moment.actions[i] ?? "waits"} ${number(moment.reward[i], 2)}`).join(", ")}`);
  }
  function buttons() {
    const names = {};
    for (const [key, action] of Object.entries(data.space.keys)) (names[action] ||= []).push(SIGNS[key] || key);
    return h("div", { class: "moves" }, data.space.labels.map((label, action) => h("button", { type: "button", "data-action": String(action),
      disabled: data.space.legal && !data.space.legal[action], onclick: () => act(action) }, label, names[action] ? h("kbd", {}, names[action].join(" ")) : null)));
  }
  function sliders() {
    const { count, low, high, names } = data.space;
    const inputs = Array.from({ length: count }, (_, i) => h("input", { type: "range", id: `item-${i}`, min: low, max: high, step: (high - low) / 100,
      value: data.values?.[i] ?? (low + high) / 2 }));
    return h("div", { class: "sliders" }, inputs.map((input, i) => {
      const output = h("output", {}, number(Number(input.value), 2));
      input.addEventListener("input", () => { output.textContent = number(Number(input.value), 2); });
      return h("label", {}, h("span", {}, `item ${i + 1}${names[i] ? `: ${names[i]}` : ""}`), output, input);
    }), h("div", { class: "moves" }, h("button", { type: "button", class: "main", id: "propose", onclick: () => act(inputs.map((input) => Number(input.value))) }, "Propose")));
  }
  function ending() {
    const totals = data.moments.at(-1).total, own = totals[data.seat];
    const others = totals.filter((_, i) => i !== data.seat), best = Math.max(...others);
    const words = !others.length ? "" : own > best + 1e-6 ? "You earned more than anybody else." : own < best - 1e-6 ? "Somebody earned more than you." : "You earned the same.";
    const who = data.players.filter((_, i) => i !== data.seat)[0];
    return h("div", { class: "panel", id: "ending" }, h("h2", {}, "The game is over"), h("p", {}, `You earned ${number(own, 2)}. ${words}`),
      data.hidden && data.guess === null ? h("div", { class: "moves" }, h("p", {}, "Who was it?"), data.candidates.map((name) =>
        h("button", { type: "button", class: "guess", onclick: () => send({ guess: name }) }, name)),
        h("button", { type: "button", onclick: () => send({ guess: "" }) }, "I do not know")) : null,
      data.hidden && data.guess !== null ? h("p", { id: "told" }, data.guess === who ? `Right, it was ${who}.` : data.guess ? `It was ${who}, and you guessed ${data.guess}.` : `It was ${who}.`) : null,
      data.saved && !(data.hidden && data.guess === null) ? h("p", { class: "note" }, "Saved to ", h("a", { href: link("played", { path: data.saved }) }, data.saved), ".") : null);
  }
  draw();
  return () => { left = true; document.removeEventListener("keydown", keys); };
}

function tendencies(data) {
  const known = data.tendencies.filter((one) => one.facts.length);
  if (!known.length) return null;
  return [h("h2", {}, "What they tend to do"), known.slice(0, 8).map((one) => [h("h3", {}, one.player === "?" ? one.name : `${one.name}: ${one.player}`),
    one.facts.slice(0, 8).map((fact) => meter(fact))])];
}

function meter(fact) {
  return h("div", { class: "meter" }, h("span", {}, fact.name),
    h("meter", { min: 0, max: 1, value: fact.share, "aria-label": fact.name }), h("span", {}, `${Math.round(fact.share * 100)}%`));
}

function history(data) {
  const shown = data.moments.slice(1).slice(-40);
  if (!shown.length || shown.some((moment) => moment.actions.some((own) => own && own.length > 10))) return null;
  return [h("h2", {}, "What was done"), data.seats.slice(0, 6).map((seat, i) => [h("h3", {}, i === data.seat ? `you (${seat})` : seat),
    h("div", { class: "history" }, shown.map((moment) => h("div", { title: `step ${moment.step}: ${number(moment.reward[i], 2)}`,
      style: { background: tint(data.colours[i], moment.reward[i]) } }, moment.actions[i] ?? "·")))])];
}

function tint(colour, reward) {
  const rgb = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const share = reward > 0 ? 0.55 : 0.22;
  return `rgb(${rgb.map((c) => Math.round(255 + share * (c - 255))).join(",")})`;
}

function record(data) {
  const known = data.record;
  if (!known) return data.remembers ? h("p", { class: "note" }, "It remembers your last game.") : null;
  const who = data.players.find((_, i) => i !== data.seat);
  return [h("h2", {}, "Before"), h("p", { class: "note" }, `${data.players[data.seat]} met ${who} in ${known.games} ${known.games > 1 ? "games" : "game"} and earned ${number(known.own, 2)} a game; it earned ${number(known.other, 2)}.`,
    data.remembers ? " It remembers the last one." : ""),
    known.facts.slice(0, 6).map((fact) => meter(fact))];
}

export async function played(place, parameters) {
  const path = parameters.get("path") || "";
  const data = await get("/api/played", { path });
  replace(place, h("h1", {}, `${data.game.name}: ${data.players.join(", ")}`), h("p", { class: "note" }, path),
    table(["seat", "player", "sum"], data.seats.map((seat, i) => [i === data.seat ? `${seat} (a person)` : seat, data.players[i], data.total[i]])),
    data.guess ? h("p", {}, `The person guessed ${data.guess}.`) : null,
    h("h2", {}, "Step by step"), h("div", { class: "tall" }, table(["step", ...data.seats.flatMap((seat) => [seat, "reward"])],
      data.steps.map((step, i) => [i + 1, ...data.seats.flatMap((_, k) => [step.names[k] ?? "waits", step.reward[k]])]))));
}
