/** The view in which positions are practised: drawn where people go wrong, or from games played here; and a test. */

import { ask } from "./api.js";
import { diceButtons } from "./dice.js";
import { announce, asCost, entry, h, listed, replace, tellProblem } from "./dom.js";
import { linkTo } from "./explore.js";
import { boxNamed } from "./match.js";
import { scorecard } from "./scorecard.js";
import { gameOf, goalFields, intervals, matchesPlayed, rulesFields, store, stored } from "./settings.js";

const NEW = 10;
const OF_A_TEST = 50;
const GAMES = 10;

let parts = {};
let game = null;
const FIRST = { rules: "yahtzee", goal: "mean" };
let chosen = null;
/** The positions being asked: those of the deck that are due, or those of the test. */
let queue = [];
/** The position that is shown. */
let exercise = null;
let test = null;
let held = [];
let card = null;
let isAnswered = false;
let isJudging = false;

/** Build the view. */
export async function show(view) {
  const dice = diceButtons((place) => {
    held = held.includes(place) ? held.filter((one) => one !== place) : [...held, place];
    drawDice();
  });
  const command = entry("answer", "Type a keep or a box", { placeholder: "k 222 · fh", autocapitalize: "off", spellcheck: "false", onkeydown: (event) => {
    if (event.key !== "Enter") return;
    obey(event.target.value.trim().toLowerCase());
    event.target.value = "";
  } });
  parts = { dice, fields: h("div", { class: "fields" }), deck: h("p", {}), status: h("p", { class: "status" }), buttons: h("div", { class: "buttons" }),
    verdict: h("p", { class: "verdict", id: "practice-verdict", role: "status" }), card: h("section", { class: "panel", "aria-label": "Scorecard" }), result: h("div", {}) };
  parts.asked = h("div", { class: "table", hidden: true }, h("div", { class: "left" },
    h("section", { class: "panel tray", "aria-label": "Dice" }, parts.status, dice.row, parts.buttons, command, parts.verdict)), parts.card);
  replace(view, h("h1", {}, "Practise"), h("section", { class: "panel", "aria-label": "What to practise" }, parts.fields, parts.deck), parts.asked, parts.result);
  chosen ??= stored("practice", (one) => typeof one?.rules === "string" && typeof one.goal === "string", FIRST);
  const [left, taken] = [queue, test];
  await choose(chosen.rules, chosen.goal);
  if (left.length) {
    [queue, test] = [left, taken];
    await draw();
  }
}

/** Keys: 1 to 5 keep a die, n goes to the next position. */
export function key(event) {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^[1-5]$/.test(event.key) && !parts.asked.hidden && exercise.rolls_left && !isAnswered) document.getElementById(`die-${Number(event.key) - 1}`).click();
  else if (event.key === "n" && isAnswered) next();
  else return;
  event.preventDefault();
}

async function choose(rules, goal) {
  tellProblem(null);
  try {
    game = await gameOf(rules);
  } catch (error) {
    tellProblem(error.message);
    if (rules !== FIRST.rules) await choose(FIRST.rules, FIRST.goal);
    return;
  }
  chosen = { rules, goal };
  store("practice", chosen);
  [queue, test] = [[], null];
  parts.asked.hidden = true;
  replace(parts.result);
  const buttons = h("div", { class: "buttons" },
    h("button", { type: "button", id: "practise", class: "main", onclick: practise }, "Practise"),
    h("button", { type: "button", id: "from-games", onclick: fromGames }, "Take the mistakes of my games"),
    h("button", { type: "button", id: "test", onclick: takeTest }, `Take a test of ${OF_A_TEST}`));
  replace(parts.fields, rulesFields("practise", rules, (one) => choose(one, goal), tellProblem),
    goalFields("practise", goal, false, (one) => choose(rules, one)), buttons);
  drawDeck();
}

// ---------------------------------------------------------------------------------------------------------- deck

function name() {
  return `deck ${chosen.rules} ${chosen.goal}`;
}

function deck() {
  const isExercise = (one) => one?.card && Array.isArray(one.dice) && one.dice.length === 5 && [0, 1, 2].includes(one.rolls_left);
  return stored(name(), Array.isArray, []).filter((one) => isExercise(one?.exercise) && Number.isFinite(one.due) && Number.isInteger(one.box));
}

/** Take an exercise out of the deck, because the server refuses it. */
function drop(one) {
  store(name(), deck().filter((other) => JSON.stringify(other.exercise) !== JSON.stringify(one)));
  drawDeck();
}

