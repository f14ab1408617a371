"""The game as data: categories and their points, bonuses, and what a joker may do.

A rule set is an immutable value; `rule_files.py` reads it from TOML.
This is the only module that the fast program and the reference implementation (`reference.py`) share.
It defines the game one roll at a time, and prefers clarity to speed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from itertools import product
from typing import Any, Literal

from yahtzee_cluster.game.dice import FACES, Keep

MAX_CATEGORIES = 16
Joker = Literal["none", "free", "forced"]
Points = int | Literal["sum", "matching"]


@dataclasses.dataclass(frozen=True)
class Category:
    """A box of the scorecard: which rolls it accepts, and what these score; any other roll scores zero.

    At most one of `face`, `groups`, `run` and `faces` is given; without any of them, every roll is accepted.
    """

    name: str
    points: Points
    face: int | None = None
    """Accepts dice of this face, and adds their sum to the upper total."""
    groups: tuple[int, ...] = ()
    """Accepts groups of equal dice, of these sizes: (3, 2) is a full house."""
    distinct: bool = True
    """Whether the groups must show different faces."""
    run: int | None = None
    """Accepts this number of consecutive faces."""
    faces: tuple[int, ...] = ()
    """Accepts rolls that show each of these faces."""
    joker: bool = False
    """Whether a joker scores here in full."""

    def score(self, roll: Keep, joker: bool = False) -> int:
        """The points that a roll scores here, ordinarily or as a joker, without bonuses."""
        if joker and self.joker:
            assert isinstance(self.points, int)
            return self.points
        matching = self._matching(roll)
        if matching is None:
            return 0
        if self.points == "matching":
            return matching
        return sum(roll) if self.points == "sum" else self.points

    def _matching(self, roll: Keep) -> int | None:
        """The highest sum of dice that match the pattern; None if the roll does not match it."""
        if self.face is not None:
            return self.face * roll.count(self.face)
        if self.groups:
            return max(
                (
                    sum(size * face for size, face in zip(self.groups, faces, strict=True))
                    for faces in product(sorted(set(roll)), repeat=len(self.groups))
                    if self._grouped(roll, faces)
                ),
                default=None,
            )
        wanted = [self.faces] if self.faces else _runs(self.run) if self.run else [()]
        return sum(roll) if any(set(faces) <= set(roll) for faces in wanted) else None

    def _grouped(self, roll: Keep, faces: tuple[int, ...]) -> bool:
        if self.distinct and len(set(faces)) < len(faces):
            return False
        needed = dict.fromkeys(faces, 0)
        for size, face in zip(self.groups, faces, strict=True):
            needed[face] += size
        return all(roll.count(face) >= n for face, n in needed.items())


def _runs(length: int) -> list[tuple[int, ...]]:
    return [tuple(range(first, first + length)) for first in range(1, len(FACES) + 2 - length)]


@dataclasses.dataclass(frozen=True)
class Play:
    """A legal way to score a roll, and its effect on the state."""

    category: int
    points: int
    """Including the extra bonus, without the upper bonus."""
    extra: int
    """The extra bonus included in the points."""
    upper: int
    """What is added to the upper total."""
    chip: bool
    """Whether the Yahtzee box holds points afterwards."""


@dataclasses.dataclass(frozen=True)
class Anchor:
    """A state between turns; `upper` is None where the bonus is decided, that is, won or out of reach.

    `free` is the set of free categories, as in `Rules`; `chip` says whether the Yahtzee box holds points.

    >>> rules = yc.load_rules("yahtzee")
    >>> yc.Anchor(rules.all_free, upper=0, chip=False)  # the start of a game
    Anchor(free=8191, upper=0, chip=False)
    """

    free: int
    upper: int | None
    chip: bool = False


@dataclasses.dataclass(frozen=True)
class Rules:
    """A game of five dice. A set of free categories is an integer: bit c stands for `categories[c]`.

    >>> rules = yc.load_rules("yacht")
    >>> [category.name for category in rules.categories][-2:]
    ['yacht', 'chance']
    >>> f"{rules.all_free:b}"
    '111111111111'
    """

    name: str
    categories: tuple[Category, ...]
    upper_threshold: int = 0
    upper_bonus: int = 0
    extra_bonus: int = 0
    joker: Joker = "none"
    yahtzee: str | None = None
    source: str = ""
    published_mean: str | None = None
    published_std: str | None = None
    published_maxprob: tuple[tuple[int, str], ...] = ()
    """Scores, and the highest probability of reaching each, in percent."""
    chip: bool = False
    """Whether the Yahtzee box held points before this game began, as it may in the rest of another one."""
    whole: Rules | None = None
    """The game of which this one is the rest, see `rest.py`; its numbers of categories differ from those here."""
    begun: Anchor | None = None
    """The anchor of the whole game at which the rest begins."""

    @property
    def table(self) -> dict[str, Any]:
        """The game in the terms of a rule file, without its source and published results."""
        if self.whole and self.begun:
            return {**self.whole.table, "from": _begun_table(self.whole, self.begun)}
        fields = {"category": [_set_fields(category) for category in self.categories], **_set_fields(self)}
        return {key: value for key, value in fields.items() if key != "source" and not key.startswith("published_")}

    @property
    def all_free(self) -> int:
        """The set of all categories: an empty scorecard."""
        return (1 << len(self.categories)) - 1

    @property
    def yahtzee_box(self) -> int:
        """The Yahtzee category as a set of one, or the empty set if the rules name none."""
        return self._set_of(lambda category: category.name == self.yahtzee)

    @property
    def lower_boxes(self) -> int:
        """The set of categories without a face."""
        return self._set_of(lambda category: category.face is None)

    def boxes_of(self, face: int) -> int:
        """The set of upper categories of one face."""
        return self._set_of(lambda category: category.face == face)

    @cached_property
    def has_chip(self) -> bool:
        """Whether the Yahtzee box can be filled with points, and later scores depend on it."""
        return self.extra_bonus > 0 and any(c.name == self.yahtzee and c.points != 0 for c in self.categories)

    def plays(self, free: int, chip: bool, roll: Keep) -> list[Play]:
        """Every legal way to score a roll, in the order of the categories."""
        again = len(set(roll)) == 1 and self.yahtzee is not None and not free & self.yahtzee_box
        extra = self.extra_bonus if again and (chip or self.chip) else 0
        joker = False
        legal = free
        if again and self.joker != "none":
            own = free & self.boxes_of(roll[0])
            joker = not own
            if self.joker == "forced":
                legal = own or free & self.lower_boxes or free
        plays = []
        for index, category in enumerate(self.categories):
            if not legal >> index & 1:
                continue
            points = category.score(roll, joker)
            plays.append(
                Play(
                    category=index,
                    points=points + extra,
                    extra=extra,
                    upper=points if category.face is not None else 0,
                    chip=self.has_chip and (chip or (category.name == self.yahtzee and points > 0)),
                )
            )
        return plays

    def upper_bonus_for(self, upper: int, gained: int) -> int:
        """The bonus paid when an upper total grows from `upper` by `gained`: once, when it crosses the threshold."""
        return self.upper_bonus if upper < self.upper_threshold <= upper + gained else 0

    def _set_of(self, belongs: Callable[[Category], bool]) -> int:
        return sum(1 << index for index, category in enumerate(self.categories) if belongs(category))


def _begun_table(whole: Rules, begun: Anchor) -> dict[str, Any]:
    """The anchor where the rest of a game begins, in the terms of a rule file."""
    used = [category.name for c, category in enumerate(whole.categories) if not begun.free >> c & 1]
    upper = {} if begun.upper is None else {"upper": begun.upper}
    return {"used": used, **upper, **({"chip": True} if begun.chip else {})}


def _set_fields(instance: Category | Rules) -> dict[str, Any]:
    """The fields of a rule set or category that differ from their defaults, with lists for tuples as in TOML."""
    values = {
        field.name: getattr(instance, field.name)
        for field in dataclasses.fields(instance)
        if field.name != "categories" and getattr(instance, field.name) != field.default
    }
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
