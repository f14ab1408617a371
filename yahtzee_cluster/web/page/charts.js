/** Drawings: the chance of every final score, the luck of the next roll, the course of a game. */

import { asCost, asValue, h, percent, s, signed } from "./dom.js";

const WIDTH = 640;

function drawing(height, words, ...children) {
  return s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "drawing", role: "img", "aria-label": words }, ...children);
}

function text(x, y, words, attributes = {}) {
  return s("text", { x, y, ...attributes }, words);
}

function path(points) {
  return points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

function steps(low, high, most) {
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.min(2 * most, Math.floor(high / step) - first + 1) }, (_, at) => (first + at) * step);
}

/** The chance of at least each final score: `curve[score]`, and the one before the last decision, fainter. */
export function scoreCurve(curve, before, { reach } = {}) {
  const height = 230;
  const [left, right, top, bottom] = [44, 12, 10, 34];
  const ends = [curve, before].filter(Boolean).map((one) => [
    one.findIndex((chance) => chance < 0.999), one.findLastIndex((chance) => chance > 0.003),
  ]);
  const low = Math.max(0, Math.min(...ends.map(([first]) => first)) - 5);
  const high = Math.max(...ends.map(([, last]) => last)) + 5;
  const x = (score) => left + ((score - low) / Math.max(1, high - low)) * (WIDTH - left - right);
  const y = (chance) => top + (1 - chance) * (height - top - bottom);
  const line = (one) => path(Array.from({ length: high - low + 1 }, (_, at) => [x(low + at), y(one[low + at] ?? 0)]));
  const middle = curve.findLastIndex((chance) => chance >= 0.5);
  const words = `Chance of at least each final score: 90 % for ${curve.findLastIndex((one) => one >= 0.9)}, ` +
    `50 % for ${middle}, 10 % for ${curve.findLastIndex((one) => one >= 0.1)}`;
  const picture = drawing(height, words);
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    picture.append(s("line", { class: "grid", x1: left, x2: WIDTH - right, y1: y(share), y2: y(share) }));
    picture.append(text(left - 6, y(share) + 4, `${100 * share} %`, { "text-anchor": "end" }));
  }
  for (const score of steps(low, high, 7)) {
    picture.append(text(x(score), height - bottom + 18, String(score), { "text-anchor": "middle" }));
  }
  if (reach && reach >= low && reach <= high) {
    picture.append(s("line", { class: "reach", x1: x(reach), x2: x(reach), y1: top, y2: height - bottom }));
  }
  if (before) picture.append(s("path", { class: "curve before", d: line(before) }));
  picture.append(s("path", { class: "curve", d: line(curve) }));
  const cursor = s("g", { class: "cursor", visibility: "hidden" });
  const rule = s("line", { y1: top, y2: height - bottom });
  const label = text(0, top + 12, "");
  cursor.append(rule, label);
  picture.append(cursor);
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const score = Math.round(low + (((event.clientX - box.left) / box.width) * WIDTH - left) / (WIDTH - left - right) * (high - low));
    if (score < low || score > high) return;
    cursor.setAttribute("visibility", "visible");
    for (const name of ["x1", "x2"]) rule.setAttribute(name, x(score));
    label.textContent = `${score} or more: ${percent(curve[score] ?? 0)}`;
    label.setAttribute("x", x(score) + (score < (low + high) / 2 ? 6 : -6));
    label.setAttribute("text-anchor", score < (low + high) / 2 ? "start" : "end");
  });
  picture.addEventListener("pointerleave", () => cursor.setAttribute("visibility", "hidden"));
  return h("figure", {}, picture, h("figcaption", {}, words));
}

/** What the next roll may bring: every roll as wide as it is likely, from the worst to the best. */
export function luckMap({ rolls, value, goal }) {
  const height = 96;
  const [top, base] = [8, 52];
  const most = Math.max(...rolls.map((roll) => Math.abs(roll.value - value)), 1e-12);
  const words = luckWords({ rolls, value, goal });
  const picture = drawing(height, words);
  let x = 0;
  for (const roll of rolls) {
    const width = roll.chance * WIDTH;
    const luck = roll.value - value;
    const size = (Math.abs(luck) / most) * (base - top);
    const bar = s("rect", {
      class: luck < 0 ? "bad" : "good", x: x.toFixed(2), width: Math.max(width - 0.4, 0.2).toFixed(2),
      y: (luck < 0 ? base : base - size).toFixed(2), height: Math.max(luck < 0 ? Math.min(size, height - base) : size, 1).toFixed(2),
    });
    bar.append(s("title", {}, `${roll.dice.join(" ")}: ${signed(goal, luck)}, chance ${percent(roll.chance)}`));
    picture.append(bar);
    x += width;
  }
  picture.append(s("line", { class: "axis", x1: 0, x2: WIDTH, y1: base, y2: base }));
  return h("figure", {}, picture, h("figcaption", {}, words));
}

