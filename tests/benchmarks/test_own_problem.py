"""The plain NumPy program beside the library finds the same, and both are measured."""

import json
import subprocess
import sys
from itertools import permutations
from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCHMARK = ROOT / "benchmarks" / "own_problem.py"
sys.path.insert(0, str(ROOT / "examples"))

from tardiness import random_jobs  # noqa: E402  # an example is no package


def printed(*flags: object) -> str:
    command = [sys.executable, str(BENCHMARK), *map(str, flags)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout


def test_the_plain_program_is_right() -> None:
    """It finds the least cost over all orders of the jobs."""
    problem = random_jobs(7, 1)

    def cost(order: tuple[int, ...]) -> float:
        ends = [sum(problem.times[job] for job in order[: place + 1]) for place in range(len(order))]
        return sum(problem.cost(job, end) for job, end in zip(order, ends, strict=True))

    assert float(printed("--plain", 7)) == min(map(cost, permutations(range(7)))) > 0


def test_both_are_measured() -> None:
    """The benchmark runs both programs, which must agree, and prints their times and ratios."""
    figures = json.loads(printed(9, "--times", 1))
    assert figures["jobs"] == 9
    assert {"plain_s", "library_s", "plain_cpu_s", "library_cpu_s", "ratio", "cpu_ratio"} <= {*figures}
    assert figures["ratio"] == round(figures["library_s"] / figures["plain_s"], 2)
