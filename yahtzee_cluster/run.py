"""`python -m yahtzee_cluster.run`: compute the table of a game, with or without mpirun."""

from __future__ import annotations

from yahtzee_cluster.runtime.environment import prepare_numerics
from yahtzee_cluster.runtime.signals import end_quietly_on_interrupt

if __name__ == "__main__":
    end_quietly_on_interrupt()
    prepare_numerics()

from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.runtime.command import Command, run

COMMAND = Command(Job, "python -m yahtzee_cluster.run", "mpirun -n 16 python -m yahtzee_cluster.run --G 5 --target 800")

if __name__ == "__main__":
    run(COMMAND)
