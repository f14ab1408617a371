"""Advice in words and columns, for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, NamedTuple

from yahtzee_cluster.objectives.goals import MEAN, Goal
from yahtzee_cluster.play.choices import TIE, Move

if TYPE_CHECKING:
    from yahtzee_cluster.play.answer import Advice, Answer, Said


LEAST_OF_CHANCES, LEAST_OF_COSTS = 4, 2
"""Decimals of percentages and of costs, where these show all that is not 0."""
MOST = 6
"""And at most where they do not, unless all numbers are smaller."""
SMALLEST, LARGEST = 1e-9, 1e15
"""Numbers of a column beyond these are written with exponents."""


class Column(NamedTuple):
    """A figure of all moves: its heading, how it is written for each, and how in a sentence about the first of them."""

    heading: str
    cells: list[str]
    in_a_sentence: str


def listing(advice: Sequence[Advice], goal: Goal = MEAN, most: int | None = None) -> str:
    """The best moves, each with its figures and its cost."""
    shown = advice[:most]
    columns = columns_of(shown, goal)
    heading = ["", *(column.heading for column in columns), "cost"]
    costs = _costs([one.cost for one in shown], is_chance=shown[0].p is not None)
    cells = [[one.move.words for one in shown], *(column.cells for column in columns), costs]
    rows = [heading, *zip(*cells, strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def columns_of(advice: Sequence[Advice], goal: Goal = MEAN) -> list[Column]:
    """The figures of moves that are known."""
    best, found = advice[0], []
    least = TIE if goal.is_played_at_a_table else 0.0  # a loss is what remains of 1, or a rounding error
    if best.p is not None:
        cells = _percents([one.p or 0.0 for one in advice], least)
        found.append(Column("goal", cells, f"{cells[0]} {goal.outcome}"))
    if best.chances is not None:
        of_moves = [astuple(one.chances) for one in advice if one.chances]
        for heading, chances in zip(("win", "tie", "loss"), zip(*of_moves, strict=True), strict=True):
            found.append(Column(heading, cells := _percents(chances, least), f"{cells[0]} {heading}"))
    if best.worth is not None:
        worths = [one.worth or 0.0 for one in advice]
        if goal.kind == "quantile":
            found.append(Column("score", cells := _aligned(worths, 0), f"{cells[0]} points"))
        else:
            cells = _aligned(worths, max(0, 8 + _first_decimal(max(map(abs, worths)))))
            found.append(Column("worth", cells, f"worth {cells[0]} on average"))
    if best.expected is not None:
        cells = [f"{one.expected or 0.0:.4f}" for one in advice]
        found.append(Column("expected", cells, f"{cells[0]} expected"))
    return found


def in_words(answer: Answer, most: int | None = None) -> str:
    """An answer for people, with all moves or the best ones."""
    goal = answer.goal
    value = _percents([answer.value])[0] if goal.is_chance else f"{answer.value:.9g}"
    if answer.moves:
        value = columns_of(answer.moves[:1], goal)[0].cells[0]
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


def cost_in_words(cost: float, is_chance: bool) -> str:
    """A cost in points or another worth, or in percent of chance."""
    return _costs([cost], is_chance)[0]


def _costs(costs: Sequence[float], is_chance: bool) -> list[str]:
    """The same for each move; nothing for one that is as good as the best."""
    texts = _aligned([100 * cost if is_chance else cost for cost in costs], LEAST_OF_COSTS)
    return [f"{text}{' %' * is_chance}" * bool(cost) for text, cost in zip(texts, costs, strict=True)]


def _percents(chances: Sequence[float], least: float = 0.0) -> list[str]:
    """As percentages; up to `least`, a chance counts as 0, and only a certain event is shown as 100 %."""
    numbers = [100 * p if p > least else 0.0 for p in chances]
    decimals = _decimals(numbers, LEAST_OF_CHANCES)
    almost = [round(100 * p, decimals) == 100 and 1 - p > TIE for p in chances]
    below = f">{100 - 10**-decimals:.{decimals}f}"
    texts = [below if one else text for one, text in zip(almost, _aligned(numbers, decimals), strict=True)]
    return [f"{text} %" for text in texts]


def _aligned(numbers: Sequence[float], least: int) -> list[str]:
    """Numbers of a column, with the same number of decimals, at least so many; no positive one is shown as 0."""
    decimals = _decimals(numbers, least)
    largest = max(map(abs, numbers))
    if largest and not SMALLEST <= largest < LARGEST:
        return [f"{one:.8e}" for one in numbers]
    texts = [f"{one:.{decimals}f}" for one in numbers]
    below = f"<{10**-decimals:.{decimals}f}"
    return [below if one > 0 and float(text) == 0 else text for one, text in zip(numbers, texts, strict=True)]


def _decimals(numbers: Iterable[float], least: int) -> int:
    """How many decimals a column has: enough for two digits of its largest number, and for one of its smallest.

    None where all numbers are whole: costs of a quantile, or chances once the goal is reached or out of reach.
    """
    sizes = [abs(number) for number in numbers if number]
    if all(size % 1 == 0 for size in sizes):
        return 0
    return max(least, _first_decimal(max(sizes)) + 1, min(_first_decimal(min(sizes)), MOST))


def _first_decimal(number: float) -> int:
    """Which decimal is the first digit of a positive number that is not 0: 2 of 0.04, -2 of 400; 0 if there is none."""
    return -math.floor(math.log10(number)) if number else 0