function luckWords({ rolls, value, goal }) {
  const good = rolls.filter((roll) => roll.value > value).reduce((sum, roll) => sum + roll.chance, 0);
  const [worst, best] = [rolls[0], rolls.at(-1)];
  return `Lucky with ${percent(good)}. Best ${best.dice.join(" ")}, ${signed(goal, best.value - value)}; ` +
    `worst ${worst.dice.join(" ")}, ${signed(goal, worst.value - value)}.`;
}

/** The value over a game, with luck and losses of each turn as bars below; `onTurn` is called with a turn's number. */
export function gameGraph(review, onTurn) {
  const height = 330;
  const [left, right, top, middle] = [60, 12, 14, 190];
  const turns = review.record.turns.length;
  const before = review.first_turn - 1;
  const across = (turn) => left + (turn / turns) * (WIDTH - left - right);
  let value = review.start;
  const points = [[across(0), value]];
  const bars = [];
  for (let turn = 1; turn <= turns; turn++) {
    const number = before + turn;
    const events = [
      ...review.rolls.filter((one) => one.turn === number).map((one) => [one.roll * 2 - 1, one.luck]),
      ...review.decisions.filter((one) => one.turn === number).map((one) => [2 * (2 - one.rolls_left) + 2, -one.loss]),
    ].sort((one, other) => one[0] - other[0]);
    events.forEach(([, change], at) => points.push([across(turn - 1 + (at + 1) / (events.length + 1)), (value += change)]));
    bars.push([turn, events.filter(([kind]) => kind % 2).reduce((sum, [, luck]) => sum + luck, 0),
      -events.filter(([kind]) => kind % 2 === 0).reduce((sum, [, loss]) => sum + loss, 0)]);
  }
  points.push([across(turns), review.result]);
  const values = points.map(([, one]) => one);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = Math.max((high - low) * 0.08, 1e-6 * Math.max(1, Math.abs(high)));
  const y = (one) => top + ((high + room - one) / (high - low + 2 * room)) * (middle - top);
  const words = `Course of the game: from ${asValue(review.goal, review.start)} to ${asValue(review.goal, review.result)}; ` +
    `luck ${signed(review.goal, review.luck)}, losses ${asCost(review.goal, review.loss)}`;
  const picture = drawing(height, words);
  for (const one of steps(low - room, high + room, 5)) {
    picture.append(s("line", { class: "grid", x1: left, x2: WIDTH - right, y1: y(one), y2: y(one) }));
    picture.append(text(left - 6, y(one) + 4, asValue(review.goal, one).replace(/\.00$/, ""), { "text-anchor": "end" }));
  }
  picture.append(s("path", { class: "curve", d: path(points.map(([x, one]) => [x, y(one)])) }));
  const most = Math.max(...bars.map(([, luck, loss]) => Math.max(Math.abs(luck), loss)), 1e-12);
  const [base, span] = [255, 52];
  picture.append(s("line", { class: "axis", x1: left, x2: WIDTH - right, y1: base, y2: base }));
  picture.append(text(left - 6, base - 20, "luck", { "text-anchor": "end" }), text(left - 6, base + 30, "loss", { "text-anchor": "end", class: "bad" }));
  const wide = (WIDTH - left - right) / turns;
  for (const [turn, luck, loss] of bars) {
    const x = across(turn - 1);
    const up = (Math.abs(luck) / most) * span;
    picture.append(s("rect", { class: "luck", x: x + wide * 0.15, width: wide * 0.3, y: luck < 0 ? base : base - up, height: Math.max(up, 0.5) }));
    picture.append(s("rect", { class: "bad", x: x + wide * 0.55, width: wide * 0.3, y: base, height: Math.max((loss / most) * span, loss ? 1 : 0) }));
    const column = s("rect", { class: "column", x, width: wide, y: top, height: height - top - 18, onclick: () => onTurn(before + turn) });
    column.append(s("title", {}, `turn ${before + turn}: luck ${signed(review.goal, luck)}, loss ${asCost(review.goal, loss)}`));
    picture.append(column, text(x + wide / 2, height - 4, String(before + turn), { "text-anchor": "middle" }));
  }
  return h("figure", {}, picture, h("figcaption", {}, words));
}
