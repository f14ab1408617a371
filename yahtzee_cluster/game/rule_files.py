"""Reading rule sets: TOML files of users, and the presets, which are files in the same format."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, get_args

from yahtzee_cluster.errors import FileError
from yahtzee_cluster.fields import Fields, check_name_or_file, is_integer, parse_toml, read_toml
from yahtzee_cluster.game.dice import FACES, N_DICE
from yahtzee_cluster.game.rest import rest_of_table
from yahtzee_cluster.game.rules import MAX_CATEGORIES, Category, Joker, Points, Rules
from yahtzee_cluster.text import short, suggestion

MAX_POINTS = 1000

_PRESETS = resources.files("yahtzee_cluster") / "game" / "presets"
_CATEGORY_FIELDS = tuple(field.name for field in dataclasses.fields(Category))
_OF_THE_REST = {"chip", "whole", "begun"}
_GAME_FIELDS = tuple(
    field.name for field in dataclasses.fields(Rules) if field.name not in {"categories", *_OF_THE_REST}
)


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
    fields = Fields(table, source, known=("category", *_GAME_FIELDS, "from"))
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
    return rest_of_table(rules, table["from"], source) if "from" in table else rules


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
