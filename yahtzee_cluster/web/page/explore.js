/** The view in which any position is asked about. The whole position is in the address, so that it can be linked. */

import { ask, isGivenUp } from "./api.js";
import { luckMap, scoreCurve } from "./charts.js";
import { keepPicture } from "./dice.js";
import { asCost, asValue, entry, goalWords, h, reachOf, replace, tellProblem } from "./dom.js";
import { boxNamed, sorted } from "./match.js";
import { scorecard } from "./scorecard.js";
import { gameOf, goalFields, rulesFields } from "./settings.js";

let parts = {};
let position = null;
let asking = new AbortController();

/** The address of a position. */
export function linkTo({ rules, goal, card, dice, rolls_left: left, others }) {
  const parameters = new URLSearchParams({ rules, goal: goal ?? "mean", card: asText(card) });
  if (dice) {
    parameters.set("dice", dice.join(""));
    parameters.set("left", left);
  }
  for (const other of others ?? []) parameters.append("other", asText(other));
  return `#explore?${parameters}`;
}

/** A scorecard as text; JSON where the names of boxes hold what separates them. */
function asText(card) {
  const entries = Object.entries(card ?? {});
  if (!entries.every(([name]) => /^[a-z0-9-]+$/.test(name))) return JSON.stringify(card);
  return entries.map(([name, points]) => `${name}=${points}`).join(",");
}

/** The scorecard that a text names; boxes by any name that can be typed. */
function cardOf(text, game) {
  if (text.startsWith("{")) return parsed(text);
  const entries = [];
  for (const part of text.split(",").filter((one) => one.trim())) {
    const [name, points] = part.split("=").map((one) => one.trim());
    if (points === undefined || !/^\d{1,6}$/.test(points)) throw new Error(`Expected points in each box, as in aces=3; found ${part}.`);
    const box = name === "bonus" ? "bonus" : boxNamed(name, game.boxes);
    if (!box) throw new Error(`There is no box ${name} in ${game.name}.`);
    entries.push([box, Number(points)]);
  }
  return Object.fromEntries(entries);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`Expected points in each box, as in aces=3; found ${text}.`);
  }
}

/** Build the view for the position in the address. */
export async function show(view, parameters) {
  parts = { form: h("div", { class: "fields" }), card: h("section", { class: "panel", "aria-label": "Scorecard" }), answer: h("div", { "aria-live": "polite" }) };
  replace(view, h("h1", {}, "Explore a position"), h("section", { class: "panel", "aria-label": "The position" }, parts.form),
    h("div", { class: "table" }, h("div", { class: "left" }, parts.answer), parts.card));
  const rules = parameters.get("rules") ?? "yahtzee";
  position = { rules, goal: parameters.get("goal") ?? "mean", card: parameters.get("card") ?? "", dice: parameters.get("dice") ?? "",
    left: parameters.get("left") ?? "2", others: parameters.getAll("other") };
  await draw();
}

/** Give up what is being solved. */
export function leave() {
  asking.abort();
}

/** Put the position into the address; what shows it follows from that. */
function go(changed) {
  const next = { ...position, ...changed };
  const parameters = new URLSearchParams({ rules: next.rules, goal: next.goal, card: next.card });
  if (next.dice) {
    parameters.set("dice", next.dice.replace(/[\s,]/g, ""));
    parameters.set("left", next.left);
  }
  for (const other of next.others) parameters.append("other", other);
  location.hash = `explore?${parameters}`;
}

