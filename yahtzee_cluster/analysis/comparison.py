"""The comparison of two strategies, as text and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from yahtzee_cluster.analysis.forward import Comparison, Costly
from yahtzee_cluster.game.notation import names_of, words_of
from yahtzee_cluster.game.rules import Rules

STAGES = ("first keep", "second keep", "box")


Both = tuple[Comparison, Comparison]
"""Playing for the highest mean, and playing for a target; each judged by the other."""


def facts(target: int, both: Both, rules: Rules) -> dict[str, Any]:
    """The comparison as JSON; in pairs, playing for the mean comes first, then playing for the target."""
    return {
        "rules": rules.name,
        "for": target,
        "p": [_reached(one, target) for one in both],
        "mean": [one.played.moments[0] for one in both],
        "by_mean": _facts(both[0], rules),
        "by_target": _facts(both[1], rules),
    }


@dataclass(frozen=True)
class Account:
    """The cost of one strategy by the objective of the other, as text for any layout."""

    summary: tuple[str, ...]
    unit: str
    """The unit after every cost: a percent sign, or nothing for points."""
    heading: tuple[str, ...]
    turns: list[tuple[str, ...]]
    """A row for each turn, and one for all: the share of decisions that differ in each stage, and the cost."""
    costliest: list[tuple[str, str]]
    """Pairs of a cost and the position it arises in."""


def accounts(target: int, both: Both, rules: Rules) -> tuple[Account, Account]:
    """Two accounts: what playing for the highest mean costs in probability, and playing for the target in points."""
    by_mean, by_target = both
    return (
        _account(
            f"Played for the highest expected score, judged by the chance of at least {target} points:",
            f"{100 * _reached(by_mean, target):.6g} % reach them, {100 * _reached(by_target, target):.6g} % could;",
            comparison=by_mean,
            rules=rules,
            unit=" %",
            scale=100,
        ),
        _account(
            f"Played for at least {target} points, judged by the expected score:",
            f"{by_target.played.moments[0]:.4f} on average, where {by_mean.played.moments[0]:.4f} could be had;",
            comparison=by_target,
            rules=rules,
            unit="",
            scale=1,
        ),
    )


def words(target: int, both: Both, rules: Rules) -> str:
    """Both accounts, as text for a terminal."""
    by_mean, by_target = accounts(target, both, rules)
    return "\n".join([*_lines(by_mean), "", *_lines(by_target)])


def _lines(account: Account) -> list[str]:
    width = 10 + len(account.unit)
    table = [
        "  ".join([f"{turn:>4}", *(f"{share:>11}" for share in shares), f"{cost:>{width}}"])
        for turn, *shares, cost in (account.heading, *account.turns)
    ]
    costliest = [f"{cost:>{width}}  {where}" for cost, where in account.costliest]
    return [*account.summary, "", *table, "", "costliest:", *costliest]


def _reached(comparison: Comparison, target: int) -> float:
    curve = comparison.played.curve
    return float(curve[target]) if target < len(curve) else 0.0


def _facts(comparison: Comparison, rules: Rules) -> dict[str, Any]:
    return {
        "decisions": comparison.taken.tolist(),
        "otherwise": comparison.otherwise.tolist(),
        "cost": comparison.cost.tolist(),
        "costliest": [
            {
                "cost": one.cost,
                "used": names_of(rules.all_free & ~one.anchor.free, rules),
                "upper": one.anchor.upper,
                "chip": one.anchor.chip,
                "need": one.need,
                "stage": STAGES[one.stage],
                "dice": one.roll,
                "decided": one.decided,
                "other": one.other,
            }
            for one in comparison.costliest
        ],
    }


def _account(*summary: str, comparison: Comparison, rules: Rules, unit: str, scale: float) -> Account:
    """The share of decisions that the other strategy makes differently, turn by turn, and their cost."""
    taken, otherwise, cost = comparison.taken, comparison.otherwise, scale * comparison.cost
    share = _share(otherwise.sum(), taken.sum())
    rows = [(str(turn + 1), taken[turn], otherwise[turn], cost[turn]) for turn in range(len(taken))]
    rows.append(("all", taken.sum(axis=0), otherwise.sum(axis=0), cost))
    return Account(
        (*summary, f"of {taken.sum():.2f} decisions a game, {share} would be taken otherwise"),
        unit,
        ("turn", *STAGES, f"cost{unit}"),
        [(name, *map(_share, parts, wholes), f"{costs.sum():.4f}{unit}") for name, wholes, parts, costs in rows],
        [(f"{scale * one.cost:.6f}{unit}", _where(one, rules)) for one in comparison.costliest],
    )


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "-"


def _where(one: Costly, rules: Rules) -> str:
    words = [words_of(what) if isinstance(what, tuple) else what for what in (one.decided, one.other)]
    used = ", ".join(names_of(rules.all_free & ~one.anchor.free, rules)) or "nothing"
    upper = "" if one.anchor.upper is None else f", upper {one.anchor.upper}"
    chip = ", chip" if one.anchor.chip else ""
    dice = " ".join(map(str, one.roll))
    return f"used {used}{upper}{chip}; need {one.need}; {STAGES[one.stage]} of {dice}: {words[0]}, not {words[1]}"
