"""Advice in words and columns, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, NamedTuple

from yahtzee_cluster.objectives.goals import MEAN, Goal
from yahtzee_cluster.play.choices import TIE, Move

if TYPE_CHECKING:
    from yahtzee_cluster.play.answer import Advice, Answer, Said


class Figure(NamedTuple):
    """A figure of a move: its column, how it is written there, and how in a sentence about the best move."""

    heading: str
    text: str
    in_a_sentence: str


def listing(advice: Sequence[Advice], goal: Goal = MEAN, most: int | None = None) -> str:
    """The best moves, each with its figures and its cost."""
    rows = [(one.move.words, *(figure.text for figure in figures_of(one, goal)), _cost(one)) for one in advice[:most]]
    heading = ("", *(figure.heading for figure in figures_of(advice[0], goal)), "cost")
    rows = [heading, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(heading))]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def figures_of(advice: Advice, goal: Goal = MEAN) -> list[Figure]:
    """The figures of a move that are known."""
    found = []
    if advice.p is not None:
        found.append(Figure("goal", text := _percent(advice.p), f"{text} {goal.outcome}"))
    if advice.chances is not None:
        for heading, chance in zip(("win", "tie", "loss"), astuple(advice.chances), strict=True):
            found.append(Figure(heading, text := _percent(chance), f"{text} {heading}"))
    if advice.worth is not None and goal.kind == "quantile":
        found.append(Figure("score", text := f"{advice.worth:.0f}", f"{text} points"))
    elif advice.worth is not None:
        found.append(Figure("worth", text := f"{advice.worth:.9g}", f"worth {text} on average"))
    if advice.expected is not None:
        found.append(Figure("expected", text := f"{advice.expected:.4f}", f"{text} expected"))
    return found


def in_words(answer: Answer, most: int | None = None) -> str:
    """An answer for people, with all moves or the best ones."""
    goal = answer.goal
    value = f"{answer.value:.6g}"
    if answer.best is not None:
        value = figures_of(answer.best, goal)[0].text
    lines = [f"{'goal':10} {goal.words}", f"{'value':10} {value}"]
    if answer.mean is not None and goal.kind != "mean":
        lines.append(f"{'mean':10} {answer.mean:.4f}")
    if answer.std is not None:
        lines.append(f"{'std':10} {answer.std:.4f}")
    lines.append(f"{'best':10} {answer.line}")
    if answer.source == "rule":
        lines.append(f"{'by':10} the rule for several players, which approximates")
    elif answer.rule:
        lines.append(f"{'rule':10} the rule for several players says {_judged(*answer.rule, is_chance=True)}")
    if answer.said and answer.best:
        lines.append(f"{'strategy':10} {said_in_words(answer.said, answer.best)}")
    if answer.moves:
        lines += ["", listing(answer.moves, goal, most)]
        lines += [f"and {left} more"] if (left := len(answer.moves[most:]) if most else 0) else []
    if answer.distribution:
        lines += ["", *percentiles(answer.distribution.to_dict()["percentiles"])]
    return "\n".join(lines)


def with_strategy(text: str, said: Said | None, advice: Sequence[Advice]) -> str:
    """A listing with the move of a strategy below, if one was asked."""
    return f"{text}\n{said_in_words(said, advice[0])}" if said else text


def said_in_words(said: Said, best: Advice) -> str:
    """What a strategy would do, beside the best move."""
    return f"{said.strategy} says {_judged(said.move, said.cost, is_chance=best.p is not None)}"


def _judged(move: Move, cost: float, is_chance: bool) -> str:
    return f"{move.words}, {f'which costs {cost_in_words(cost, is_chance)}' if cost else 'too'}"


def percentiles(scores: Mapping[str, int]) -> list[str]:
    """The percentiles of a distribution as a table."""
    return [f"{'percentile':17}{'score':>9}", *(f"{share:<17}{at:>9}" for share, at in scores.items())]


def _percent(p: float) -> str:
    """As a percentage; only a certain event is shown as 100 %."""
    shown = f"{100 * p:.6g}"
    return f"{'>99.9999' if shown == '100' and 1 - p > TIE else shown} %"


def _cost(advice: Advice) -> str:
    return f"-{cost_in_words(advice.cost, is_chance=advice.p is not None)}" if advice.cost else ""


def cost_in_words(cost: float, is_chance: bool) -> str:
    """A cost in points or another worth, or in percent of chance."""
    return f"{100 * cost:.3g} %" if is_chance else f"{cost:.3g}"
