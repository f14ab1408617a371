"""`python -m yahtzee_cluster.run`: the same as `yahtzee-cluster run`."""

from __future__ import annotations

from yahtzee_cluster.runtime.environment import prepare_numerics
from yahtzee_cluster.runtime.signals import end_quietly_on_interrupt

if __name__ == "__main__":
    end_quietly_on_interrupt()
    prepare_numerics()

from yahtzee_cluster.commands.run import command_of
from yahtzee_cluster.runtime.command import run

COMMAND = command_of("python -m yahtzee_cluster.run")

if __name__ == "__main__":
    run(COMMAND)
