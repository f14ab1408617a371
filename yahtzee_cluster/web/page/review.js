/** The view in which a game is reviewed: what was luck, and what each decision cost. */

import { ask, get } from "./api.js";
import { gameGraph } from "./charts.js";
import { keepPicture } from "./dice.js";
import { asCost, asValue, choice, goalWords, h, listed, replace, signed, tellProblem } from "./dom.js";
import { linkTo } from "./explore.js";
import { goalFields, rulesFields, saves, stored } from "./settings.js";

const EXAMPLE = "22256 keep 222, 22235 keep 222, 22266 full-house\n11356 keep 11, 11146 keep 111, 11116 aces\n";
let chosen = { rules: "yahtzee", goal: "mean", record: "" };
let parts = {};

/** Build the view; `seat` is that of the match on the play view to review, if one is asked for. */
export async function show(view, parameters) {
  parts = { source: h("div", { class: "fields" }), result: h("div", { "aria-live": "polite" }) };
  replace(view, h("h1", {}, "Review a game"),
    (parts.fold = h("details", { class: "panel", open: true }, h("summary", {}, "The game to review"), parts.source)), parts.result);
  const match = stored("match", null);
  if (parameters.has("seat") && match) {
    const seat = Number(parameters.get("seat"));
    await pick({ rules: match.rules, goal: match.goal === "win" ? "mean" : match.goal, record: { turns: match.turns[seat] } });
  } else {
    await drawSource();
  }
}

async function pick(one) {
  chosen = one;
  await drawSource();
  await draw();
}

async function drawSource() {
  const games = stored("games", []).flatMap((one, at) => one.seats.map((seat, number) => [`${at}/${number}`,
    `${one.date.slice(0, 16).replace("T", " ")} ${one.name}, ${seat === "me" ? "you" : seat}, ${one.turns[number].length} turns`]));
  let files = [];
  if (saves()) files = (await get("api/games")).games.map((name) => [`file:${name}`, `file ${name}`]);
  const text = h("textarea", { id: "record", rows: 6, placeholder: EXAMPLE, spellcheck: "false",
    value: typeof chosen.record === "string" ? chosen.record : "" });
  const upload = h("input", { id: "record-file", type: "file", accept: ".txt,text/plain", onchange: async () => {
    if (upload.files.length) pick({ ...chosen, record: await upload.files[0].text() });
  } });
  const fields = [
    (games.length > 0 || files.length > 0) && choice("played", "A game played here", [["", "choose one"], ...games, ...files], "", (said) => load(said)),
    ...rulesFields("review", chosen.rules, (rules) => pick({ ...chosen, rules }), tellProblem),
    ...goalFields("review", chosen.goal, false, (goal) => pick({ ...chosen, goal })),
    h("label", { class: "field wide" }, h("span", {}, "A record: a line for each turn"), text),
    h("label", { class: "field" }, h("span", {}, "or a file"), upload),
    h("div", { class: "buttons" }, h("button", { type: "button", id: "do-review", class: "main", onclick: () => pick({ ...chosen, record: text.value }) }, "Review")),
  ];
  replace(parts.source, fields);
}

async function load(said) {
  if (!said) return;
  if (said.startsWith("file:")) {
    const { text } = await get(`api/games/${encodeURIComponent(said.slice(5))}`);
    await pick({ ...chosen, record: text });
    return;
  }
  const [at, seat] = said.split("/").map(Number);
  const one = stored("games", [])[at];
  await pick({ rules: one.rules, goal: one.goal === "win" ? "mean" : one.goal, record: { turns: one.turns[seat] } });
}

async function draw() {
  const { rules, goal, record } = chosen;
  if (typeof record === "string" ? !record.trim() : !record.turns.length) {
    replace(parts.result);
    return;
  }
  tellProblem(null);
  const progress = h("progress", { max: 1, "aria-label": "Reviewing" });
  replace(parts.result, progress);
  try {
    const found = await ask("review", { rules, goal, record }, { onProgress: (share) => (progress.value = share) });
    parts.fold.open = false;
    replace(parts.result, summary(found), graph(found), costliest(found), turns(found));
  } catch (error) {
    replace(parts.result);
    tellProblem(error.message);
  }
}

function summary(found) {
  const { goal } = found;
  const figures = [
    ["start", asValue(goal, found.start), `${goalWords(goal)} before the first turn`],
    ["luck", signed(goal, found.luck), "what the dice brought"],
    ["loss", `−${asCost(goal, found.loss)}`, "what your decisions cost"],
    ...(found.unknown ? [["luck less loss", signed(goal, found.unknown), "where the record does not tell them apart"]] : []),
    ["result", asValue(goal, found.result), "start + luck − loss"],
    ["without luck", asValue(goal, found.luck_adjusted), "the result with average dice"],
  ];
  const { below, above } = found.level;
  const level = below && above ? `about as strong as a player between ${below} and ${above}` : below ? `weaker than ${below}` : above ? `stronger than ${above}` : "";
  const choices = found.decisions.filter((one) => !one.forced);
  const rate = found.loss_per_choice === null ? "" : `${asCost(goal, found.loss_per_choice)} for each of ${choices.length} decisions that were not forced`;
  return h("section", { class: "panel", "aria-label": "Summary" }, h("dl", { class: "figures" }, figures.map(([name, value, words]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, h("strong", { id: `figure-${name.replaceAll(" ", "-")}` }, value), h("small", {}, words))))),
  h("p", {}, [rate && `Loss: ${rate}. `, level && `In this game you were ${level}.`]),
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
    const number = at + 1;
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
