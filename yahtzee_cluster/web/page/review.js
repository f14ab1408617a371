/** The view in which a game is reviewed: what was luck, and what each decision cost. */

import { ask, get } from "./api.js";
import { gameGraph } from "./charts.js";
import { keepPicture } from "./dice.js";
import { asCost, asValue, choice, goalWords, h, listed, lost, replace, signed, tellProblem } from "./dom.js";
import { linkTo } from "./explore.js";
import { isMatch } from "./match.js";
import { goalFields, isBuiltIn, matchesPlayed, rulesFields, saves, stored } from "./settings.js";

const EXAMPLE = "22256 keep 222, 22235 keep 222, 22266 full-house\n11356 keep 11, 11146 keep 111, 11116 aces\n";
let chosen = { rules: "yahtzee", goal: "mean", record: "" };
let parts = {};
let asking = new AbortController();

/** Build the view; the address may name a match that was played here, and a seat. */
export async function show(view, parameters) {
  parts = { source: h("div", { class: "fields" }), result: h("div", { "aria-live": "polite" }) };
  replace(view, h("h1", {}, "Review a game"),
    (parts.fold = h("details", { class: "panel", open: true }, h("summary", {}, "The game to review"), parts.source)), parts.result);
  const [id, seat] = [parameters.get("match"), Number(parameters.get("seat"))];
  const match = [stored("match", isMatch, null), ...matchesPlayed().map((one) => one.match)].find((one) => one && one.id === id);
  if (match && match.turns[seat]) chosen = ofSeat(match, seat);
  await drawSource();
  await draw();
}

/** Give up the review that is being worked out. */
export function leave() {
  asking.abort();
}

function ofSeat(match, seat) {
  return { rules: match.rules, goal: match.goal === "win" ? "mean" : match.goal, record: { turns: match.turns[seat] } };
}

async function pick(one) {
  chosen = one;
  await drawSource();
  await draw();
}

/** Take a record as text, with the game and the goal that it names. */
function pickText(record) {
  const named = (name) => new RegExp(`^\\s*${name}\\s*:\\s*(.+?)\\s*(#.*)?$`, "m").exec(record)?.[1];
  const rules = named("rules");
  pick({ rules: rules && isBuiltIn(rules) ? rules : chosen.rules, goal: named("goal") ?? chosen.goal, record });
}

async function drawSource() {
  const games = matchesPlayed().flatMap(({ date, match }) => match.seats.map((seat, number) => [`${match.id}/${number}`,
    `${date.slice(0, 16).replace("T", " ")} ${match.game.name}, ${seat === "me" ? "you" : seat}, ${match.turns[number].length} turns`]));
  let files = [];
  if (saves()) files = (await get("api/games")).games.map((name) => [`file:${name}`, `file ${name}`]);
  const text = h("textarea", { id: "record", rows: 6, placeholder: EXAMPLE, spellcheck: "false",
    value: typeof chosen.record === "string" ? chosen.record : "" });
  const upload = h("input", { id: "record-file", type: "file", accept: ".txt,text/plain", onchange: async () => {
    if (upload.files.length) pickText(await upload.files[0].text());
  } });
  const fields = [
    (games.length > 0 || files.length > 0) && choice("played", "A game played here", [["", "choose one"], ...games, ...files], "", (said) => load(said)),
    ...rulesFields("review", chosen.rules, (rules) => pick({ ...chosen, rules }), tellProblem),
    ...goalFields("review", chosen.goal, false, (goal) => pick({ ...chosen, goal })),
    h("label", { class: "field wide" }, h("span", {}, "A record: a line for each turn"), text),
    h("label", { class: "field" }, h("span", {}, "or a file"), upload),
    h("div", { class: "buttons" }, h("button", { type: "button", id: "do-review", class: "main", onclick: () => (text.value.trim() && text.value !== chosen.record ? pickText(text.value) : draw()) }, "Review")),
  ];
  replace(parts.source, fields);
}

async function load(said) {
  if (!said) return;
  if (said.startsWith("file:")) {
    const { text } = await get(`api/games/${encodeURIComponent(said.slice(5))}`);
    pickText(text);
    return;
  }
  const [id, seat] = said.split("/");
  const found = matchesPlayed().find((one) => one.match.id === id);
  if (found) await pick(ofSeat(found.match, Number(seat)));
}

