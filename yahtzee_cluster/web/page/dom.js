/** Making elements, and writing numbers. */

const SVG = "http://www.w3.org/2000/svg";

/** An element; `attributes` may have listeners (`onclick`), properties (`value`, `checked`) and attributes. */
export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
export function s(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "hidden", "open", "className"]);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** What takes the focus when that which had it is gone: what is to be done next, as a rule. */
const NEXT = "#next, #give, #roll:enabled, .open button, #again, #pause, #command";

/** Replace what is in an element. The focus stays: where something with the same id is, else where one goes on. */
export function replace(element, ...children) {
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  element.replaceChildren(...children.flat(3).filter(Boolean));
  if (!focused || (focused.isConnected && !focused.disabled)) return;
  const same = focused.id && document.getElementById(focused.id);
  (same && !same.disabled ? same : document.querySelector(NEXT))?.focus();
}

/** Say something to a screen reader. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

/** Show a problem at the top of the page, or none. */
export function tellProblem(text) {
  const problem = document.getElementById("problem");
  problem.textContent = text ?? "";
  problem.hidden = !text;
}

/** A list to choose from: pairs of a value and its words. */
export function choice(id, words, options, chosen, onchange) {
  const select = h("select", { id, onchange: () => onchange(select.value) });
  for (const [value, text] of options) select.append(h("option", { value, selected: value === chosen }, text));
  return h("label", { class: "field" }, h("span", {}, words), select);
}

/** A field for a line of text. */
export function entry(id, words, attributes) {
  return h("label", { class: "field" }, h("span", {}, words), h("input", { id, autocomplete: "off", ...attributes }));
}

// ------------------------------------------------------------------------------------------------------ numbers

/** Whether a goal is a chance, and its values are probabilities. */
export function isChance(goal) {
  return /^(reach|above|win)/.test(goal);
}

/** A value by a goal: points, or a chance in percent. */
export function asValue(goal, value) {
  if (value === null || value === undefined) return "–";
  if (isChance(goal)) return percent(value);
  if (goal.startsWith("quantile")) return `${Math.round(value)}`;
  return Math.abs(value) >= 1e5 ? value.toExponential(4) : value.toFixed(2);
}

/** A cost by a goal, or any difference of values. */
export function asCost(goal, cost) {
  return isChance(goal) ? percent(cost) : asValue(goal.startsWith("quantile") ? "mean" : goal, cost);
}

/** What was lost, with its sign where it is more than nothing. */
export function lost(goal, loss) {
  return loss ? `−${asCost(goal, loss)}` : asCost(goal, 0);
}

/** A difference with its sign. */
export function signed(goal, difference) {
  return `${difference < 0 ? "−" : "+"}${asCost(goal, Math.abs(difference))}`;
}

/** A probability in percent, with as many decimals as mean something. */
export function percent(chance) {
  const shown = 100 * chance;
  if (shown === 0 || shown === 100) return `${shown} %`;
  if (shown < 0.01) return `${shown.toPrecision(2)} %`;
  if (shown > 99.99) return `>99.99 %`;
  return `${shown.toFixed(2)} %`;
}

/** Dice as text: 2 2 2 5 6. */
export function listed(dice) {
  return dice.join(" ");
}

/** The score that a goal is to reach, if it is one. */
export function reachOf(goal) {
  const found = /^(reach|above):(\d+)$/.exec(goal);
  return found && Number(found[2]) + (found[1] === "above");
}

/** The goals that can be chosen, as values and words; those with a number have a field for it. */
export const GOALS = [
  ["mean", "the highest expected score"],
  ["reach", "to reach a score"],
  ["above", "to beat a score"],
  ["win:expected", "to beat one optimal player"],
  ["win", "to win against the others here"],
  ["best-of", "the best of several games"],
  ["quantile", "a safe score, reached with chance"],
  ["power", "the mean of the score to the power"],
  ["other", "another one, as text"],
];

/** What the number of a goal is at first. */
export const NUMBERS = { reach: "250", above: "250", "best-of": "3", quantile: "0.9", power: "2" };

/** What a goal that is typed is at first. */
export const TYPED = "win:2*expected+231";

/** Which of the goals that can be chosen this one is. */
export function kindOf(goal) {
  const kind = goal.split(":")[0];
  if (kind in NUMBERS && goal.split(":").length === 2) return kind;
  return GOALS.some(([one]) => one === goal) ? goal : "other";
}

/** A goal in words. */
export function goalWords(goal) {
  const [kind, number] = goal.split(":");
  switch (kind) {
    case "mean": return "the expected final score";
    case "reach": return `the chance to reach ${number}`;
    case "above": return `the chance to beat ${number}`;
    case "best-of": return `the best of ${number} games`;
    case "quantile": return `the score reached with chance ${percent(Number(number))}`;
    case "power": return `the mean of the score to the power ${number}`;
    case "win": return number === undefined ? "the chance to win" : `the chance to win (${goal})`;
    default: return goal;
  }
}
