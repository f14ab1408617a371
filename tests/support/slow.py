"""Run `yahtzee_cluster.run` with a solver that sleeps after each class of three elements, and says so before.

Start it with the seconds to sleep and the flags of the job; with mpirun in front, every rank does so.
"""

import os
import sys
import time
from collections.abc import Callable

from yahtzee_cluster import run
from yahtzee_cluster.engine.recurrence import Below, Block, Solver
from yahtzee_cluster.objectives.probabilities import MaxProb
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.runtime import command


def slowed(solver: Callable[..., Solver], seconds: float) -> Callable[..., Solver]:
    """Another way to make solvers, which sleep."""

    def slow_solver(problem: object) -> Solver:
        solve = solver(problem)

        def slow(block: Block, below: Below) -> None:
            solve(block, below)
            if block.subsets[0].bit_count() == 3:
                print("slow", os.getpid(), file=sys.stderr, flush=True)
                time.sleep(seconds)

        return slow

    return slow_solver


if __name__ == "__main__":
    slow_s = float(sys.argv.pop(1))
    for objective in (MaxProb, Utility):
        objective.solver = slowed(objective.solver, slow_s)  # type: ignore[method-assign]
    command.run(run.COMMAND)
