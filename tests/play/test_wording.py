"""Listings of moves: figures that mean something, in columns."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yahtzee_cluster.objectives.goals import Goal, parse_goal
from yahtzee_cluster.play.answer import Advice, Chances
from yahtzee_cluster.play.choices import Move
from yahtzee_cluster.play.wording import cost_in_words, listing

REACH, POWER = parse_goal("reach:250"), parse_goal("power:2")


def listed(figures: list[float], goal: Goal) -> list[list[str]]:
    """The cells of a listing of moves with these values, without those of the moves and the percent signs."""
    best = max(figures)
    moves = [
        Advice(
            move=Move(f"move{at}"),
            p=value if goal.is_chance else None,
            worth=None if goal.is_chance else value,
            cost=best - value,
        )
        for at, value in enumerate(sorted(figures, reverse=True))
    ]
    return [line.replace(" %", "").split()[1:] for line in listing(moves, goal).splitlines()[1:]]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_chances_are_told_apart(chances: list[float]) -> None:
    """Only what is impossible is shown as 0, and only what is certain as 100 %; a column has the same decimals."""
    rows = listed(chances, REACH)
    for column in ([row[0] for row in rows], [row[1] for row in rows if len(row) == 2]):
        assert len({len(cell.partition(".")[2]) for cell in column if "e-" not in cell}) <= 1
    for (cell, *_), p in zip(rows, sorted(chances, reverse=True), strict=True):
        assert (cell[0] != "<" and float(cell.strip("<>")) == 0) == (p == 0)
        assert (re.fullmatch(r"100(\.0+)?", cell) is not None) == (p >= 1 - 1e-12)


@pytest.mark.parametrize(
    ("goal", "figures", "cells"),
    [
        (REACH, [0.48515, 0.463258, 0.0], [["48.5150"], ["46.3258", "2.19"], ["0.0000", "48.52"]]),
        (REACH, [1.2e-6, 1e-7, 0.0], [["0.00012"], ["0.00001", "0.00011"], ["0.00000", "0.00012"]]),
        (REACH, [0.5, 0.0499996, 1e-9], [["50.000000"], ["4.999960", "45.00"], ["<0.000001", "50.00"]]),
        (REACH, [1.0, 1 - 1e-9, 0.99], [["100.0000"], [">99.9999", "<0.000001"], ["99.0000", "1.000000"]]),
        (REACH, [1.0, 1.0, 0.0], [["100"], ["100"], ["0", "100"]]),
        (parse_goal("quantile:0.5"), [256.0, 254.0], [["256"], ["254", "2"]]),
        (REACH, [0.5, 0.5 - 4e-6, 0.4], [["50.0000"], ["49.9996", "0.0004"], ["40.0000", "10.0000"]]),
        (POWER, [66412.1, 66405.0, 9.0], [["66412.1000"], ["66405.0000", "7.10"], ["9.0000", "66403.10"]]),
        (POWER, [3.0, 2.9968], [["3.00000000"], ["2.99680000", "0.0032"]]),
        (POWER, [2e20, 1e20], [["2.00000000e+20"], ["1.00000000e+20", "1.00000000e+20"]]),
    ],
)
def test_columns(goal: Goal, figures: list[float], cells: list[list[str]]) -> None:
    """As many decimals as tell what is not 0, at most six beside large numbers, none if all are whole."""
    assert listed(figures, goal) == cells


def test_points_are_under_each_other() -> None:
    """Each column has its decimal points in one place, also those of two players; costs have no sign."""
    win = parse_goal("win")
    values = [(0.6127, 0.594942, 0.0355356), (0.05, 0.04, 0.02), (0.0, 0.0, 0.0)]
    moves = [
        Advice(move=Move(f"move{at}"), cost=0.6127 - p, p=p, chances=Chances(wins, ties, 1 - wins - ties))
        for at, (p, wins, ties) in enumerate(values)
    ]
    assert listing(moves, win) == (
        "            goal        win       tie        loss     cost\n"
        "move0  61.2700 %  59.4942 %  3.5536 %   36.9522 %\n"
        "move1   5.0000 %   4.0000 %  2.0000 %   94.0000 %  56.27 %\n"
        "move2   0.0000 %   0.0000 %  0.0000 %  100.0000 %  61.27 %"
    )


def test_what_remains_of_one_may_be_a_rounding_error() -> None:
    """The chance to lose, where all else is certain, is shown as 0."""
    move = Advice(move=Move("move"), cost=0.0, p=1.0, chances=Chances(1.0, 0.0, 2.2e-16))
    assert listing([move], parse_goal("win")).splitlines()[1] == "move  100 %  100 %  0 %   0 %"


@pytest.mark.parametrize(("cost", "points", "chance"), [(3.2417, "3.24", "324.17 %"), (0.00042, "0.00042", "0.042 %")])
def test_costs_in_sentences(cost: float, points: str, chance: str) -> None:
    """A sentence says no less than the listing."""
    assert cost_in_words(cost, is_chance=False) == points
    assert cost_in_words(cost, is_chance=True) == chance
