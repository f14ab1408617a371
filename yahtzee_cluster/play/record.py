"""The record of a game: the rolls, what was kept, and the boxes, in a text that people can write from a paper sheet.

A line is a turn: the rolls with commas between them, each followed by what was kept of it, the last one by the box.

    22256 keep 222, 22235 keep 222, 22266 full-house
    12345 large-straight                  # scored at once
    ... 44466 four-of-a-kind              # the rolls before are not known
    11356, 11146 keep 111, 11116 aces     # what was kept of the first roll is not known
    chance=22                             # only the points are known; 22+100 with an extra bonus

Above the turns may stand lines such as `rules: yahtzee`, `goal: reach:250`, and `card: aces=3` if the game had begun.
What follows `#` is a remark. A box whose name has commas or the like stands in double quotes, as on a scorecard:

    22256 keep 222, 22266 "odds, or evens"
    "odds, or evens=13"
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.fields import MAX_COUNT, Fields, is_integer, is_text
from yahtzee_cluster.game.dice import FACES, N_DICE, Keep
from yahtzee_cluster.game.notation import check_kept, find_box, five_dice, parse_dice, parse_keep, quoted, unquoted
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.game.scorecard import Scorecard, parse_scorecard
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.text import shown

MOST_ROLLS = 3
UNKNOWN = "..."
"""Stands for rolls that are not known."""
HEADERS = "rules", "card", "goal", "player", "date"
CARD = "card"
"""The header whose text has quotes of its own."""
SPECIAL = ",=#:.)"
"""What stands between the parts of a line, and behind the number of a turn."""
REMARK = re.compile(r'("[^"]*")|#.*')
"""What stands in quotes, where no remark begins, or a remark."""
ROLL = re.compile(r"([1-6](?:\s*[1-6]){4})(?:\s+(.*))?", re.DOTALL)
POINTS = re.compile(r"(.*?)=\s*(\d{1,6})(?:\s*\+\s*(\d{1,6}))?", re.DOTALL)


@dataclass(frozen=True)
class Roll:
    """Five dice, and what was kept of them; None if that is not known."""

    dice: Keep
    kept: Keep | None = None


@dataclass(frozen=True)
class Turn:
    """A turn: its last rolls, or all of them, and the box."""

    rolls: tuple[Roll, ...]
    box: int
    points: int | None = None
    """The points in the box, where no roll is known."""
    with_extra: bool = False
    """Whether an extra bonus was paid besides, where no roll is known."""
    is_whole: bool = True
    """Whether the first of these rolls was the first of the turn."""

    @property
    def first_stage(self) -> int:
        """At which roll of the turn, from 0 on, these rolls begin."""
        return 0 if self.is_whole else MOST_ROLLS - len(self.rolls)


@dataclass(frozen=True)
class Record:
    """The record of a game, perhaps of an unfinished one; `card` has what its turns have filled."""

    rules: Rules
    turns: tuple[Turn, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    """What stands above the turns, besides the rules."""

    @property
    def goal(self) -> str | None:
        """The goal that the game was played for, if the record says it."""
        return dict(self.headers).get("goal")

    @property
    def begun(self) -> Scorecard:
        """The scorecard before the first turn of the record: empty unless the record says otherwise."""
        return parse_scorecard(dict(self.headers).get("card", ""), self.rules)

    @property
    def first_turn(self) -> int:
        """Which turn of the game is the first of the record."""
        return 1 + sum(points is not None for points in self.begun.points)

    @property
    def cards(self) -> list[Scorecard]:
        """The scorecard before each turn, and after the last one. A turn that the rules do not allow is refused."""
        cards = [self.begun]
        for number, turn in enumerate(self.turns, self.first_turn):
            try:
                cards.append(_after(cards[-1], turn))
            except UsageError as error:
                raise UsageError(f"turn {number}: {error}") from error
        return cards

    def with_turn(self, turn: Turn) -> Record:
        """The record with a further turn."""
        return replace(self, turns=(*self.turns, turn))

    @property
    def text(self) -> str:
        """The record in the form that `parse_record` reads."""
        said = [("rules", self.rules.name), *self.headers]
        headers = [f"{name}: {words if name == CARD else quoted(words, '#')}" for name, words in said]
        return "\n".join([*headers, "", *(self._line(turn) for turn in self.turns), ""])

    def to_dict(self) -> dict[str, Any]:
        """The record, ready for JSON."""
        turns = [
            {
                "rolls": [{"dice": roll.dice, "kept": roll.kept} for roll in turn.rolls],
                "box": self.rules.categories[turn.box].name,
                "points": turn.points,
                "extra": turn.with_extra,
                "whole": turn.is_whole,
            }
            for turn in self.turns
        ]
        return {"rules": self.rules.name, **dict(self.headers), "turns": turns}

    def _line(self, turn: Turn) -> str:
        box = self.rules.categories[turn.box].name
        if not turn.rolls:
            points = f"={turn.points}{f'+{self.rules.extra_bonus}' * turn.with_extra}"
            return f"{box}{points}" if box == quoted(box, SPECIAL) else quoted(f"{box}{points}", SPECIAL)
        rolls = [f"{_digits(roll.dice)}{_kept_in_words(roll.kept)}" for roll in turn.rolls[:-1]]
        line = ", ".join([*rolls, f"{_digits(turn.rolls[-1].dice)} {quoted(box, SPECIAL)}"])
        return line if turn.is_whole else f"{UNKNOWN} {line}"


def begun_at(position: Position, rules: Rules) -> Record | None:
    """The record of a game that goes on from a position between turns; None where its boxes are not known."""
    is_empty = position.anchor.free == rules.all_free and not position.score
    card = Scorecard.of(rules, {}) if is_empty else position.card
    if card is None or position.roll is not None:
        return None
    return Record(rules, headers=(("card", card.text),) if card.text else ())


def parse_record(
    text: str, source: str = "record", rules: Rules | None = None, find: Callable[[str], Rules] = load_rules
) -> Record:
    """Read a record; `source` names it in error messages.

    The rules are those given if it names these or none, or else those that `find` finds by the name; without any, those
    of Yahtzee.

    >>> record = parse_record("22256 keep 222, 22235 k 222, 22266 fh")
    >>> print(record.text)
    rules: yahtzee
    <BLANKLINE>
    22256 keep 222, 22235 keep 222, 22266 full-house
    <BLANKLINE>
    """
    lines = [(number, REMARK.sub(r"\1", line).strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line]
    headers: dict[str, str] = {}
    while lines and (found := re.fullmatch(rf"({'|'.join(HEADERS)})\s*:\s*(.*)", lines[0][1])):
        number = lines.pop(0)[0]
        name, said = found[1], found[2] if found[1] == CARD else unquoted(found[2])
        if name in headers or not said or not (name == CARD or is_text(said)):
            raise FileError(source, f"line {number}: expected {name} once, with a text on one line")
        headers[name] = said
    named = headers.pop("rules", None)
    if rules is None or named not in {None, rules.name}:
        rules = find(named or "yahtzee")
    record = Record(rules.whole or rules, (), tuple(headers.items()))
    try:
        card = record.begun
    except UsageError as error:
        raise FileError(source, f"card: {error}") from None
    for number, line in lines:
        try:
            turn = _turn(line, record.rules)
            card = _after(card, turn)
        except UsageError as error:
            raise FileError(source, f"line {number}: {error}") from None
        record = record.with_turn(turn)
    return record


def record_of(said: Mapping[str, Any], rules: Rules) -> Record:
    """Read a record as `Record.to_dict` writes it; its rules are those given."""
    fields = Fields(said, "record", (*HEADERS, "turns"))
    fields.optional_text("rules")
    headers = {name: text for name in HEADERS[1:] if (text := fields.optional_text(name))}
    turns = said.get("turns")
    if not isinstance(turns, list) or len(turns) > len(rules.categories):
        raise fields.error("turns", "expected a list with an object for each turn", turns)
    record = Record(rules, headers=tuple(headers.items()))
    card = record.begun
    for number, turn in enumerate(turns, record.first_turn):
        try:
            record = record.with_turn(_turn_of(turn, rules))
            card = _after(card, record.turns[-1])
        except UsageError as error:
            raise UsageError(f"turn {number}: {error}") from None
    return record


def _turn_of(said: object, rules: Rules) -> Turn:
    if not isinstance(said, dict):
        raise UsageError(f"expected an object, found {shown(said)}")
    fields = Fields(said, "turn", ("rolls", "box", "points", "extra", "whole"))
    rolls = said.get("rolls", [])
    if not isinstance(rolls, list) or len(rolls) > MOST_ROLLS or not all(isinstance(roll, dict) for roll in rolls):
        raise fields.error("rolls", f"expected a list of at most {MOST_ROLLS} objects", rolls)
    box = find_box(fields.text("box"), rules)
    if not rolls:
        points = fields.integer("points", None, 0, MAX_COUNT)
        if points is None:
            raise fields.error("points", "expected a whole number, because no roll is known", None)
        return Turn((), box, points, fields.flag("extra", False), is_whole=False)
    found = [_roll_of(roll) for roll in rolls]
    _check_kept(found)
    return Turn((*found[:-1], Roll(found[-1].dice)), box, is_whole=fields.flag("whole", True))


def _roll_of(said: Mapping[str, Any]) -> Roll:
    """A roll, and what was kept of it if that is known."""
    faces, kept = said.get("dice"), said.get("kept")
    dice = five_dice(faces if isinstance(faces, list | tuple) else (), faces)
    if kept is None:
        return Roll(dice)
    is_dice = isinstance(kept, list | tuple) and all(is_integer(face, 1, len(FACES)) for face in kept)
    if not is_dice or Counter(kept) - Counter(dice):
        raise UsageError(f"kept: expected some of {_digits(dice)}, found {shown(kept)}")
    return Roll(dice, tuple(sorted(kept)))


def _check_kept(rolls: Sequence[Roll]) -> None:
    """Refuse dice that were kept and are not there in the next roll."""
    for roll, then in pairwise(rolls):
        if roll.kept is not None and Counter(roll.kept) - Counter(then.dice):
            raise UsageError(f"{_digits(roll.kept)} were kept, and the next roll is {_digits(then.dice)}")


def _turn(line: str, rules: Rules) -> Turn:
    line = re.sub(r"^\d{1,2}\s*[.:)]\s*", "", line)  # the number of the turn
    is_whole = not line.startswith(UNKNOWN)
    line = line.removeprefix(UNKNOWN).strip()
    if found := POINTS.fullmatch(unquoted(line)):
        if found[3] and int(found[3]) != rules.extra_bonus:
            raise UsageError(f"expected an extra bonus of {rules.extra_bonus}, found {found[3]}")
        return Turn((), find_box(found[1], rules), int(found[2]), bool(found[3]), is_whole=False)
    rolled, quote, box = line.partition('"')
    parts = [part.strip() for part in rolled.split(",")]
    parts[-1] = f"{parts[-1]} {quote}{box}".rstrip()  # what is quoted is the box, commas or not
    if len(parts) > MOST_ROLLS:
        raise UsageError(f"expected at most {MOST_ROLLS} rolls, found {len(parts)}")
    said = [_roll(part) for part in parts]
    if said[-1][1] is None:
        raise UsageError(f"expected a box after the last roll, found {shown(line)}")
    rolls = [*(Roll(dice, _kept(words, dice)) for dice, words in said[:-1]), Roll(said[-1][0])]
    _check_kept(rolls)
    return Turn(tuple(rolls), find_box(unquoted(str(said[-1][1])), rules), is_whole=is_whole)


def _roll(part: str) -> tuple[Keep, str | None]:
    found = ROLL.fullmatch(part)
    if not found:
        raise UsageError(f"expected a roll such as 22256, found {shown(part)}")
    return parse_dice(found[1]), found[2]


def _kept(words: str | None, dice: Keep) -> Keep | None:
    if words is None:
        return None
    kept = parse_keep(words, dice)
    if kept is None:
        raise UsageError(f"expected `keep` and dice after {_digits(dice)}, found {shown(words)}")
    check_kept(kept, dice)
    return kept


def _after(card: Scorecard, turn: Turn) -> Scorecard:
    """The scorecard after a turn; one that the rules do not allow is refused."""
    if turn.rolls:
        return card.play(turn.box, turn.rolls[-1].dice)
    if card.points[turn.box] is not None:
        raise UsageError(f"box: {card.rules.categories[turn.box].name} is used")
    points = list(card.points)
    points[turn.box] = turn.points
    return Scorecard(card.rules, tuple(points), card.bonuses + turn.with_extra)


def _digits(dice: Iterable[int]) -> str:
    return "".join(map(str, dice))


def _kept_in_words(kept: Sequence[int] | None) -> str:
    if kept is None:
        return ""
    return f" keep {'all' if len(kept) == N_DICE else _digits(kept) or 'nothing'}"
