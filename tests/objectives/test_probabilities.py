"""Rows of probabilities: MaxProb for one set of free categories at a time."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.errors import KernelArgumentError, UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels.needs import Needs
from yahtzee_cluster.kernels.turn import instruction_sets
from yahtzee_cluster.objectives.probabilities import MaxProb

Values = NDArray[np.float64]


def solve_below(problem: MaxProb, free: int) -> dict[int, Values]:
    """The rows of a set of free categories and of everything it depends on."""
    blocks: dict[int, Block] = {}
    solve = problem.solver()
    for subset in range(free + 1):
        if subset & ~free:
            continue
        n_values = int(problem.rows.n_values[subset])
        block = Block(np.array([subset]), np.array([0, n_values]), np.full(n_values, np.nan))
        solve(block, [blocks.get(subset ^ 1 << c) for c in range(len(problem.element_names))])
        blocks[subset] = block
    return {subset: block.values for subset, block in blocks.items()}


def kernel(problem: MaxProb) -> Needs:
    """What the problem's solver calls for each set."""
    return Needs(problem.new_turn(), problem.anchors, problem.rows.length, problem.rows.offset)


def row_of(problem: MaxProb, rows: dict[int, Values], anchor: Anchor) -> Values:
    place = problem.anchors.index(anchor)
    start = problem.rows.offset[place]
    return rows[anchor.free][start : start + problem.rows.length[place]]


@pytest.mark.whole
def test_small_games_agree_with_the_judge(small_rules: Rules) -> None:
    """From the empty scorecard, the probability of every need is what the judge finds."""
    problem = MaxProb(small_rules, target=1000)
    row = row_of(problem, solve_below(problem, small_rules.all_free), Anchor(small_rules.all_free, 0, False))
    judge = reference.maxprob(small_rules)
    needs = np.unique(np.linspace(1, len(row), 5).astype(int))
    for need in needs:
        judged = judge(small_rules.all_free, 0, False, int(need))
        assert row[need - 1] == pytest.approx(judged, rel=1e-12, abs=0)
        assert judged > 0
    assert judge(small_rules.all_free, 0, False, len(row) + 1) == 0


@cache
def end_of_yahtzee(isa: str | None = None) -> tuple[MaxProb, dict[int, Values]]:
    """All rows for every set within sixes, four of a kind, full house, large straight and Yahtzee."""
    problem = MaxProb(load_rules("yahtzee"), target=400, isa=isa)
    return problem, solve_below(problem, 0b0_1101_1010_0000)


@pytest.mark.parametrize(
    ("free", "upper", "chip"),
    [
        (0b0_0100_0010_0000, 60, True),
        (0b0_0100_0010_0000, 40, False),
        (0b0_0001_0000_0000, 63, True),
        (0b0_1001_0000_0000, 63, False),
        (0b0_1000_0010_0000, 45, False),
    ],
)
def test_end_of_the_real_game_agrees_with_the_judge(free: int, upper: int, chip: bool) -> None:
    """With one or two categories left in the real game, jokers and bonuses in reach, the judge finds the same row."""
    problem, rows = end_of_yahtzee()
    row = row_of(problem, rows, Anchor(free, upper, chip))
    judge = reference.maxprob(load_rules("yahtzee"))
    for need in np.unique(np.linspace(1, len(row), 5).astype(int)):
        assert row[need - 1] == pytest.approx(judge(free, upper, chip, int(need)), rel=1e-12, abs=0)


def test_rows_fall() -> None:
    """Every value is a probability, and a higher need is never more probable than a lower one."""
    problem, rows = end_of_yahtzee()
    for free, values in rows.items():
        assert ((values > 0) & (values <= 1 + 1e-15)).all()
        for place in problem.anchors.place[free][0] + np.arange(problem.anchors.n_lanes[free]):
            start, length = problem.rows.offset[place], problem.rows.length[place]
            assert (np.diff(values[start : start + length]) <= 1e-15).all()


def test_instruction_sets_agree_to_the_bit() -> None:
    """All rows have the same bytes on every instruction set."""
    _, expected = end_of_yahtzee()
    for isa in instruction_sets():
        _, rows = end_of_yahtzee(isa)
        assert all(np.array_equal(rows[free], expected[free]) for free in expected)


def test_a_lower_target_only_cuts_rows_short() -> None:
    """Needs up to a lower target have the same bits as with a higher one."""
    problem, rows = end_of_yahtzee()
    short = MaxProb(load_rules("yahtzee"), target=50)
    cut = solve_below(short, 0b0_1101_0000_0000)
    anchor = Anchor(0b0_1101_0000_0000, 63, False)
    assert np.array_equal(row_of(short, cut, anchor), row_of(problem, rows, anchor)[:50])


@pytest.mark.parametrize("wrong", [10**10, -(10**10)])
def test_damaged_rows(wrong: int) -> None:
    """Offsets that point outside the rows are refused before anything is solved, or before anything is read."""
    problem, solved = end_of_yahtzee()
    offset = problem.rows.offset.copy()
    offset[problem.anchors.place[32, 0] + 1] = wrong
    out = np.empty(problem.rows.n_values[32])
    with pytest.raises(KernelArgumentError, match=r"length, offset: expected none below 0|out: expected shape"):
        Needs(problem.new_turn(), problem.anchors, problem.rows.length, offset).solve(32, [solved[0]] * 13, out)


def test_bad_target() -> None:
    """A target below 1 asks for nothing, and is refused."""
    with pytest.raises(UsageError, match="target: expected at least 1, found 0"):
        MaxProb(load_rules("yacht"), target=0)


def test_bad_arguments() -> None:
    """Missing, short or foreign rows never reach the kernel."""
    problem, rows = end_of_yahtzee()
    needs = kernel(problem)
    good = [rows[0]] * 13
    out = np.empty(problem.rows.n_values[32])
    with pytest.raises(KernelArgumentError, match=r"successors\[5\]: expected an array"):
        needs.solve(32, [None] * 13, out)
    with pytest.raises(KernelArgumentError, match=r"successors\[5\]: expected shape \(0\), found \(1,\)"):
        needs.solve(32, [np.empty(1)] * 13, out)
    with pytest.raises(KernelArgumentError, match="out: expected shape"):
        needs.solve(32, good, out[1:])
    with pytest.raises(KernelArgumentError, match="free: expected 1 to 8191, found 0"):
        needs.solve(0, good, out)