async function draw() {
  const { rules, goal, record } = chosen;
  asking.abort();
  const { signal } = (asking = new AbortController());
  if (typeof record === "string" ? !record.trim() : !record.turns.length) {
    replace(parts.result);
    return;
  }
  tellProblem(null);
  const progress = h("progress", { max: 1, "aria-label": "Reviewing" });
  replace(parts.result, progress);
  try {
    const found = await ask("review", { rules, goal, record }, { signal, onProgress: (share) => (progress.value = share) });
    parts.fold.open = false;
    replace(parts.result, summary(found), graph(found), costliest(found), turns(found));
  } catch (error) {
    if (signal.aborted) return;
    replace(parts.result);
    tellProblem(error.message);
  }
}

function summary(found) {
  const { goal } = found;
  const figures = [
    ["start", asValue(goal, found.start), `${goalWords(goal)} before the first turn`],
    ["luck", signed(goal, found.luck), "what the dice brought"],
    ["loss", lost(goal, found.loss), "what your decisions cost"],
    ...(found.unknown ? [["luck less loss", signed(goal, found.unknown), "where the record does not tell them apart"]] : []),
    ["result", asValue(goal, found.result), "start + luck − loss"],
    ["without luck", asValue(goal, found.luck_adjusted), "the result with average dice"],
  ];
  const { below, above } = found.level;
  const level = [below && `more than the strategy ${below} loses on average`, above && `less than ${above}`].filter(Boolean).join(", and ");
  const choices = found.decisions.filter((one) => !one.forced);
  const rate = found.loss_per_choice === null ? "" : `${asCost(goal, found.loss_per_choice)} for each of ${choices.length} decisions that were not forced`;
  return h("section", { class: "panel", "aria-label": "Summary" }, h("dl", { class: "figures" }, figures.map(([name, value, words]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", { id: `figure-${name.replaceAll(" ", "-")}` }, value), h("small", {}, words))))),
  h("p", {}, [rate && `Loss: ${rate}. `, level && `That is ${level}.`]),
  h("p", {}, "By kind: ", Object.entries(found.by_kind).map(([kind, loss]) => `${kind} ${asCost(goal, loss)}`).join(", "), "."));
}

function graph(found) {
  return h("section", { class: "panel", "aria-label": "Course of the game" }, h("h2", {}, "The course of the game"),
    gameGraph(found, (turn) => document.getElementById(`turn-${turn}`)?.scrollIntoView({ behavior: "smooth", block: "center" })));
}

function costliest(found) {
  if (!found.costliest.length) return h("section", { class: "panel" }, h("h2", {}, "No decision cost anything: perfect play."));
  return h("section", { class: "panel", "aria-label": "Costliest decisions" }, h("h2", {}, "The costliest decisions"),
    h("ol", { class: "decisions" }, found.costliest.map((one) => h("li", {}, decision(found, one)))));
}

function decision(found, one) {
  return [h("span", { class: "cost" }, `−${asCost(found.goal, one.loss)}`), " ",
    h("a", { href: linkTo({ rules: chosen.rules, goal: found.goal, card: one.card, dice: one.dice, rolls_left: one.rolls_left }) },
      `turn ${one.turn}, ${listed(one.dice)}, ${one.rolls_left || "no"} roll${one.rolls_left === 1 ? "" : "s"} left`),
    `: ${one.made}; best was ${one.best}`];
}

function turns(found) {
  const rows = found.record.turns.map((turn, at) => {
    const number = found.first_turn + at;
    const luck = found.rolls.filter((one) => one.turn === number).reduce((sum, one) => sum + one.luck, 0);
    const made = found.decisions.filter((one) => one.turn === number && one.loss > 0);
    return h("tr", { id: `turn-${number}` }, h("th", { scope: "row" }, String(number)),
      h("td", {}, turn.rolls.map((one) => keepPicture(one.dice, one.kept ?? one.dice))), h("td", {}, turn.box),
      h("td", { class: "number" }, signed(found.goal, luck)),
      h("td", {}, made.length ? made.map((one) => h("div", {}, decision(found, one))) : h("span", { class: "quiet" }, "–")));
  });
  return h("section", { class: "panel", "aria-label": "Turn by turn" }, h("h2", {}, "Turn by turn"), h("div", { class: "scrolling", tabindex: 0, role: "region", "aria-label": "Turns" },
    h("table", { class: "turns" }, h("thead", {}, h("tr", {}, ["turn", "rolls, with what was kept", "box", "luck", "what was lost"].map((words) => h("th", { scope: "col" }, words)))),
      h("tbody", {}, rows))),
  h("p", { class: "buttons" }, h("a", { class: "button", download: "game.txt", href: URL.createObjectURL(new Blob([found.text], { type: "text/plain" })) }, "Download the record")));
}
