/**
 * A match: the scorecards of one to six players, the dice on the table, and how they came there.
 *
 * A match never changes; every function returns another one, so that undo and redo are a list of matches.
 */

export const ROLLS = 3;
export const DICE = 5;
const FACES = [1, 2, 3, 4, 5, 6];

/** A match before its first turn; `rules` is the name of a game or the text of a rule file. */
export function newMatch(rules, game, seats, goal) {
  return {
    id: `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`,
    rules, game, seats, goal,
    cards: seats.map(() => ({})), turns: seats.map(() => []),
    mover: 0, dice: null, held: [], rollsLeft: ROLLS, rolls: [],
  };
}

/** Whether what was stored is a match, as far as the page relies on it; the server checks scorecards and moves. */
export function isMatch(one) {
  const n = one?.seats?.length;
  const isText = (text) => typeof text === "string";
  const areDice = (dice) => Array.isArray(dice) && dice.length === DICE && dice.every((face) => FACES.includes(face));
  const areTurns = (turns) => Array.isArray(turns) && turns.length <= one.game.boxes.length && turns.every(isTurn);
  const isTurn = (turn) => isText(turn?.box) && Array.isArray(turn.rolls) && turn.rolls.every((roll) => areDice(roll?.dice));
  return Array.isArray(one?.seats) && n >= 1 && n <= 6 && one.seats.every(isText) && [one.id, one.rules, one.goal].every(isText) &&
    Array.isArray(one.game?.boxes) && isText(one.game.name) && one.game.boxes.every((box) => isText(box?.name)) &&
    Array.isArray(one.cards) && one.cards.length === n && one.cards.every((card) => card && typeof card === "object") &&
    Array.isArray(one.turns) && one.turns.length === n && one.turns.every(areTurns) &&
    Number.isInteger(one.mover) && one.mover >= 0 && one.mover < n && [0, 1, 2, 3].includes(one.rollsLeft) &&
    (one.dice === null ? one.rollsLeft === ROLLS : areDice(one.dice) && one.rollsLeft < ROLLS) &&
    Array.isArray(one.held) && one.held.every((place) => [0, 1, 2, 3, 4].includes(place)) && (one.dice || !one.held.length) &&
    Array.isArray(one.rolls) && one.rolls.every((roll) => areDice(roll?.dice));
}

export function sorted(dice) {
  return [...dice].sort((one, other) => one - other);
}

/** The dice that are held. */
export function kept(match) {
  return sorted(match.held.map((place) => match.dice[place]));
}

/** Whether every box of every player is filled. */
export function isOver(match) {
  return match.turns.every((turns) => turns.length === match.game.boxes.length);
}

/** Whether dice may be rolled. */
export function canRoll(match) {
  return !isOver(match) && match.rollsLeft > 0 && match.held.length < DICE;
}

/** Whether a person is to move. */
export function isMine(match) {
  return match.seats[match.mover] === "me";
}

/** Hold a die, or hold it no longer. */
export function toggled(match, place) {
  const held = match.held.includes(place) ? match.held.filter((one) => one !== place) : [...match.held, place];
  return { ...match, held };
}

/** Hold these faces, and no others. */
export function holding(match, faces) {
  const left = [...faces];
  const held = [];
  match.dice.forEach((face, place) => {
    const at = left.indexOf(face);
    if (at >= 0) {
      left.splice(at, 1);
      held.push(place);
    }
  });
  return left.length ? null : { ...match, held };
}

/** Roll the dice that are not held, or say how they fell: all five faces, or those of the dice that were rolled. */
export function rolled(match, faces = null) {
  const thrown = [...(faces ?? Array.from({ length: DICE }, randomFace))];
  const dice = match.dice ? [...match.dice] : new Array(DICE).fill(0);
  if (faces && faces.length === DICE) {
    for (const place of match.held) {
      const at = thrown.indexOf(dice[place]);
      if (at < 0) return null;
      thrown.splice(at, 1);
    }
  }
  for (let place = 0; place < DICE; place++) if (!match.held.includes(place)) dice[place] = thrown.shift();
  const rolls = match.dice ? [...match.rolls, { dice: sorted(match.dice), kept: kept(match) }] : [];
  return { ...match, dice, rolls, held: [], rollsLeft: match.rollsLeft - 1 };
}

/** A face from 1 to 6, each equally likely: numbers from which six do not divide evenly are drawn again. */
function randomFace() {
  const numbers = new Uint8Array(1);
  do crypto.getRandomValues(numbers);
  while (numbers[0] >= 252);
  return 1 + (numbers[0] % 6);
}

/** Score the dice in a box, given its row of the scorecard; then the next player is to move. */
export function scored(match, row, extraName) {
  const { mover } = match;
  const card = { ...match.cards[mover], [row.name]: row.would.points };
  if (row.would.extra) card[extraName] = (card[extraName] ?? 0) + row.would.extra;
  const turn = { rolls: [...match.rolls, { dice: sorted(match.dice), kept: null }], box: row.name };
  return {
    ...match,
    cards: match.cards.map((one, seat) => (seat === mover ? card : one)),
    turns: match.turns.map((turns, seat) => (seat === mover ? [...turns, turn] : turns)),
    mover: (mover + 1) % match.seats.length,
    dice: null, held: [], rollsLeft: ROLLS, rolls: [],
  };
}

/** The record of a player's game, as the server reads it. */
export function recordOf(match, seat) {
  return { goal: match.goal === "win" ? "mean" : match.goal, turns: match.turns[seat] };
}

/** The position of the player to move, as the server reads it; the other players only where the goal looks at them. */
export function positionOf(match) {
  const position = { rules: match.rules, goal: match.goal, card: match.cards[match.mover] };
  if (match.dice) Object.assign(position, { dice: sorted(match.dice), rolls_left: match.rollsLeft });
  if (match.goal === "win") position.others = othersOf(match);
  return position;
}

/** The scorecards of the other players, in the order in which they play next. */
export function othersOf(match) {
  const { cards, mover } = match;
  return [...cards.slice(mover + 1), ...cards.slice(0, mover)];
}

/** The box that a text names: its name, the beginning of its name, its initials, or its face. */
export function boxNamed(text, boxes) {
  const exact = boxes.find((box) => box.name === text.trim()) ?? boxes.find((box) => box.name.toLowerCase() === text.trim().toLowerCase());
  if (exact) return exact.name;
  const plain = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
  const said = plain(text);
  if (!said) return null;
  const initials = (name) => name.toLowerCase().split(/[^a-z0-9]+/).map((word) => DIGITS[word] ?? word[0]).join("");
  const short = (name) => initials(name).replace(/[oa](?=k$)/, "");
  const ways = [
    (box) => plain(box.name) === said,
    (box) => box.face !== null && String(box.face) === said,
    (box) => [initials(box.name), short(box.name)].includes(said),
    (box) => said.length > 1 && plain(box.name).startsWith(said),
  ];
  for (const way of ways) {
    const found = boxes.filter(way);
    if (found.length === 1) return found[0].name;
  }
  return null;
}

const DIGITS = { one: "1", two: "2", three: "3", four: "4", five: "5", six: "6", of: "", a: "" };