function due() {
  return deck().filter((one) => one.due <= Date.now()).sort((one, other) => one.due - other.due).map((one) => one.exercise);
}

function drawDeck() {
  const all = deck();
  const first = Math.min(...all.map((one) => one.due));
  parts.deck.textContent = !all.length ? "The deck is empty: practise draws positions in which people often go wrong."
    : `${all.length} positions in the deck, ${due().length} due${first > Date.now() ? `, the next one ${new Date(first).toLocaleString("en")}` : ""}.`;
}

function add(exercises) {
  const all = deck();
  const known = new Set(all.map((one) => JSON.stringify(one.exercise)));
  const added = exercises.filter((one) => !known.has(JSON.stringify(one))).map((exercise) => ({ exercise, box: 0, due: Date.now() }));
  store(name(), [...all, ...added]);
  drawDeck();
  return added.length;
}

/** Put an exercise back: after a right answer it rests longer each time, after a wrong one it is due at once. */
function put(exercise, isRight) {
  const rests = intervals();
  store(name(), deck().map((one) => {
    if (JSON.stringify(one.exercise) !== JSON.stringify(exercise)) return one;
    const box = isRight ? Math.min(one.box + 1, rests.length) : 0;
    return { exercise, box, due: Date.now() + (isRight ? 1000 * rests[box - 1] : 0) };
  }));
  drawDeck();
}

async function practise() {
  test = null;
  replace(parts.result);
  if (!due().length) {
    const exercises = await drawn(NEW);
    if (!exercises) return;
    add(exercises);
  }
  queue = due();
  await draw();
}

/** New positions; null if another game or goal was chosen meanwhile, or there are none. */
async function drawn(count) {
  const asked = chosen;
  replace(parts.deck, "Positions are being drawn … ", h("progress", { "aria-label": "Drawing positions" }));
  try {
    const seed = crypto.getRandomValues(new Uint32Array(1))[0];
    const { exercises } = await ask("exercises", { ...asked, count, seed });
    return asked === chosen ? exercises : null;
  } catch (error) {
    if (asked === chosen) tellProblem(error.message);
    return null;
  } finally {
    if (asked === chosen) drawDeck();
  }
}

async function fromGames() {
  const asked = chosen;
  const games = matchesPlayed().map(({ match }) => match).filter((one) => one.rules === asked.rules).slice(0, GAMES);
  const found = [];
  replace(parts.deck, "Your games are being reviewed … ", h("progress", { "aria-label": "Reviewing" }));
  try {
    for (const one of games) {
      for (const seat of one.seats.keys()) {
        if (one.seats[seat] !== "me" || !one.turns[seat].length) continue;
        const { costliest } = await ask("review", { ...asked, record: { turns: one.turns[seat] } });
        found.push(...costliest.map(({ card: points, dice, rolls_left }) => ({ card: points, dice, rolls_left })));
      }
    }
    if (asked !== chosen) return;
    const added = add(found);
    announce(parts.deck.textContent = `${added} new positions from ${games.length} games. ${deck().length} positions in the deck.`);
  } catch (error) {
    tellProblem(error.message);
    drawDeck();
  }
}

async function takeTest() {
  replace(parts.result);
  const exercises = await drawn(OF_A_TEST);
  if (!exercises) return;
  [queue, test] = [exercises, { exercises, answers: [] }];
  await draw();
}

// ------------------------------------------------------------------------------------------------------- a position

async function draw() {
  [held, isAnswered] = [[], false];
  tellProblem(null);
  parts.verdict.textContent = "";
  parts.asked.hidden = !queue.length;
  if (!queue.length) {
    if (test) await drawMarks();
    else replace(parts.result, h("section", { class: "panel" }, h("h2", {}, "All that were due are done.")));
    return;
  }
  const [one] = queue;
  exercise = one;
  try {
    card = await ask("card", { rules: chosen.rules, ...one });
  } catch (error) {
    tellProblem(error.message);
    drop(one);
    queue = queue.slice(1);
    return;
  }
  if (exercise !== one) return;
  const left = exercise.rolls_left;
  const number = test ? `Position ${test.answers.length + 1} of ${test.exercises.length}: ` : `${queue.length} to go: `;
  parts.status.textContent = `${number}${left ? `${left} roll${left > 1 ? "s" : ""} left. What do you keep?` : "Where do you score?"}`;
  announce(`${listed(exercise.dice)}. ${parts.status.textContent}`);
  replace(parts.card, scorecard([card], ["you"], { seat: 0, goal: chosen.goal, onScore: (row) => give(row.name) }));
  drawDice();
}

