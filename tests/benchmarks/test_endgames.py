"""Endgames of two players are measured, and compared with the table of whole races."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from launch import compute
from small_games import SMALL

from yahtzee_cluster.game.rule_files import parse_rules
from yahtzee_cluster.objectives.race import Race, RaceWins

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "endgames.py"


def printed(*flags: object) -> list[dict[str, object]]:
    command = [sys.executable, str(BENCHMARK), *map(str, flags)]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def test_typical_and_largest_endgames_are_measured() -> None:
    """For each number of boxes, both kinds are solved for both objectives, and hold as many values as forecast."""
    found = printed(1, 2, "--games", 5)
    assert [(one["boxes"], one["kind"], one["objective"]) for one in found] == [
        (boxes, kind, objective)
        for boxes in (1, 2)
        for kind in ("typical", "largest")
        for objective in ("race", "race-wins")
    ]
    for one in found:
        assert one["values"] == one["forecast_values"]
    values = [int(str(one["values"])) for one in found]
    assert values[0] < values[2] < values[6]
    assert [2 * values[i] for i in range(0, 8, 2)] == values[1::2]


@pytest.mark.parametrize("kind", [Race, RaceWins])
def test_values_from_here_are_compared(kind: type[Race], tmp_path: Path) -> None:
    """Values of moves from here are those by a table of whole races on disk."""
    compute(tmp_path, kind(parse_rules(SMALL["plain"], "plain")), 0b11)
    (found,) = printed(1, 2, "--against", tmp_path, "--positions", 12)
    assert found["positions"] == 12
    assert float(str(found["largest_difference"])) < 1e-12
