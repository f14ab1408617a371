/** Dice, as large buttons and as small pictures. */

import { h, s } from "./dom.js";

const PIPS = { 1: "e", 2: "ai", 3: "aei", 4: "acgi", 5: "acegi", 6: "acdfgi" };
const PLACES = { a: [9, 9], c: [27, 9], d: [9, 18], e: [18, 18], f: [27, 18], g: [9, 27], i: [27, 27] };

function pips(face) {
  return [...(PIPS[face] ?? "")].map((place) => {
    const [cx, cy] = PLACES[place];
    return s("circle", { cx, cy, r: 3.6 });
  });
}

/** The picture of a die; `face` 0 is a die that has not been rolled. */
export function die(face, size = 36) {
  const picture = s("svg", { viewBox: "0 0 36 36", width: size, height: size, class: "die", "aria-hidden": "true" });
  picture.append(s("rect", { x: 1, y: 1, width: 34, height: 34, rx: 7 }), ...pips(face));
  return picture;
}

/** Five small dice, those of `keep` as they are and the others faint. */
export function keepPicture(dice, keep) {
  const left = [...keep];
  const picture = h("span", { class: "keep", "aria-hidden": "true" });
  for (const face of dice) {
    const at = left.indexOf(face);
    if (at >= 0) left.splice(at, 1);
    const one = die(face, 24);
    if (at < 0) one.classList.add("faint");
    picture.append(one);
  }
  return picture;
}

/** Five buttons for the dice on the table. `onToggle` is called with the place of a die that was clicked. */
export function diceButtons(onToggle) {
  const buttons = Array.from({ length: 5 }, (_, place) => {
    const picture = h("span", {});
    const mark = h("span", { class: "mark" });
    const button = h("button", { type: "button", class: "big-die", id: `die-${place}`, onclick: () => onToggle(place) });
    button.append(picture, mark);
    return { button, picture, mark };
  });
  const row = h("div", { class: "dice", role: "group", "aria-label": "Dice on the table" });
  row.append(...buttons.map(({ button }) => button));
  /** Show dice; `best` are the places of those that the best move keeps, if it is to be shown. */
  function show({ dice, held, isLocked, best }) {
    buttons.forEach(({ button, picture, mark }, place) => {
      const face = dice ? dice[place] : 0;
      const isHeld = held.includes(place);
      picture.replaceChildren(die(face, 64));
      button.disabled = !face || isLocked;
      button.setAttribute("aria-pressed", isHeld);
      button.setAttribute("aria-label", face ? `Die ${place + 1}: ${face}${isHeld ? ", kept" : ""}` : `Die ${place + 1}`);
      mark.textContent = isHeld ? "kept" : best?.includes(place) ? "keep" : "";
      mark.classList.toggle("hint", !isHeld);
    });
  }
  return { row, show };
}
