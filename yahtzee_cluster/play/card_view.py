"""A scorecard as it lies on the table, with subtotals: in two columns, or as JSON."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from yahtzee_cluster.game.dice import Keep
from yahtzee_cluster.game.scorecard import Scorecard, bonus_name
from yahtzee_cluster.text import short

NAME = 16
FREE = "."
"""Stands in a free box."""


def in_columns(card: Scorecard) -> list[str]:
    """The scorecard in two columns, with what is missing for the upper bonus."""
    rules = card.rules
    boxes = list(zip(rules.categories, card.points, strict=True))
    left = [_row(box.name, points) for box, points in boxes if box.face is not None]
    right = [_row(box.name, points) for box, points in boxes if box.face is None]
    if rules.upper_bonus:
        paid = rules.upper_bonus_for(0, card.upper)
        left += [_row("upper boxes", card.upper), _row("upper bonus", paid or None)]
        missing = rules.upper_threshold - card.upper
        if missing > 0:
            left[-1] += f"  ({missing} missing)"
    if rules.has_chip:
        right.append(_row("extra bonuses", card.bonuses * rules.extra_bonus))
    width = max(map(len, left), default=0)
    rows = [f"{one:{width}}    {other}".rstrip() for one, other in zip_longest(left, right, fillvalue="")]
    return [*(row.strip() if not left else row for row in rows), _row("total", card.score)]


def as_rows(card: Scorecard, roll: Keep | None = None) -> dict[str, Any]:
    """The scorecard with its subtotals, and what a roll would bring in each box that is open to it, ready for JSON."""
    rules = card.rules
    plays = rules.plays(card.anchor.free, card.anchor.chip, roll) if roll else []
    open_to = {play.category: play for play in plays}
    rows = []
    for number, (box, points) in enumerate(zip(rules.categories, card.points, strict=True)):
        row: dict[str, Any] = {"name": box.name, "face": box.face, "points": points, "would": None}
        if play := open_to.get(number):
            bonus = rules.upper_bonus_for(card.upper, play.upper)
            row["would"] = {"points": play.points - play.extra, "extra": play.extra, "upper_bonus": bonus}
        rows.append(row)
    return {
        "rules": rules.name,
        "rows": rows,
        "upper": card.upper,
        "upper_threshold": rules.upper_threshold,
        "upper_bonus": rules.upper_bonus,
        "upper_bonus_paid": rules.upper_bonus_for(0, card.upper),
        "extra": card.bonuses * rules.extra_bonus if rules.has_chip else None,
        "extra_name": bonus_name(rules),
        "total": card.score,
        "over": not card.anchor.free,
    }


def paid_in_words(before: Scorecard, after: Scorecard, category: int) -> str:
    """What a box brought, with each bonus apart."""
    rules = after.rules
    told = f"{rules.categories[category].name}: {after.points[category]} points"
    if after.bonuses > before.bonuses:
        told += f", and {rules.extra_bonus} for a further {rules.yahtzee}"
    if bonus := rules.upper_bonus_for(before.upper, after.upper - before.upper):
        told += f", and {bonus} upper bonus"
    return told


def _row(name: str, points: int | None) -> str:
    return f"{short(name, NAME):{NAME}} {FREE if points is None else points:>5}"
