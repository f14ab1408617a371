"""`python -m yahtzee_cluster.run`: compute a table of a game, with or without mpirun in front."""

from __future__ import annotations

import signal

if __name__ == "__main__":  # until a request to stop can be taken, Ctrl-C ends the process, without a story
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.runtime.command import Command, run

COMMAND = Command(Job, "python -m yahtzee_cluster.run", "mpirun -n 16 python -m yahtzee_cluster.run --G 5 --target 800")

if __name__ == "__main__":
    run(COMMAND)
