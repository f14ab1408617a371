"""`yahtzee-cluster run`: compute the table of a game, with or without mpirun."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.runtime import command
from yahtzee_cluster.runtime.flags import add_run


def command_of(program: str) -> command.Command:
    """The command that computes a job, as the program of this name."""
    return command.Command(Job, program, f"mpirun -n 16 {program} --G 5 --target 800")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    add_run(parser, Job, command_of(parser.prog).example)


def start(arguments: Sequence[str]) -> NoReturn:
    """Run the command on this rank, and exit with its code; the master alone parses its flags."""
    command.run(command_of("yahtzee-cluster run"), arguments)
