"""A scorecard as it lies on the table: upper boxes left, the others right, with subtotals."""

from __future__ import annotations

from itertools import zip_longest

from yahtzee_cluster.game.scorecard import Scorecard
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
