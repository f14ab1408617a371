"""The rest of a game from some state on, as a game of its own.

Its categories are those still free, its upper threshold is what is still missing, and a Yahtzee box that is used is not
among its categories.
So whatever works for a game works for the rest of one: kernels, tables, statistics, the reference implementation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, Fields
from yahtzee_cluster.game.rules import Anchor, Rules


def rest_of(rules: Rules, anchor: Anchor) -> Rules:
    """The rest of a game from an anchor on, at which some category is free.

    >>> rules = yc.load_rules("yahtzee")
    >>> rest = rest_of(rules, yc.Anchor(0b1000000000011, upper=60))
    >>> [category.name for category in rest.categories], rest.upper_threshold
    (['aces', 'deuces', 'chance'], 3)
    """
    if not anchor.free:
        raise UsageError("no box is free: the game is over")
    return rest_or_end(rules, anchor)


def rest_or_end(rules: Rules, anchor: Anchor) -> Rules:
    """The same, or a game without categories where none is free."""
    if rules.whole:
        return rest_or_end(rules.whole, to_whole(rules, anchor))
    if anchor == Anchor(rules.all_free, 0, chip=False):
        return rules
    missing = 0 if anchor.upper is None else max(0, rules.upper_threshold - anchor.upper)
    return dataclasses.replace(
        rules,
        categories=tuple(category for c, category in enumerate(rules.categories) if anchor.free >> c & 1),
        upper_threshold=missing,
        upper_bonus=rules.upper_bonus if missing else 0,
        chip=anchor.chip,
        source="",
        published_mean=None,
        published_std=None,
        published_maxprob=(),
        whole=rules,
        begun=anchor,
    )


def to_whole(rest: Rules, anchor: Anchor) -> Anchor:
    """The anchor of the whole game that an anchor of its rest stands for."""
    whole, begun = rest.whole, rest.begun
    if whole is None or begun is None:
        return anchor
    numbers = [c for c in range(len(whole.categories)) if begun.free >> c & 1]
    free = sum(1 << number for c, number in enumerate(numbers) if anchor.free >> c & 1)
    upper = None if anchor.upper is None or begun.upper is None else begun.upper + anchor.upper
    return Anchor(free, upper, begun.chip or anchor.chip)


def to_rest(rest: Rules, anchor: Anchor) -> Anchor:
    """The anchor of the rest that stands for one of the whole game; UsageError if the game had not come so far."""
    whole, begun = rest.whole, rest.begun
    if whole is None or begun is None:
        return anchor
    chip_is_known = begun.chip or not begun.free & whole.yahtzee_box
    if anchor.free & ~begun.free or (chip_is_known and anchor.chip != begun.chip):
        raise UsageError("the scorecard is none that play can lead to from the one where this table begins")
    numbers = [c for c in range(len(whole.categories)) if begun.free >> c & 1]
    free = sum(1 << c for c, number in enumerate(numbers) if anchor.free >> number & 1)
    upper = None if anchor.upper is None or begun.upper is None else anchor.upper - begun.upper
    if upper is not None and upper < 0:
        raise UsageError(f"upper: the table begins at {begun.upper}, found {anchor.upper}")
    return Anchor(free, upper, anchor.chip and not chip_is_known)


def rest_of_table(whole: Rules, table: object, source: str) -> Rules:
    """The rest of a game from the state that the `from` table of a rule file describes."""
    if not isinstance(table, Mapping):
        raise Fields({"from": table}, source, known=("from",)).error("from", "expected a table", table)
    fields = Fields(table, source, known=("used", "upper", "chip"), prefix="from: ")
    names = [category.name for category in whole.categories]
    used: Any = table.get("used", [])
    if not isinstance(used, list) or len({*map(str, used)}) < len(used) or not {*map(str, used)} < {*names}:
        raise fields.error("used", "expected the names of some categories, but not of all", used)
    free = sum(1 << c for c, name in enumerate(names) if name not in used)
    anchor = Anchor(free, fields.integer("upper", None, low=0, high=MAX_COUNT), fields.flag("chip", False))
    if anchor.chip and (free & whole.yahtzee_box or not whole.has_chip):
        raise fields.error("chip", "expected only with a used Yahtzee box that matters", True)
    return rest_of(whole, anchor)
