/** The games, strategies and goals that can be chosen, and what was chosen last. */

import { ask, get } from "./api.js";
import { isMatch } from "./match.js";
import { GOALS, NUMBERS, TYPED, choice, entry, h, kindOf } from "./dom.js";

let facts = null;
const own = new Map();

/** Load what the server knows; call this once before anything else. */
export async function load() {
  facts = await get("api/facts");
}

/** A game by its name, or by the text of its rule file. */
export async function gameOf(rules) {
  const built = facts.rules.find((game) => game.name === rules);
  if (built) return built;
  if (!own.has(rules)) own.set(rules, await ask("rules", { rules }));
  return own.get(rules);
}

/** Whether the server keeps games in a folder. */
export function saves() {
  return facts.saves;
}

/** How many seconds a position rests after the first right answer in a row, after the second, and so on. */
export function intervals() {
  return facts.intervals;
}

/** The strategies that can play a game, as values and words; a game of one's own may have the name of a built-in one. */
export function strategiesFor(rules) {
  return facts.strategies
    .filter((one) => one.rules === null || one.rules === rules)
    .map((one) => [one.name, one.mean ? `${one.name} (${one.mean.toFixed(1)})` : `${one.name}: ${one.about}`]);
}

/** Whether this is the name of a built-in game. */
export function isBuiltIn(name) {
  return facts.rules.some((game) => game.name === name);
}

/** What was stored in this browser under a name, if it is good; else something else. */
export function stored(name, isGood, otherwise) {
  try {
    const found = JSON.parse(localStorage.getItem(`coach.${name}`));
    return isGood(found) ? found : otherwise;
  } catch {
    return otherwise;
  }
}

/** The matches that were played here, the latest first. */
export function matchesPlayed() {
  return stored("games", Array.isArray, []).filter((one) => isMatch(one?.match) && typeof one.date === "string");
}

/** Store something in this browser; where that is not permitted, the page works without. */
export function store(name, value) {
  try {
    localStorage.setItem(`coach.${name}`, JSON.stringify(value));
  } catch { /* a private window, or no room */ }
}

/** Fields for the game: a built-in one, or a rule file of one's own. `onchange` is called with the rules. */
export function rulesFields(id, rules, onchange, onproblem) {
  const options = facts.rules.map((game) => [game.name, game.mean ? `${game.name} (best mean ${game.mean})` : game.name]);
  const isOwn = !facts.rules.some((game) => game.name === rules);
  if (isOwn) options.push([rules, `${own.get(rules)?.name ?? "your own"} (your file)`]);
  const file = h("input", { id: `${id}-file`, type: "file", accept: ".toml", onchange: async () => {
    if (!file.files.length) return;
    const text = await file.files[0].text();
    try {
      await gameOf(text);
      onchange(text);
    } catch (error) {
      onproblem(error.message);
    }
  } });
  return [choice(`${id}-rules`, "Game", options, rules, onchange),
    h("label", { class: "field" }, h("span", {}, "or a rule file of your own"), file)];
}

/** Fields for a goal; `several` says whether there are other players. `onchange` is called with the goal. */
export function goalFields(id, goal, several, onchange) {
  const kind = kindOf(goal);
  const options = GOALS.filter(([one]) => several || one !== "win");
  const fields = [choice(`${id}-goal`, "Goal", options, kind,
    (one) => onchange(one === "other" ? TYPED : one in NUMBERS ? `${one}:${NUMBERS[one]}` : one))];
  if (kind in NUMBERS) {
    const words = { reach: "Points", above: "Points", "best-of": "Games", quantile: "Chance", power: "Power" }[kind];
    fields.push(entry(`${id}-number`, words, { value: goal.split(":")[1], inputmode: "decimal", size: 6,
      onchange: (event) => onchange(`${kind}:${event.target.value.trim()}`) }));
  }
  if (kind === "other") {
    fields.push(entry(`${id}-text`, "Goal as text", { value: goal, size: 24, onchange: (event) => onchange(event.target.value.trim()) }));
  }
  return fields;
}
