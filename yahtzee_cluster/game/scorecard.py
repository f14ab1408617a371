"""A scorecard as people write it: `aces=3,full-house=25,yahtzee=50,bonus=100`.

Boxes that are not named are free.
`bonus` stands for the points of all extra bonuses; the upper bonus is not written, because it follows from the upper
boxes.
A scorecard is always that of a whole game, also where the rules are those of the rest of one (`rest.py`).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, MAX_TEXT, is_integer, whole_number
from yahtzee_cluster.game.dice import N_DICE
from yahtzee_cluster.game.notation import find_box, five_dice, plain, quoted
from yahtzee_cluster.game.possible_scores import boxes_with_bonus, possible_points
from yahtzee_cluster.game.rest import to_rest
from yahtzee_cluster.game.rules import Anchor, Play, Rules
from yahtzee_cluster.text import shown


@dataclass(frozen=True, repr=False)
class Scorecard:
    """The points in every box, and the number of extra bonuses. Only a scorecard that some game has can be made.

    >>> rules = yc.load_rules("yahtzee")
    >>> card = yc.parse_scorecard("6=30, 3k=20, yahtzee=50, bonus=100", rules)
    >>> card
    Scorecard('yahtzee', 'sixes=30,three-of-a-kind=20,yahtzee=50,bonus=100')
    >>> card.score, card.anchor.upper, card.anchor.chip
    (200, 30, True)
    >>> card.play(0, (1, 1, 1, 1, 1)).text
    'aces=5,sixes=30,three-of-a-kind=20,yahtzee=50,bonus=200'
    >>> yc.Scorecard.of(rules, {"full-house": 24})
    Traceback (most recent call last):
    yahtzee_cluster.errors.UsageError: full-house: no roll scores 24 there; it can hold 0 or 25
    """

    rules: Rules
    points: tuple[int | None, ...]
    """By category, without bonuses; None in a free box."""
    bonuses: int = 0
    """How many extra bonuses have been paid."""

    @classmethod
    def of(cls, rules: Rules, points: Mapping[str, int]) -> Scorecard:
        """The scorecard with these points by the names of boxes, and those of all extra bonuses as `bonus`."""
        return _scorecard(rules, points.items())

    def __post_init__(self) -> None:
        categories = self.rules.categories
        if self.rules.whole or len(self.points) != len(categories):
            raise UsageError(f"points: expected one entry for each box of a whole game, found {shown(self.points)}")
        for category, points in zip(categories, self.points, strict=True):
            if points is not None and points not in (possible := possible_points(category)):
                raise UsageError(f"{category.name}: no roll scores {points} there; it can hold {_any_of(possible)}")
        if self.bonuses:
            self._check_bonuses()

    def __repr__(self) -> str:
        return f"Scorecard({self.rules.name!r}, {self.text!r})"

    @property
    def upper(self) -> int:
        """The points in the upper boxes, without the bonus."""
        boxes = zip(self.rules.categories, self.points, strict=True)
        return sum(points or 0 for category, points in boxes if category.face is not None)

    @cached_property
    def anchor(self) -> Anchor:
        """The state that the rest of the game depends on, with the points in all upper boxes as its upper total."""
        free = sum(1 << box for box, points in enumerate(self.points) if points is None)
        return Anchor(free, self.upper, self.rules.has_chip and bool(self.points[self._yahtzee]))

    @property
    def score(self) -> int:
        """All points so far, bonuses included."""
        held = sum(points for points in self.points if points is not None)
        return held + self.rules.upper_bonus_for(0, self.upper) + self.bonuses * self.rules.extra_bonus

    def as_dict(self) -> dict[str, int]:
        """The points by the names of boxes, and those of all extra bonuses if there are any."""
        boxes = zip(self.rules.categories, self.points, strict=True)
        held = {category.name: points for category, points in boxes if points is not None}
        return held | ({bonus_name(self.rules): self.bonuses * self.rules.extra_bonus} if self.bonuses else {})

    @property
    def text(self) -> str:
        """The scorecard in the form that `parse_scorecard` reads."""
        return ",".join(quoted(f"{name}={points}", ",#") for name, points in self.as_dict().items())

    def play(self, category: int, roll: Sequence[int]) -> Scorecard:
        """The scorecard after five dice are scored in a box; a play that the rules do not allow is refused."""
        play = legal_play(self.rules, self.anchor, roll, category)
        points = list(self.points)
        points[category] = play.points - play.extra
        return Scorecard(self.rules, tuple(points), self.bonuses + (play.extra > 0))

    def and_then(self, text: str) -> Scorecard:
        """The scorecard after more boxes were filled, such as `full-house=25`; extra bonuses are all that were paid.

        >>> card = yc.parse_scorecard("6=30, yahtzee=50, bonus=100", yc.load_rules("yahtzee"))
        >>> card.and_then("aces=5, bonus=200").as_dict()
        {'aces': 5, 'sixes': 30, 'yahtzee': 50, 'bonus': 200}
        """
        entries, find = _entries(text), _finder(self.rules)
        named = {find(name) for name, _ in entries}
        held = self.as_dict().items()
        kept = [(name, points) for name, points in held if name != bonus_name(self.rules) or find(name) not in named]
        return _scorecard(self.rules, [*kept, *entries])

    def since(self, rest: Rules) -> tuple[Anchor, int | None]:
        """The anchor of this scorecard in the rest of its game, and the score since that began.

        The score is None if nothing tells which extra bonuses were paid before.
        Of a whole game, both are those of the scorecard itself.
        """
        begun = rest.begun
        if begun is None:
            return self.anchor, self.score
        anchor = to_rest(rest, self.anchor)
        boxes = enumerate(self.points)
        before = Scorecard(self.rules, tuple(None if begun.free >> box & 1 else points for box, points in boxes))
        most = before.upper + sum(N_DICE * (category.face or 0) for category in rest.categories)
        undecided = before.upper < self.rules.upper_threshold <= most
        if undecided if begun.upper is None else before.upper != begun.upper:
            raise UsageError("upper: this table begins with other points in the upper boxes")
        return anchor, None if begun.chip and self.bonuses else self.score - before.score

    @property
    def _yahtzee(self) -> int:
        """The category that the extra bonus depends on."""
        return self.rules.yahtzee_box.bit_length() - 1

    def _check_bonuses(self) -> None:
        """Refuse extra bonuses that no game pays with these points."""
        rules, name = self.rules, self.rules.yahtzee
        paid = self.bonuses * (rules.extra_bonus or 1)
        if not rules.has_chip:
            raise _bonus_error(rules, paid, "this game pays no extra bonus")
        if not self.anchor.chip:
            filled = "is free" if self.points[self._yahtzee] is None else "holds 0"
            raise _bonus_error(rules, paid, f"it is paid only after {name} has brought points, and {name} {filled}")
        boxes = [rules.categories[box].name for box in boxes_with_bonus(rules, self.points)]
        if not 0 <= self.bonuses <= len(boxes):
            most, where = len(boxes) * rules.extra_bonus, f"only {', '.join(boxes)}" if boxes else "no other box"
            because = f"because further Yahtzees can have filled {where}"
            raise _bonus_error(rules, paid, f"expected at most {most}, {because}; found {paid}")


def parse_scorecard(text: str, rules: Rules) -> Scorecard:
    """The scorecard that a text such as `aces=3,full-house=25,bonus=100` describes; nothing stands for an empty one.

    As in a CSV file, an entry with a comma in the name of its box stands in double quotes.

    >>> yc.parse_scorecard("fh=25, yahtzee=50", yc.load_rules("yahtzee")).as_dict()
    {'full-house': 25, 'yahtzee': 50}
    """
    return _scorecard(rules, _entries(text))


def _entries(text: str) -> list[tuple[str, int | str]]:
    """The entries of a text, each a name and points."""
    try:
        return [*map(_entry, next(csv.reader([text], strict=True)))] if text.strip() else []
    except csv.Error:
        raise _no_entry(text) from None


def _entry(text: str) -> tuple[str, int | str]:
    name, equals, points = text.rpartition("=")
    if not equals:
        raise _no_entry(text)
    number = whole_number(points.strip())
    return name, points.strip() if number is None else number


def _no_entry(text: str) -> UsageError:
    return UsageError(f"expected entries such as chance=20, separated by commas, found {shown(text.strip())}")


def _scorecard(rules: Rules, entries: Iterable[tuple[str, Any]]) -> Scorecard:
    """The scorecard with these points by the names of boxes."""
    rules = rules.whole or rules
    find = _finder(rules)
    names = [*(category.name for category in rules.categories), bonus_name(rules)]
    held: list[int | None] = [None] * len(names)
    for name, points in entries:
        place = find(name)
        if held[place] is not None:
            raise UsageError(f"{names[place]} is named twice")
        if not is_integer(points, 0, MAX_COUNT):
            expected = f"expected a whole number from 0 to {MAX_COUNT}"
            raise UsageError(f"{names[place]}: {expected}, found {shown(points)}")
        held[place] = points
    boxes, bonus = held[:-1], held[-1] or 0
    bonuses, left = divmod(bonus, rules.extra_bonus or 1)
    if left:
        raise _bonus_error(rules, bonus, f"expected a multiple of {rules.extra_bonus}, found {bonus}")
    return Scorecard(rules, tuple(boxes), bonuses)


@lru_cache(maxsize=64)
def _finder(rules: Rules) -> Callable[[str], int]:
    """The function that finds a box by its name; for the name of the extra bonus it gives the number of all boxes."""
    bonus = bonus_name(rules)
    beside = [bonus] if rules.has_chip else []

    @lru_cache(maxsize=256)
    def find(name: str) -> int:
        if not isinstance(name, str) or len(name) > MAX_TEXT:  # what is remembered is bounded
            raise UsageError(f"box: expected a name, found {shown(name)}")
        return len(rules.categories) if plain(name) == plain(bonus) else find_box(name, rules, beside)

    return find


@lru_cache(maxsize=64)
def bonus_name(rules: Rules) -> str:
    """What the extra bonuses are called on a scorecard: `bonus`, or `extra-bonus` if a box is called so."""
    name = "bonus"
    while plain(name) in (plain(category.name) for category in rules.categories):
        name = f"extra-{name}"
    return name


def _bonus_error(rules: Rules, points: int, reason: str) -> UsageError:
    """The refusal of points for extra bonuses; if the upper bonus seems to be among them, it says so."""
    upper = rules.upper_bonus
    is_among = 0 < upper <= points and (points - upper) % (rules.extra_bonus or 1) == 0
    beside = f"; the upper bonus of {upper} is not written, because it follows from the upper boxes"
    return UsageError(f"{bonus_name(rules)}: {reason}{beside if is_among else ''}")


def _any_of(numbers: Iterable[int]) -> str:
    """Numbers in ascending order, in words: `0, 5 to 30 or 40`."""
    runs = groupby(enumerate(sorted(numbers)), key=lambda at: at[1] - at[0])
    words: list[str] = []
    for run in ([number for _, number in run] for _, run in runs):
        words += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run)
    return " or ".join(", ".join(some) for some in (words[:-1], words[-1:]) if some)


def legal_play(rules: Rules, anchor: Anchor, roll: Sequence[int], category: int) -> Play:
    """The play of five dice in a box; what the rules do not allow is refused."""
    if not is_integer(category, 0, len(rules.categories) - 1):
        raise UsageError(f"box: expected 0 to {len(rules.categories) - 1}, found {shown(category)}")
    name = rules.categories[category].name
    if not anchor.free >> category & 1:
        raise UsageError(f"box: {name} is used")
    for play in rules.plays(anchor.free, anchor.chip, five_dice(roll)):
        if play.category == category:
            return play
    raise UsageError(f"box: {name} is not open to this roll while another box has to take it")
