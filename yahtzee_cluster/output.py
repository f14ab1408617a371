"""The first and the last thing that every command does: reading its flags, and saying its result."""

from __future__ import annotations

import argparse
import io
import os
import sys
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, without reciting all flags."""

    def error(self, message: str) -> NoReturn:
        """Refuse."""
        self.exit(2, f"{self.prog}: {message}; see --help\n")


def say(program: str, result: str) -> int:
    """Print a result to stdout; return the exit code that comes of it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a name of a game may be more than the terminal can show
    try:
        print(result, flush=True)
    except OSError as error:
        # Nothing more can be written there, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return 0  # the reader has seen enough, `| head` for example
        print(f"{program}: the result cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0
