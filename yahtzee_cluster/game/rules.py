"""The game as data: categories and their points, bonuses, and what a joker may do.

A rule set is an immutable value, read from TOML.
The presets are files in the same format as a user's own, so a user can express whatever a preset does.
This is the only module that the fast program and the reference implementation (`reference.py`) share.
It defines the game one roll at a time, and prefers clarity to speed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

from yahtzee_cluster.errors import FileError
from yahtzee_cluster.fields import Fields, check_name_or_file, is_integer, parse_toml, read_toml
from yahtzee_cluster.game.dice import FACES, N_DICE, Keep
from yahtzee_cluster.text import short, suggestion

MAX_CATEGORIES = 16
MAX_POINTS = 1000

Joker = Literal["none", "free", "forced"]
Points = int | Literal["sum", "matching"]

_PRESETS = resources.files("yahtzee_cluster") / "game" / "presets"


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
    upper: int
    """What is added to the upper total."""
    chip: bool
    """Whether the Yahtzee box holds points afterwards."""


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

    @property
    def table(self) -> dict[str, Any]:
        """The game in the terms of a rule file, without its source and published results."""
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
        extra = self.extra_bonus if again and chip else 0
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


# ------------------------------------------------------------------------------------------------ reading


def preset_names() -> list[str]:
    """The names of the built-in rule sets, the default first."""
    names = (Path(entry.name).stem for entry in _PRESETS.iterdir() if entry.name.endswith(".toml"))
    return sorted(names, key=lambda name: (name != "yahtzee", name))


def preset_text(name: str) -> str:
    """A built-in rule set as TOML."""
    if name not in preset_names():
        raise FileError(name, f"no such rule set; {suggestion(name, preset_names())}")
    return (_PRESETS / f"{name}.toml").read_text(encoding="utf-8")


def template(name: str) -> str:
    """A built-in rule set as TOML, ready to edit: without its source and published results."""
    lines = preset_text(name).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("source ", "published_")))


def load_rules(name_or_file: str) -> Rules:
    """The built-in rule set of this name, or the rule set in this TOML file.

    Raises `FileError` if there is none, or if the file is not a rule set.

    >>> yc.load_rules("kniffel").upper_bonus
    35
    """
    if name_or_file in preset_names():
        return parse_rules(preset_text(name_or_file), source=name_or_file)
    check_name_or_file(name_or_file, preset_names(), "rule set")
    return rules_of(read_toml(name_or_file), name_or_file)


def parse_rules(text: str, source: str) -> Rules:
    """Read a rule set from TOML text; `source` names it in error messages."""
    return rules_of(parse_toml(text, source), source)


def as_published(rules: Rules) -> Rules:
    """The built-in rule set of the same name if it is the same game, for its published results; else these rules."""
    known = load_rules(rules.name) if rules.name in preset_names() else rules
    return known if known.table == rules.table else rules


def rules_of(table: Mapping[str, Any], source: str) -> Rules:
    """The rule set that a parsed rule file describes; `source` names it in error messages."""
    fields = Fields(table, source, known=_GAME_FIELDS)
    rules = Rules(
        name=fields.text("name"),
        categories=_categories(fields),
        upper_threshold=fields.integer("upper_threshold", 0, low=1, high=MAX_POINTS),
        upper_bonus=fields.integer("upper_bonus", 0, low=1, high=MAX_POINTS),
        extra_bonus=fields.integer("extra_bonus", 0, low=0, high=MAX_POINTS),
        joker=fields.choice("joker", get_args(Joker), "none"),
        yahtzee=fields.optional_text("yahtzee"),
        source=fields.optional_text("source") or "",
        published_mean=fields.optional_text("published_mean"),
        published_std=fields.optional_text("published_std"),
        published_maxprob=fields.texts_of_numbers("published_maxprob"),
    )
    _check_bonuses(rules, fields)
    return rules


def _categories(fields: Fields) -> tuple[Category, ...]:
    tables = fields.table.get("category")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise fields.error("category", f"expected 1 to {MAX_CATEGORIES} [[category]] tables", tables)
    if not 1 <= len(tables) <= MAX_CATEGORIES:
        raise fields.error("category", f"expected 1 to {MAX_CATEGORIES} [[category]] tables", len(tables))
    categories: list[Category] = []
    for number, table in enumerate(tables, start=1):
        category = _category(table, fields.source, number)
        if category.name in (other.name for other in categories):
            raise fields.error(f"category {number}: name", "expected a name not used before", category.name)
        categories.append(category)
    return tuple(categories)


def _category(table: Mapping[str, Any], source: str, number: int) -> Category:
    name = table.get("name")
    prefix = f"category {short(name) if isinstance(name, str) else number}: "
    fields = Fields(table, source, known=_CATEGORY_FIELDS, prefix=prefix)
    patterns = [key for key in ("face", "groups", "run", "faces") if key in fields.table]
    if len(patterns) > 1:
        raise fields.error(
            patterns[1], f"expected at most one pattern, besides {patterns[0]}", fields.table[patterns[1]]
        )
    category = Category(
        name=fields.text("name"),
        points=_points(fields, patterns),
        face=fields.integer("face", None, low=1, high=max(FACES)),
        groups=fields.integers("groups", low=2, high=N_DICE),
        distinct=fields.flag("distinct", True),
        run=fields.integer("run", None, low=2, high=N_DICE),
        faces=fields.integers("faces", low=1, high=max(FACES)),
        joker=fields.flag("joker", False),
    )
    if sum(category.groups) > N_DICE:
        raise fields.error("groups", f"expected groups of at most {N_DICE} dice together", list(category.groups))
    if len(set(category.faces)) < len(category.faces) or len(category.faces) > N_DICE:
        raise fields.error("faces", f"expected up to {N_DICE} faces, each once", list(category.faces))
    if not category.distinct and not category.groups:
        raise fields.error("distinct", "expected only beside groups", False)
    if category.joker and not isinstance(category.points, int):
        raise fields.error("joker", "expected only beside a fixed number of points", True)
    return category


def _points(fields: Fields, patterns: list[str]) -> Points:
    value: Points = fields.table.get("points", "matching" if patterns == ["face"] else None)
    words = {"face": ["matching"], "groups": ["sum", "matching"]}.get("".join(patterns), ["sum"])
    if value in words or (patterns != ["face"] and is_integer(value, 0, MAX_POINTS)):
        return value
    expected = "expected " + " or ".join(f'"{word}"' for word in words)
    if patterns != ["face"]:
        expected += f" or a whole number from 0 to {MAX_POINTS}"
    raise fields.error("points", expected, value)


def _check_bonuses(rules: Rules, fields: Fields) -> None:
    if bool(rules.upper_bonus) != bool(rules.upper_threshold):
        missing = "upper_threshold" if rules.upper_bonus else "upper_bonus"
        raise fields.error(missing, "expected upper_threshold and upper_bonus both or neither", None)
    most = N_DICE * sum(category.face or 0 for category in rules.categories)
    if rules.upper_threshold > most:
        expected = f"expected at most {most}, what the face categories can bring together"
        raise fields.error("upper_threshold", expected, rules.upper_threshold)
    names = [category.name for category in rules.categories]
    if rules.yahtzee is not None:
        if rules.yahtzee not in names:
            raise fields.error("yahtzee", "expected the name of a category", rules.yahtzee)
        if rules.categories[names.index(rules.yahtzee)].groups != (N_DICE,):
            raise fields.error("yahtzee", f"expected a category with groups = [{N_DICE}]", rules.yahtzee)
    elif rules.extra_bonus or rules.joker != "none":
        raise fields.error("yahtzee", "expected the name of the Yahtzee category, for extra_bonus and joker", None)


def _set_fields(instance: Category | Rules) -> dict[str, Any]:
    """The fields of a rule set or category that differ from their defaults, with lists for tuples as in TOML."""
    values = {
        field.name: getattr(instance, field.name)
        for field in dataclasses.fields(instance)
        if field.name != "categories" and getattr(instance, field.name) != field.default
    }
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


_CATEGORY_FIELDS = tuple(field.name for field in dataclasses.fields(Category))
_GAME_FIELDS = ("category", *(field.name for field in dataclasses.fields(Rules) if field.name != "categories"))