function drawDice() {
  const { dice, rolls_left: left } = exercise;
  parts.dice.show({ dice, held, isLocked: !left || isAnswered, best: null });
  const kept = held.map((place) => dice[place]).sort();
  const words = kept.length === 5 ? "Keep all dice" : kept.length ? `Keep ${listed(kept)}` : "Roll all dice again";
  replace(parts.buttons, isAnswered ? h("button", { type: "button", id: "next", class: "main", onclick: next }, "Next")
    : left > 0 && h("button", { type: "button", id: "give", class: "main", onclick: () => give(kept.length ? `keep ${listed(kept)}` : "keep nothing") }, words));
}

function obey(said) {
  tellProblem(null);
  if (isAnswered) next();
  else if (/^(k|keep)/.test(said)) give(said);
  else {
    const box = boxNamed(said.replace(/^score /, ""), game.boxes);
    if (box) give(box);
    else tellProblem(`Not understood: ${said}. Type a keep such as k 2 2 2, or a box such as ${game.boxes.at(-1).name}.`);
  }
}

async function give(move) {
  if (isAnswered || isJudging) return;
  tellProblem(null);
  const [asked, one] = [chosen, exercise];
  isJudging = true;
  try {
    const answer = await ask("judge", { ...asked, exercise: one, move });
    if (asked !== chosen || one !== exercise) return;
    if (test) {
      test.answers.push(answer);
      queue = queue.slice(1);
      await draw();
      return;
    }
    isAnswered = true;
    put(one, answer.right);
    queue = answer.right ? queue.slice(1) : [...queue.slice(1), one];
    parts.verdict.textContent = answer.right ? `Right: ${answer.made}.`
      : `${answer.made} costs ${asCost(chosen.goal, answer.loss)}; best is ${answer.best}. It comes again.`;
    parts.verdict.className = `verdict ${answer.right ? "good" : "bad"}`;
    drawDice();
    document.getElementById("next").focus();
  } catch (error) {
    tellProblem(error.message);
  } finally {
    isJudging = false;
  }
}

function next() {
  draw();
}

// ----------------------------------------------------------------------------------------------------------- marks

async function drawMarks() {
  const { answers, exercises } = test;
  const mean = answers.reduce((sum, one) => sum + one.loss, 0) / answers.length;
  const right = answers.filter((one) => one.right).length;
  const worst = answers.filter((one) => one.loss > 0).sort((one, other) => other.loss - one.loss).slice(0, 10);
  const { goal } = chosen;
  replace(parts.result, h("section", { class: "panel", "aria-label": "Your score" }, h("h2", { id: "score" }, `You lost ${asCost(goal, mean)} a position; ${right} of ${answers.length} right.`),
    h("p", {}, "These positions are harder than those of a whole game, because they are drawn where people go wrong."),
    h("div", { id: "others" }, h("progress", { "aria-label": "What strategies score" })),
    worst.length > 0 && [h("h2", {}, "What cost most"), h("ol", { class: "decisions" }, worst.map((one) => h("li", {},
      h("span", { class: "cost" }, `−${asCost(goal, one.loss)}`), " ", h("a", { href: linkTo({ ...chosen, ...one }) }, listed(one.dice)),
      `, ${one.rolls_left} rolls left: ${one.made}; best was ${one.best}`)))]));
  try {
    const { strategies } = await ask("ratings", { ...chosen, exercises });
    const rows = [...strategies.map((one) => ({ ...one, isYou: false })), { name: "you", loss: mean, right, isYou: true }].sort((one, other) => one.loss - other.loss);
    replace(document.getElementById("others"), h("table", { class: "moves-table" }, h("caption", {}, "What strategies lose at the same positions"),
      h("thead", {}, h("tr", {}, ["player", "loss a position", "right"].map((words) => h("th", { scope: "col" }, words)))),
      h("tbody", {}, rows.map((one) => h("tr", { class: one.isYou ? "mine" : "" }, h("th", { scope: "row" }, one.name),
        h("td", { class: "number" }, asCost(goal, one.loss)), h("td", { class: "number" }, String(one.right)))))));
  } catch (error) {
    tellProblem(error.message);
  }
}
