"""What it says of two strategies that they decide alike, or not: a comparison in words, and as JSON."""

from __future__ import annotations

from typing import Any

from yahtzee_cluster.advice import words_of
from yahtzee_cluster.games import Comparison, Costly
from yahtzee_cluster.rules import Rules
from yahtzee_cluster.spoken import names_of

STAGES = ("first keep", "second keep", "box")


Both = tuple[Comparison, Comparison]
"""Who plays for the highest mean, and who plays for a target; each judged by the other."""


def facts(target: int, both: Both, rules: Rules) -> dict[str, Any]:
    """Everything that was found, in terms of JSON; pairs are of who plays for the mean, and for the target."""
    return {
        "rules": rules.name,
        "for": target,
        "p": [_reached(one, target) for one in both],
        "mean": [one.played.moments[0] for one in both],
        "by_mean": _facts(both[0], rules),
        "by_target": _facts(both[1], rules),
    }


def words(target: int, both: Both, rules: Rules) -> str:
    """The same for people."""
    by_mean, by_target = both
    return "\n".join(
        [
            f"Played for the highest expected score, judged by the chance of at least {target} points:",
            f"{100 * _reached(by_mean, target):.6g} % reach them, {100 * _reached(by_target, target):.6g} % could;",
            *_table(by_mean, rules, " %", 100),
            "",
            f"Played for at least {target} points, judged by the expected score:",
            f"{by_target.played.moments[0]:.4f} on average, where {by_mean.played.moments[0]:.4f} could be had;",
            *_table(by_target, rules, "", 1),
        ]
    )


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


def _table(comparison: Comparison, rules: Rules, unit: str, scale: float) -> list[str]:
    """The share of decisions that the other one would take otherwise, turn by turn, and what that costs."""
    taken, otherwise, cost = comparison.taken, comparison.otherwise, scale * comparison.cost
    share = _share(otherwise.sum(), taken.sum())
    lines = [f"of {taken.sum():.2f} decisions a game, {share} would be taken otherwise", ""]
    lines.append(f"{'turn':>4}  {'  '.join(f'{stage:>11}' for stage in STAGES)}  {'cost':>10}{unit}")
    rows = [(str(turn + 1), taken[turn], otherwise[turn], cost[turn]) for turn in range(len(taken))]
    for name, *columns in [*rows, ("all", taken.sum(axis=0), otherwise.sum(axis=0), cost)]:
        shares = "  ".join(f"{_share(part, whole):>11}" for whole, part in zip(columns[0], columns[1], strict=True))
        lines.append(f"{name:>4}  {shares}  {columns[2].sum():>10.4f}{unit}")
    costliest = [f"{scale * one.cost:>10.6f}{unit}  {_where(one, rules)}" for one in comparison.costliest]
    return [*lines, "", "costliest:", *costliest]


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "-"


def _where(one: Costly, rules: Rules) -> str:
    words = [words_of(what) if isinstance(what, tuple) else what for what in (one.decided, one.other)]
    used = ", ".join(names_of(rules.all_free & ~one.anchor.free, rules)) or "nothing"
    upper = "" if one.anchor.upper is None else f", upper {one.anchor.upper}"
    chip = ", chip" if one.anchor.chip else ""
    dice = " ".join(map(str, one.roll))
    return f"used {used}{upper}{chip}; need {one.need}; {STAGES[one.stage]} of {dice}: {words[0]}, not {words[1]}"