async function draw() {
  const { rules, goal, card, dice, left, others } = position;
  tellProblem(null);
  let game;
  try {
    game = await gameOf(rules);
  } catch (error) {
    tellProblem(error.message);
    return;
  }
  const fields = [
    ...rulesFields("explore", rules, (chosen) => go({ rules: chosen, card: "" }), tellProblem),
    ...goalFields("explore", goal, true, (chosen) => go({ goal: chosen, others: chosen === "win" ? others : [] })),
    entry("explore-card", "Scorecard", { value: card, placeholder: "aces=3, fh=25, yahtzee=50, bonus=100", class: "long", onchange: (event) => go({ card: event.target.value }) }),
    entry("explore-dice", "Dice", { value: dice, placeholder: "22256", inputmode: "numeric", size: 8, onchange: (event) => go({ dice: event.target.value }) }),
    entry("explore-left", "Rolls left", { value: left, inputmode: "numeric", size: 2, onchange: (event) => go({ left: event.target.value.trim() }) }),
    goal === "win" && entry("explore-other", "The other player's scorecard", { value: others[0] ?? "", class: "long", onchange: (event) => go({ others: [event.target.value, ...others.slice(1)] }) }),
  ];
  replace(parts.form, fields);
  asking.abort();
  const { signal } = (asking = new AbortController());
  try {
    const question = { rules, goal, card: cardOf(card, game) };
    if (dice && !/^[0-2]$/.test(left)) throw new Error(`Rolls left: expected 0, 1 or 2, found ${left || "nothing"}.`);
    if (dice) Object.assign(question, { dice, rolls_left: Number(left) });
    if (goal === "win") question.others = (others.length ? others : [""]).map((one) => cardOf(one, game));
    const shown = await ask("card", { rules, card: question.card, session: undefined, ...(dice ? { dice, rolls_left: Number(left) } : {}) }, { signal });
    replace(parts.card, scorecard([shown], ["you"]));
    const progress = h("progress", { max: 1, value: 0, "aria-label": "Solving" });
    if (goal !== "mean") replace(parts.answer, h("p", { class: "quiet" }, "Solving the rest of the game …"), progress);
    const answer = await ask("advise", question, { signal, onProgress: (share) => (progress.value = share) });
    drawAnswer(question, answer);
  } catch (error) {
    if (signal.aborted) return;
    replace(parts.answer);
    tellProblem(error.message);
  }
}

function drawAnswer(question, answer) {
  const { goal } = answer;
  const words = goalWords(goal);
  const details = h("section", { class: "panel", "aria-label": "The answer" },
    h("p", { class: "value" }, `${words[0].toUpperCase()}${words.slice(1)}: `, h("strong", { id: "explored-value" }, asValue(goal, answer.value)),
      answer.std !== null && h("small", {}, ` ± ${answer.std.toFixed(1)}`)),
    h("p", {}, answer.line[0].toUpperCase(), answer.line.slice(1), "."));
  const rows = answer.moves.map((move) => h("tr", {}, h("td", {}, move.keep && answer.dice ? keepPicture(sorted(answer.dice), move.keep) : ""),
    h("th", { scope: "row" }, move.words), h("td", { class: "number" }, asValue(goal, move.value)),
    h("td", { class: `number ${move.cost ? "cost" : "good"}` }, move.cost ? asCost(goal, move.cost) : "best"),
    h("td", { class: "number" }, move.mean === null ? "" : move.mean.toFixed(2)), h("td", { class: "number" }, move.std === null ? "" : move.std.toFixed(1))));
  const table = h("section", { class: "panel", "aria-label": "Moves" }, h("div", { class: "scrolling", tabindex: 0, role: "region", "aria-label": "All moves" },
    h("table", { class: "moves-table" }, h("thead", {}, h("tr", {}, h("td", {}), ["move", "value", "cost", "mean", "deviation"].map((one) => h("th", { scope: "col" }, one)))), h("tbody", {}, rows))));
  const more = h("section", { class: "panel", "aria-label": "More" });
  const curve = h("div", {});
  const luck = h("div", {});
  if (goal !== "win") {
    more.append(h("button", { type: "button", id: "ask-curve", onclick: () => drawCurve(question, curve) }, "The chance of every final score"), curve);
  }
  if (!answer.dice || (answer.rolls_left > 0 && answer.moves[0]?.keep?.length < 5)) {
    more.append(h("button", { type: "button", id: "ask-luck", onclick: () => drawLuck(question, answer, luck) }, "What the next roll may bring"), luck);
  }
  replace(parts.answer, details, answer.moves.length > 0 && table, more.childElementCount > 0 && more);
}

async function drawCurve(question, place) {
  const progress = h("progress", { max: 1, value: 0, "aria-label": "Computing the chances" });
  replace(place, progress);
  try {
    const { distribution } = await ask("advise", { ...question, distribution: true, session: undefined }, { signal: asking.signal, onProgress: (share) => (progress.value = share) });
    replace(place, scoreCurve(distribution.at_least, null, { reach: reachOf(question.goal) }));
  } catch (error) {
    if (!isGivenUp(error)) tellProblem(error.message);
  }
}

async function drawLuck(question, answer, place) {
  const keep = answer.dice ? answer.moves[0].keep.join(" ") : "";
  try {
    replace(place, luckMap(await ask("next-rolls", { ...question, keep }, { signal: asking.signal })));
  } catch (error) {
    if (!isGivenUp(error)) tellProblem(error.message);
  }
}
