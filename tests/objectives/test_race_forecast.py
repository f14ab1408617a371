"""What a race is forecast to take, against what it takes."""

from time import process_time, thread_time

import numpy as np
import pytest

from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.objectives.race import Begun, Race, RaceWins
from yahtzee_cluster.objectives.race_forecast import forecast
from yahtzee_cluster.tables.memory import Memory

FIVE = Begun(Anchor(0b1100000010101, 40), Anchor(0b0010100111000, 11), 7)
"""Five boxes each, some millions of values."""
SEVEN = Begun(Anchor(0b1101010010101, 26), Anchor(0b0111100111000, 11), 7)


@pytest.mark.parametrize("kind", [Race, RaceWins])
def test_numbers_of_values_are_exact(small_rules: Rules, kind: type[Race]) -> None:
    """Values, their memory and that of two layers are those of the partition, from anywhere and from the start."""
    anchors = Race(small_rules).anchors
    somewhere = anchors.anchor(int(np.flatnonzero(anchors.exists)[-3]))
    problems = (kind(small_rules), kind(small_rules, Begun(somewhere, somewhere, 3)), kind(load_rules("yahtzee"), FIVE))
    for problem in problems:
        expected, memory = forecast(problem, 1), Memory(problem)
        assert 8 * expected.n_values == expected.n_bytes == memory.n_bytes
        assert expected.least_bytes == memory.least_bytes


def test_large_races_are_sampled() -> None:
    """Where there are many anchors, numbers are within two percent, and told within a second: 915 TB for Yahtzee."""
    began = thread_time()
    yahtzee, yacht = (forecast(Race(load_rules(name)), 1) for name in ("yahtzee", "yacht"))
    assert thread_time() - began < 2
    assert yahtzee.n_values == pytest.approx(114_426_963_284_436, rel=0.02)
    assert yahtzee.n_bytes == pytest.approx(915e12, rel=0.02)
    assert yacht.n_values == pytest.approx(1_292_846_696, rel=0.02)
    problem = Race(load_rules("yahtzee"), SEVEN)
    expected, memory = forecast(problem, 1), Memory(problem)
    assert expected.n_bytes == pytest.approx(memory.n_bytes, rel=0.02)
    assert expected.least_bytes == pytest.approx(memory.least_bytes, rel=0.02)
    assert expected.n_bytes != memory.n_bytes


@pytest.mark.parametrize("kind", [Race, RaceWins])
def test_times_are_about_right(kind: type[Race]) -> None:
    """The forecast for one thread is the processor time within a factor of two, and two threads take half as long."""
    problem = kind(load_rules("yahtzee"), FIVE)
    memory, expected = Memory(problem), forecast(problem, 1)
    began = process_time()
    memory.solve(problem, threads=1)
    assert 0.5 < (process_time() - began) / expected.seconds < 2
    assert forecast(problem, 2).seconds == pytest.approx(expected.seconds / 2, rel=0.3)
