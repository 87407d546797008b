// Fields in which a game and its players are chosen.
import { get, h, problem, replace, select } from "../dom.js";

export async function gameNames() {
  return (await get("/api/choices")).games.map((game) => [game.name, `${game.name}: ${game.summary}`]);
}

// A field whose suggestions are all players of a game; any run in the folder may be typed too.
export function playerField(label, about, chosen, id) {
  const names = [...Object.keys(about.scripted), ...about.runs, ...about.zoo];
  const shown = names.includes(chosen) || !chosen ? names : [chosen, ...names];
  const text = (name) => about.scripted[name] ? `${name}: ${about.scripted[name]}` : name;
  return h("label", {}, label, select(shown.map((name) => [name, text(name)]), { id }, chosen || preferred(about)));
}

export function preferred(about) {
  const zoo = about.zoo.find((name) => name.includes("adalign"));
  return about.scripted["tit-for-tat"] ? "tit-for-tat" : zoo || Object.keys(about.scripted)[0];
}

// Draws `fields(about)` for the game that is chosen, again whenever another one is.
export async function withGame(place, games, first, fields) {
  const names = games.map(([name]) => name);
  const all = first && !names.includes(first) ? [[first, `the game of ${first}`], ...games] : games;
  const inner = h("div");
  const chooser = select(all, { id: "game", onchange: () => draw() }, first || names[0]);
  const draw = async () => {
    try { replace(inner, fields(await get("/api/choices", { game: chooser.value }), chooser.value)); }
    catch (error) { replace(inner, problem(error)); }
  };
  replace(place, h("div", { class: "form" }, h("label", {}, "game", chooser)), inner);
  await draw();
}

export function needsToken(index) {
  return index.token ? null : h("p", { class: "problem" },
    "To play and to start things, open the address that the terminal printed: it ends in ?token=…");
}
