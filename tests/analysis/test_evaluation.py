"""Strategies that decide by the scorecard alone, evaluated exactly."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from yahtzee_cluster.analysis.evaluation import evaluate, mean_of, shape
from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.dice import KEEPS
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels import policies
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable, solve_expected


def judged(expected: ExpectedTable, worth: np.ndarray, luck: int = 0) -> float:
    """The mean of maximising points and worth in every turn, position by position.

    Ties go to the first option, or with luck of 1 or -1 to what brings the most or the least in the end.
    """
    anchors, rules = expected.anchors, expected.anchors.rules

    def place(free: int, upper: int, chip: bool) -> int:
        return anchors.index(Anchor(free, upper, chip))

    @cache
    def from_anchor(free: int, upper: int, chip: bool) -> float:
        if not free:
            return 0.0

        def options(roll: reference.Roll) -> list[tuple[reference.Row, reference.Row]]:
            found: list[tuple[reference.Row, reference.Row]] = []
            for play in rules.plays(free, chip, roll):
                after, points = reference.after(rules, free, upper, play)
                later = points + from_anchor(*after)
                found.append(((points + float(worth[place(*after)]), luck * later), (later,)))
            return found

        return reference.evaluated_turn(options)[0]

    return from_anchor(rules.all_free, 0, False)


def by_worth(expected: ExpectedTable, worth: np.ndarray) -> Callable[[Turn], policies.Decider]:
    """Makes the kernel of a strategy by worth."""
    return lambda turn: policies.ByWorth(turn, expected.anchors, worth)


@pytest.mark.parametrize("seed", [0, 1])
def test_any_worth_is_evaluated_as_by_the_judge(small_rules: Rules, seed: int) -> None:
    """The mean is the judge's; what decisions lose adds up to what is missing to the best mean."""
    expected = solve_expected(small_rules)
    worth = np.random.default_rng(seed).integers(0, 12, expected.anchors.n_places).astype(float)  # many ties
    found = evaluate(expected, by_worth(expected, worth), "nothing in particular")
    assert found.mean == pytest.approx(judged(expected, worth), rel=1e-12)
    luck = 1 if seed else -1
    assert found.by_ties[seed] == pytest.approx(judged(expected, worth, luck), rel=1e-12)
    assert found.by_ties[1 - seed] * luck <= found.mean * luck * (1 + luck * 1e-12)
    assert found.statistics.mean.sum() == pytest.approx(found.mean, rel=1e-12)
    known = np.isfinite(found.games.variance)
    assert found.statistics.variance[known] == pytest.approx(found.games.variance[known], rel=1e-9, abs=1e-9)
    assert mean_of(by_worth(expected, worth)(Turn(compile_moves(small_rules))), expected) == pytest.approx(found.mean)
    assert found.best - found.mean == pytest.approx(found.loss.sum(), rel=1e-10)
    assert found.loss.min() > -1e-12
    assert 0 < sum(habit.loss for habit in found.habits) <= found.loss.sum() + 1e-12


def test_optimal_play_loses_nothing(small_rules: Rules) -> None:
    """Nothing is lost, and no habit is found, however ties are broken."""
    expected = solve_expected(small_rules)
    found = evaluate(expected, by_worth(expected, expected.mean), "the mean")
    assert found.mean == pytest.approx(found.best, rel=1e-12)
    assert np.abs(found.loss).max() < 1e-10
    assert found.habits == ()


def test_habits_are_said_in_words() -> None:
    """Keeps are told apart by their shape: 24 of them, each said in a few words."""
    assert shape((1, 1, 3)) == "a pair and a single die"
    assert shape((2, 4, 6)) == "3 different dice"
    assert shape((2, 2, 3, 3)) == "a pair and a pair"
    assert len({shape(keep) for keep in KEEPS}) == 16


@pytest.mark.whole
def test_greedy_play() -> None:
    """Of the real game: the points of each turn alone."""
    expected = solve_expected(load_rules("yahtzee"))
    decider = by_worth(expected, np.zeros(expected.anchors.n_places))(Turn(compile_moves(load_rules("yahtzee"))))
    assert f"{mean_of(decider, expected):.6f}" == "217.377254"


def test_refusals() -> None:
    """Arrays of the wrong size, or with no number in them, never reach the kernels."""
    expected = solve_expected(load_rules("yacht"))
    turn, other = (Turn(compile_moves(load_rules("yacht"))) for _ in range(2))
    worth = np.zeros(expected.anchors.n_places)
    with pytest.raises(KernelArgumentError, match="worth: expected shape"):
        policies.ByWorth(turn, expected.anchors, worth[1:])
    with pytest.raises(KernelArgumentError, match="worth: expected finite numbers"):
        policies.ByWorth(turn, expected.anchors, worth + np.nan)
    decider, judge = policies.ByWorth(turn, expected.anchors, worth), expected.decider(other)
    outs = np.zeros((12, 3)), np.zeros((2, 462, 462)), np.zeros((12, 12))
    with pytest.raises(KernelArgumentError, match="judge: expected one with the same turn"):
        policies.losses(decider, judge, worth, *outs)
    with pytest.raises(KernelArgumentError, match="by_box: expected shape"):
        policies.losses(decider, expected.decider(turn), worth, *outs[:2], outs[2][1:])
