/** The view in which a match is played. */

import { ask, isGivenUp, keep } from "./api.js";
import { luckMap, scoreCurve } from "./charts.js";
import { diceButtons, keepPicture } from "./dice.js";
import { announce, asCost, asValue, choice, entry, goalWords, h, listed, reachOf, replace, tellProblem } from "./dom.js";
import * as m from "./match.js";
import { scorecard } from "./scorecard.js";
import { gameOf, goalFields, matchesPlayed, rulesFields, saves, store, stored, strategiesFor } from "./settings.js";
import { linkTo } from "./explore.js";

const ADVICE = [["hidden", "hidden"], ["after", "after each move"], ["before", "before each move"]];
const SPEEDS = [["900", "slow"], ["150", "fast"], ["0", "at once"]];
const KEYS = [["1 … 5", "keep a die, or roll it again"], ["r", "roll"], ["h", "keep what is best"], ["u", "undo"], ["y", "redo"],
  ["/", "type dice, a keep or a box: 22256, k 222, fh"]];
const PATIENCE_MS = 200;
const MOST_MOVES = 6;
const MOST_KEPT = 50;
const MOST_SEATS = 6;
const MOST_ANSWERS = 400;

let past = [];
let future = [];
let match = null;
let cards = [];
let verdict = null;
let advised = null;
let curve = null;
let curveBefore = null;
let curveOf = null;
let preferences = stored("preferences", arePreferences, { advice: "after", speed: "900", curve: false });
let asking = new AbortController();
let isShown = false;
const answers = new Map();
const parts = {};
let timer = null;
let drawn = 0;
let judged = 0;
let curveAsked = null;
let isPaused = false;
/** Done once all that was typed is done: one command after the other, however fast they come. */
let typed = Promise.resolve();
let isScoring = false;

function arePreferences(one) {
  return ADVICE.some(([name]) => name === one?.advice) && SPEEDS.some(([name]) => name === one.speed) && typeof one.curve === "boolean";
}

/** Build the view, with the match that was played last, or a new one; of certain players, if the address names them. */
export async function show(view, parameters) {
  isShown = true;
  match ??= stored("match", m.isMatch, null);
  try {
    if (match) await gameOf(match.rules);
  } catch {
    match = null;
  }
  let problem = null;
  if (parameters.has("seats")) {
    history.replaceState(null, "", "#play");
    const isFree = !match || m.isOver(match) || !match.turns.flat().length;
    if (isFree || confirm("Begin another match, and leave the one that is not finished?")) {
      try {
        await begin(parameters.get("rules") ?? "yahtzee", parameters.get("seats").split(","), "mean");
      } catch (error) {
        problem = error.message;
      }
    }
  }
  if (!match) await begin("yahtzee", ["me"], "mean");
  if (!isShown) return;
  const dice = diceButtons((place) => change(m.toggled(match, place), { isMove: false }));
  Object.assign(parts, {
    dice,
    settings: h("div", { class: "fields" }),
    summary: h("summary", {}),
    status: h("p", { class: "status", id: "status" }),
    verdict: h("p", { class: "verdict", id: "verdict", role: "status" }),
    buttons: h("div", { class: "buttons" }),
    advice: h("section", { class: "panel advice", "aria-label": "Advice" }),
    card: h("section", { class: "panel", "aria-label": "Scorecards" }),
    curve: h("div", {}),
    luck: h("div", {}),
    log: h("ol", { class: "log", "aria-label": "Moves so far" }),
  });
  const command = entry("command", "Type dice, k 2 2 2, or a box", {
    placeholder: "22256 · k 222 · fh · r", enterkeyhint: "go", autocapitalize: "off", spellcheck: "false",
    onkeydown: (event) => {
      if (event.key !== "Enter") return;
      const field = event.target;
      const said = field.value;
      field.value = "";
      typed = typed.then(async () => {
        if (!(await obey(said.trim().toLowerCase())) && !field.value) field.value = said;
      });
    },
  });
  const curveFold = h("details", { class: "panel", open: preferences.curve, ontoggle: () => {
    preferences = { ...preferences, curve: curveFold.open };
    store("preferences", preferences);
    drawCurve();
  } }, h("summary", {}, "The chance of every final score"), parts.curve);
  const luckFold = h("details", { class: "panel", ontoggle: () => told(drawLuck()) }, h("summary", {}, "What the next roll may bring"), parts.luck);
  Object.assign(parts, { curveFold, luckFold });
  replace(view,
    h("h1", { class: "for-readers" }, "Play"),
    h("details", { class: "panel settings" }, parts.summary, parts.settings),
    h("div", { class: "table" },
      h("div", { class: "left" },
        h("section", { class: "panel tray", "aria-label": "Dice" }, parts.status, dice.row, parts.buttons, command, parts.verdict),
        parts.advice, luckFold, curveFold,
        h("details", { class: "panel" }, h("summary", {}, "Moves so far"), parts.log),
        h("details", { class: "panel keys" }, h("summary", {}, "Keys"), h("dl", {}, KEYS.map(([one, words]) => h("div", {}, h("dt", {}, h("kbd", {}, one)), h("dd", {}, words)))))),
      parts.card));
  await draw();
  if (problem) tellProblem(problem);
}

