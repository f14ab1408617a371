"""Dialogues at a terminal, or through a pipe."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import Protocol

from yahtzee_cluster.output import write_stdout


class Dialogue(Protocol):
    """Answers lines of input."""

    @property
    def opening(self) -> str:
        """What is said first."""

    @property
    def prompt(self) -> str:
        """The prompt, which names what comes next."""

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to say."""

    @property
    def closing(self) -> str:
        """What is said last."""

    def hear(self, line: str) -> str:
        """Carry out a line of input and return the answer. Invalid input changes nothing."""

    def leaves(self, line: str) -> bool:
        """Whether a line ends the dialogue."""


def talk(dialogue: Dialogue) -> str:
    """Hold a dialogue until the user leaves or it is over; return what is to be printed last."""
    if sys.stdin.isatty():
        with suppress(ImportError):
            import_module("readline")  # lets the user edit what is typed
    write_stdout(dialogue.opening)
    while not dialogue.is_over:
        try:
            line = input(dialogue.prompt if sys.stdin.isatty() else "")
        except (EOFError, KeyboardInterrupt) as end:
            if sys.stdin.isatty():
                write_stdout("")  # after the prompt
            if isinstance(end, KeyboardInterrupt):
                raise
            break
        if dialogue.leaves(line):
            break
        write_stdout(dialogue.hear(line))
    return dialogue.closing
