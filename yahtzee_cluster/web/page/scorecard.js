/** The scorecard as a table, a column for each player. */

import { asCost, h } from "./dom.js";

/**
 * A table of scorecards, as the server describes them. `open` says what can be scored now: the player's number, what to
 * do when a box is chosen, and the costs of boxes by name if they are to be shown.
 */
export function scorecard(cards, names, open = null) {
  const [first] = cards;
  const cell = (row, card, seat) => {
    const { name, points, would } = card.rows[row];
    if (points !== null) return h("td", {}, String(points));
    if (!open || seat !== open.seat || !would) return h("td", { class: "free" }, "");
    const total = would.points + would.extra + would.upper_bonus;
    const cost = open.costs?.get(name);
    const words = `Score ${total} in ${name}${cost === undefined ? "" : cost ? `, costs ${asCost(open.goal, cost)}` : ", the best"}`;
    return h("td", { class: "open" }, h("button", {
      type: "button", id: `box-${row}`, class: cost === 0 ? "best" : "", "aria-label": words, title: words,
      onclick: () => open.onScore(card.rows[row]),
    }, String(would.points), total > would.points && h("small", {}, `+${total - would.points}`),
    cost > 0 && h("small", { class: "cost" }, `−${asCost(open.goal, cost)}`)));
  };
  const line = (words, of, kind = "sum") => h("tr", { class: kind }, h("th", { scope: "row" }, words), cards.map((card) => h("td", {}, of(card))));
  const rows = first.rows.map((row, number) => h("tr", {}, h("th", { scope: "row" }, row.name),
    cards.map((card, seat) => cell(number, card, seat))));
  const upper = first.rows.flatMap((row, number) => (row.face === null ? [] : [rows[number]]));
  const lower = first.rows.flatMap((row, number) => (row.face === null ? [rows[number]] : []));
  const body = [...upper];
  if (first.upper_bonus) {
    body.push(line("upper boxes", (card) => `${card.upper}`));
    body.push(line(`bonus from ${first.upper_threshold}`, (card) => {
      const missing = card.upper_threshold - card.upper;
      return card.upper_bonus_paid ? String(card.upper_bonus_paid) : missing > 0 ? h("small", {}, `${missing} missing`) : "";
    }));
  }
  body.push(...lower);
  if (first.extra !== null) body.push(line("extra bonuses", (card) => (card.extra ? String(card.extra) : "")));
  body.push(line("total", (card) => String(card.total), "total"));
  const heading = names.length > 1 || names[0] !== "you"
    ? h("thead", {}, h("tr", {}, h("td", {}), names.map((name, seat) => h("th", { scope: "col", class: open?.seat === seat ? "mover" : "" }, name))))
    : h("thead", { class: "for-readers" }, h("tr", {}, h("th", { scope: "col" }, "box"), h("th", { scope: "col" }, "points")));
  return h("table", { class: "card" }, h("caption", { class: "for-readers" }, "Scorecard"), heading, h("tbody", {}, body));
}