/** Keys that work anywhere on the view, outside fields. */
export function key(event) {
  if (!match || event.repeat || event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const { key: pressed } = event;
  if (/^[1-5]$/.test(pressed) && match.dice && m.isMine(match)) change(m.toggled(match, Number(pressed) - 1), { isMove: false });
  else if (pressed === "r") roll();
  else if (pressed === "u") undo();
  else if (pressed === "y") redo();
  else if (pressed === "h") told(holdBest());
  else if (pressed === "/") document.getElementById("command")?.focus();
  else return;
  event.preventDefault();
}

/** Stop what goes on by itself, when another view is shown. */
export function leave() {
  isShown = false;
  drawn += 1;
  clearTimeout(timer);
  giveUp();
}

/** Give up the questions that are being answered; whoever asks one of them again gets an answer of its own. */
function giveUp() {
  curveAsked?.abort();
  asking.abort();
  asking = new AbortController();
  answers.clear();
  judged += 1;
}

/** Wait for what a click or a key has begun; tell what went wrong, unless it was given up. */
async function told(work) {
  try {
    await work;
  } catch (error) {
    if (!isGivenUp(error)) tellProblem(error.message);
  }
}

// ------------------------------------------------------------------------------------------------------- matches

/** Begin a match; undo goes back to the one before, if it had begun. */
async function begin(rules, seats, goal) {
  const { name, boxes } = await gameOf(rules);
  const known = new Set(["me", "best", ...strategiesFor(rules).map(([one]) => one)]);
  seats = seats.filter((seat) => known.has(seat)).slice(0, MOST_SEATS);
  if (!seats.length) seats = ["me"];
  if (goal === "win" && seats.length < 2) goal = "mean";
  const hasBegun = match && (match.dice || match.turns.flat().length);
  if (hasBegun) {
    past.push(match);
    if (match.turns.flat().length) keepHere(match);
  }
  giveUp();
  [future, verdict, curve, curveBefore, isPaused] = [[], null, null, null, false];
  match = m.newMatch(rules, { name, boxes }, seats, goal);
}

async function restart(rules, seats, goal) {
  try {
    await begin(rules, seats, goal);
    tellProblem(null);
  } catch (error) {
    tellProblem(error.message);
  }
  await draw();
}

/** Go on with another match: the next one after a move, or the same with other dice held. */
async function change(next, { isMove = true } = {}) {
  if (!next) return;
  tellProblem(null);
  if (isMove) {
    past.push(match);
    future = [];
  }
  match = next;
  await draw();
}

function undo() {
  step(past, future);
}

function redo() {
  step(future, past);
}

/** Go to the last match in a list at which a person is to move, or to the first where there is nobody. */
function step(from, to) {
  if (!from.length) return;
  const { id, goal } = match;
  do {
    to.push(match);
    match = from.pop();
  } while (from.length && !m.isMine(match) && match.seats.includes("me"));
  if (match.id === id) match = { ...match, goal };
  judged += 1;
  [verdict, curveBefore] = [null, null];
  isPaused = !m.isMine(match);
  draw();
}

function roll(faces = null) {
  if (isScoring) return;
  if (!m.isMine(match) || !m.canRoll(match)) {
    tellProblem(m.isOver(match) ? "The game is over." : !m.isMine(match) ? "It is another player's turn."
      : match.rollsLeft ? "All dice are kept: choose a box, or keep fewer." : "No roll is left: choose a box.");
    return;
  }
  const next = m.rolled(match, faces);
  if (!next) {
    tellProblem(`These dice were kept: ${listed(m.kept(match))}.`);
    return;
  }
  const keep = match.dice && String(m.kept(match));
  if (match.dice) judge(match, (move) => move.keep && String(move.keep) === keep);
  else verdict = null;
  change(next);
}

async function score(name) {
  const from = match;
  if (!m.isMine(from) || !from.dice || isScoring) return;
  isScoring = true;
  let card;
  try {
    card = (await cardsFor(from))[from.mover];
  } catch (error) {
    tellProblem(error.message);
    return;
  } finally {
    isScoring = false;
  }
  const row = card.rows.find((one) => one.name === name);
  if (from !== match) return;
  if (!row.would) {
    tellProblem(`${name} is not open to these dice.`);
    return;
  }
  judge({ ...from, held: [0, 1, 2, 3, 4], rollsLeft: 0 }, (move) => move.category === name, from);
  change(m.scored(from, row, card.extra_name));
}

async function holdBest() {
  if (!m.isMine(match) || !match.dice) return;
  const [best] = (await adviceFor(match)).moves;
  if (best.keep) change(m.holding(match, best.keep), { isMove: false });
}

/** Do what was typed; whether it was understood. */
async function obey(said) {
  tellProblem(null);
  if (!said) return false;
  const faces = said.replace(/[\s,]/g, "");
  if (["r", "roll"].includes(said)) roll();
  else if (["u", "undo"].includes(said)) undo();
  else if (["y", "redo"].includes(said)) redo();
  else if (["h", "best"].includes(said)) await told(holdBest());
  else if (/^(k|keep)\b/.test(said)) return hold(said.replace(/^(keep|k)\s*/, ""));
  else if (/^[1-6]+$/.test(faces) && isRoll(faces)) roll([...faces].map(Number));
  else return scoreNamed(said.replace(/^score /, ""));
  return true;
}

/** Whether so many faces are a roll: five, or as many as are rolled again. */
function isRoll(faces) {
  return faces.length === m.DICE || (match.dice && match.held.length > 0 && faces.length === m.DICE - match.held.length);
}

function hold(said) {
  const next = match.dice && m.holding(match, said === "all" ? match.dice : said === "nothing" ? [] : said.replace(/[\s,]/g, "").split("").map(Number));
  if (!next) tellProblem(match.dice ? `Keep some of ${listed(m.sorted(match.dice))}.` : "No dice are on the table yet.");
  else change(next, { isMove: false });
  return Boolean(next);
}

async function scoreNamed(said) {
  const { boxes } = match.game;
  const name = m.boxNamed(said, boxes);
  if (!name) tellProblem(`Not understood: ${said}. Type five dice, k 2 2 2, or a box such as ${boxes.at(-1).name}.`);
  else if (!m.isMine(match)) tellProblem("It is another player's turn.");
  else if (!match.dice) tellProblem("No dice are on the table yet.");
  else {
    await score(name);
    return true;
  }
  return false;
}

// -------------------------------------------------------------------------------------------------------- advice

/** The answer to a question, which is asked once. */
function remembered(kind, question, options) {
  const key = kind + JSON.stringify(question);
  if (!answers.has(key)) {
    if (answers.size > MOST_ANSWERS) answers.delete(answers.keys().next().value);
    const found = ask(kind, question, options);
    found.catch(() => answers.get(key) === found && answers.delete(key));
    answers.set(key, found);
  }
  return answers.get(key);
}

/** The advice for a match; `changed` has what to ask otherwise. */
function adviceFor(one, changed = {}) {
  const question = { ...m.positionOf(one), ...changed };
  const key = JSON.stringify(question);
  return remembered("advise", question, { signal: asking.signal, onProgress: (share) => (advised === key ? drawWaiting(share) : null) });
}

/** The scorecards of all players, with what the dice would bring for the one to move. */
function cardsFor(one) {
  return Promise.all(one.cards.map((card, seat) => remembered("card", {
    rules: one.rules, card, session: undefined, ...(seat === one.mover && one.dice ? { dice: m.sorted(one.dice), rolls_left: one.rollsLeft } : {}),
  })));
}

/** Say what a move cost, once that is known. A box taken early is judged against what `before` offers. */
async function judge(at, isMade, before = at) {
  verdict = null;
  if (preferences.advice === "hidden") return;
  const mine = (judged += 1);
  try {
    const [{ moves }, { moves: offered }] = await Promise.all([adviceFor(at), adviceFor(before)]);
    if (mine !== judged) return;
    const made = moves.find(isMade);
    const cost = Math.max(0, offered[0].value - made.value);
    const tied = cost <= 1e-9 * Math.max(1, Math.abs(offered[0].value));
    verdict = tied ? { text: `${upper(made.words)}: that is the best.`, isGood: true }
      : { text: `${upper(made.words)} cost ${asCost(at.goal, cost)}; best was ${offered[0].words}.`, isGood: false };
    drawVerdict();
  } catch { /* the advice panel tells what is wrong */ }
}

function upper(text) {
  return text[0].toUpperCase() + text.slice(1);
}

// ------------------------------------------------------------------------------------------------------- drawing

async function draw() {
  clearTimeout(timer);
  if (!isShown) return;
  const now = (drawn += 1);
  const shown = match;
  store("match", match);
  drawSettings();
  drawDice(null);
  drawVerdict();
  try {
    const found = await cardsFor(shown);
    if (now !== drawn) return;
    cards = found;
    drawCard(null);
    drawStatus();
    drawLog();
    if (m.isOver(match)) drawEnd();
    else if (m.isMine(match)) await advise(now);
    else await playBySelf(now);
    if (now === drawn) await Promise.all([drawCurve(), drawLuck()]);
  } catch (error) {
    if (now === drawn && !isGivenUp(error)) tellProblem(error.message);
  }
}

async function advise(now) {
  if (preferences.advice === "hidden") {
    replace(parts.advice, h("p", { class: "quiet" }, "Advice is hidden. The review at the end tells what each move cost."));
    return;
  }
  if (preferences.advice === "after") {
    replace(parts.advice, h("p", { class: "quiet" }, "After each move, the coach says what it cost."),
      match.dice && h("button", { type: "button", id: "show-advice", onclick: () => told(drawAdvice(now)) }, "Show the advice for these dice"));
    adviceFor(match).catch((error) => (now === drawn && !isGivenUp(error) ? tellProblem(error.message) : null));
    return;
  }
  await drawAdvice(now);
}

async function drawAdvice(now) {
  advised = JSON.stringify(m.positionOf(match));
  const waiting = setTimeout(() => drawWaiting(0), PATIENCE_MS);
  const answer = await adviceFor(match).finally(() => clearTimeout(waiting));
  if (now !== drawn) return;
  const { goal } = match;
  const value = h("p", { class: "value" }, `${upper(goalWords(goal))}: `, h("strong", {}, asValue(goal, answer.value)),
    answer.std !== null && goal === "mean" && h("small", {}, ` ± ${answer.std.toFixed(1)}`),
    answer.source === "rule" && h("small", {}, " approximated by the rule for several players"));
  const moves = answer.moves.filter((move) => move.keep || move.category);
  const rows = moves.slice(0, MOST_MOVES).map((move, rank) => h("li", {}, h("button", {
    type: "button", id: `move-${rank}`, class: "move", onclick: () => take(move),
  }, move.keep ? keepPicture(m.sorted(match.dice), move.keep) : h("span", {}),
  h("span", { class: "words" }, move.words), h("span", { class: "number" }, asValue(goal, move.value)),
  h("span", { class: move.cost ? "cost" : "good" }, move.cost ? `−${asCost(goal, move.cost)}` : "best"))));
  replace(parts.advice, value, rows.length ? h("ol", { class: "moves" }, rows) : h("p", { class: "quiet" }, "Roll the dice."),
    rows.length > 0 && h("p", { class: "quiet" }, upper(answer.line), "."),
    h("p", { class: "quiet" }, h("a", { href: linkTo(m.positionOf(match)) }, "Explore this position")));
  drawDice(answer);
  if (match.rollsLeft === 0 && match.dice) drawCard(new Map(moves.map((move) => [move.category, move.cost])));
}

function take(move) {
  if (move.keep) change(m.holding(match, move.keep), { isMove: false });
  else score(move.category);
}

function drawWaiting(share) {
  replace(parts.advice, h("p", { class: "quiet" }, "Solving the rest of the game …"), h("progress", { max: 1, value: share, "aria-label": "Solving" }));
}

function drawDice(answer) {
  const best = answer?.moves[0]?.keep && match.dice ? m.holding(match, answer.moves[0].keep).held : null;
  parts.dice.show({ dice: match.dice, held: match.held, isLocked: !m.isMine(match) || match.rollsLeft === 0, best });
  const again = m.DICE - match.held.length;
  const words = !match.dice ? "Roll" : again === m.DICE ? "Roll all again" : `Roll ${again} again`;
  const buttons = [h("button", { type: "button", id: "roll", class: "main", disabled: !m.isMine(match) || !m.canRoll(match), onclick: () => roll() }, words),
    h("button", { type: "button", id: "undo", disabled: !past.length, onclick: undo }, "Undo"),
    h("button", { type: "button", id: "redo", disabled: !future.length, onclick: redo }, "Redo")];
  if (!m.isMine(match) && !m.isOver(match)) {
    buttons.unshift(h("button", { type: "button", id: "pause", class: "main", onclick: () => {
      isPaused = !isPaused;
      draw();
    } }, isPaused ? "Go on" : "Pause"));
  }
  replace(parts.buttons, buttons);
}

function drawVerdict() {
  parts.verdict.textContent = verdict?.text ?? "";
  parts.verdict.className = `verdict ${verdict ? (verdict.isGood ? "good" : "bad") : ""}`;
}

function drawStatus() {
  const left = match.rollsLeft;
  const whose = match.seats.length > 1 ? `${upper(nameOf(match, match.mover))}: turn` : "Turn";
  const turn = match.turns[match.mover].length + 1;
  const rolls = match.dice ? `${left || "no"} roll${left === 1 ? "" : "s"} left` : "roll the dice";
  parts.status.textContent = m.isOver(match) ? "The game is over." : `${whose} ${turn} of ${match.game.boxes.length}, ${rolls}`;
  if (match.dice) announce(`${listed(match.dice)}; ${parts.status.textContent}`);
}

function drawCard(costs) {
  const open = m.isMine(match) && match.dice ? { seat: match.mover, onScore: (row) => score(row.name), costs, goal: match.goal } : null;
  const names = match.seats.map((_, seat) => nameOf(match, seat));
  replace(parts.card, h("div", { class: "scrolling", tabindex: names.length > 3 ? 0 : null }, scorecard(cards, names, open)),
    h("p", { class: "buttons for-screens" }, h("button", { type: "button", id: "print", onclick: () => print() }, "Print the scorecard")));
}

function nameOf(one, seat) {
  const name = one.seats[seat] === "me" ? "you" : one.seats[seat];
  const alike = one.seats.filter((other) => other === one.seats[seat]).length;
  return alike > 1 ? `${name} ${one.seats.slice(0, seat + 1).filter((other) => other === one.seats[seat]).length}` : name;
}

function drawLog() {
  const lines = match.turns.flatMap((turns, seat) => turns.map((turn, number) => [number, seat, turn]))
    .sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  replace(parts.log, lines.map(([number, seat, turn]) => h("li", {}, `${number + 1}. ${match.seats.length > 1 ? `${nameOf(match, seat)}: ` : ""}` +
    `${turn.rolls.map((one) => listed(one.dice)).join(" → ")} · ${turn.box}`)));
}

function drawEnd() {
  const totals = cards.map((card) => card.total);
  const best = Math.max(...totals);
  const winners = match.seats.map((_, seat) => seat).filter((seat) => totals[seat] === best);
  const words = totals.length === 1 ? `${totals[0]} points.`
    : `${winners.map((seat) => nameOf(match, seat)).join(" and ")} ${winners.length > 1 ? "tie" : "won"} with ${best} points.`;
  keepHere(match);
  const links = match.seats.map((_, seat) => h("a", { class: "button", href: `#review?match=${match.id}&seat=${seat}` },
    match.seats.length > 1 ? `Review: ${nameOf(match, seat)}` : "Review this game"));
  replace(parts.advice, h("h2", {}, upper(words)), h("p", { class: "buttons" }, links,
    h("button", { type: "button", id: "again", class: "main", onclick: () => restart(match.rules, match.seats, match.goal) }, "New game")));
  announce(words);
}

function drawSettings() {
  const { rules, seats, goal } = match;
  const players = [["me", "you"], ["best", "best play for the goal"], ...strategiesFor(rules)];
  const fields = [
    ...rulesFields("play", rules, (chosen) => restart(chosen, seats, goal), tellProblem),
    ...goalFields("play", goal, seats.length > 1, setGoal),
    choice("play-advice", "Advice", ADVICE, preferences.advice, (advice) => prefer({ advice })),
    ...seats.map((seat, number) => choice(`seat-${number}`, `Player ${number + 1}`,
      number || seats.length > 1 ? [...players, ["", "nobody"]] : players, seat,
      (chosen) => restart(rules, seats.map((one, at) => (at === number ? chosen : one)).filter(Boolean), goal))),
    seats.length < MOST_SEATS && choice("seat-new", "One more player", [["", "nobody"], ...players], "",
      (chosen) => restart(rules, [...seats, chosen].filter(Boolean), seats.length === 1 && goal === "mean" ? "win" : goal)),
    seats.some((seat) => seat !== "me") && choice("play-speed", "The others play", SPEEDS, preferences.speed, (speed) => prefer({ speed })),
    h("div", { class: "buttons" }, h("button", { type: "button", id: "new", onclick: () => restart(rules, seats, goal) }, "New game"),
      saves() && h("button", { type: "button", id: "save", onclick: save }, "Save as a file")),
  ];
  replace(parts.settings, fields);
  const who = seats.map((_, seat) => nameOf(match, seat)).join(", ");
  parts.summary.textContent = `${upper(match.game.name)} · ${who} · for ${goalWords(goal)} · advice ${ADVICE.find(([one]) => one === preferences.advice)[1]}`;
}

function prefer(changed) {
  preferences = { ...preferences, ...changed };
  store("preferences", preferences);
  draw();
}

function setGoal(goal) {
  giveUp();
  match = { ...match, goal };
  [verdict, curve, curveBefore] = [null, null, null];
  tellProblem(null);
  draw();
}

async function save() {
  const name = `${match.game.name.replace(/[^A-Za-z0-9_-]+/g, "-")} ${new Date().toISOString().slice(0, 19).replace(/[T:]/g, "-")}`;
  try {
    await keep(name, match.rules, m.recordOf(match, Math.max(0, match.seats.indexOf("me"))));
    verdict = { text: `Saved as ${name}.`, isGood: true };
    drawVerdict();
  } catch (error) {
    tellProblem(error.message);
  }
}

/** Keep a match in this browser, for the review. */
function keepHere(one) {
  const others = matchesPlayed().filter((other) => other.match.id !== one.id);
  store("games", [{ date: new Date().toISOString(), match: one }, ...others].slice(0, MOST_KEPT));
}

// ---------------------------------------------------------------------------------------------- curves and luck

async function drawCurve() {
  if (!parts.curveFold?.open) return;
  curveAsked?.abort();
  const asked = (curveAsked = new AbortController());
  const { goal } = match;
  const at = m.positionOf(match);
  if (goal === "win") Object.assign(at, { goal: "mean", others: undefined });
  const whose = `${match.id} ${match.mover} ${goal}`;
  if (curveOf !== whose) [curve, curveBefore, curveOf] = [null, null, whose];
  const progress = h("progress", { max: 1, value: 0, "aria-label": "Computing the chances" });
  const waiting = setTimeout(() => replace(parts.curve, curve ? scoreCurve(curve, null, {}) : h("p", { class: "quiet" }, "The chances are being computed …"), progress), PATIENCE_MS);
  try {
    const found = await ask("advise", { ...at, distribution: true, session: undefined }, { signal: asked.signal, onProgress: (share) => (progress.value = share) });
    clearTimeout(waiting);
    const { at_least: now, percentiles } = found.distribution;
    if (curve && String(curve) !== String(now)) curveBefore = curve;
    curve = now;
    replace(parts.curve, scoreCurve(curve, curveBefore, { reach: reachOf(goal) }),
      h("p", { class: "quiet" }, `Mean ${found.distribution.mean.toFixed(1)}, half of all games end between ${percentiles["25"]} and ${percentiles["75"]}.`));
  } catch (error) {
    clearTimeout(waiting);
    if (!isGivenUp(error)) replace(parts.curve, h("p", { class: "quiet" }, error.message));
  }
}

async function drawLuck() {
  if (!parts.luckFold?.open) return;
  if (!m.isMine(match) || !m.canRoll(match)) {
    replace(parts.luck, h("p", { class: "quiet" }, "No roll comes next."));
    return;
  }
  const now = drawn;
  const found = await ask("next-rolls", { ...m.positionOf(match), keep: match.dice ? m.kept(match).join(" ") : "" }, { signal: asking.signal });
  if (now === drawn) replace(parts.luck, luckMap(found));
}

// ------------------------------------------------------------------------------------------------ other players

/** Make the next move of a player who plays by a strategy, after a pause. */
async function playBySelf(now) {
  const name = match.seats[match.mover];
  const who = nameOf(match, match.mover);
  replace(parts.advice, h("p", { class: "quiet" }, isPaused ? `${who} is to move; Go on lets it play.` : `${who} plays.`));
  if (isPaused) return;
  const isWatched = !match.seats.includes("me");
  const wait = Number(preferences.speed);
  await new Promise((done) => (timer = setTimeout(done, wait || (isWatched ? 30 : 0))));
  if (now !== drawn) return;
  if (!match.dice) {
    await change(m.rolled(match));
    return;
  }
  const looksOn = name === "chance" && match.seats.length > 1;
  const changed = name === "best" ? {} : { goal: looksOn ? "win" : "mean", strategy: name, others: looksOn ? m.othersOf(match) : undefined, session: undefined };
  const answer = await adviceFor(match, changed);
  if (now !== drawn) return;
  const words = name === "best" ? answer.moves[0].words : answer.strategy.words;
  const move = answer.moves.find((one) => one.words === words);
  if (move.category) {
    announce(`${nameOf(match, match.mover)}: ${move.words}`);
    const card = (await cardsFor(match))[match.mover];
    if (now === drawn) await change(m.scored(match, card.rows.find((one) => one.name === move.category), card.extra_name));
  } else if (move.keep.length === m.DICE) {
    await change({ ...match, rollsLeft: 0 });
  } else {
    await change(m.rolled(m.holding(match, move.keep)));
  }
}
