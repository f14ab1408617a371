"""The first and the last thing that every command does: reading its flags, and saying its result."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

from yahtzee_cluster.errors import UsageError


class Parser(argparse.ArgumentParser):
    """Says in one line what is wrong, without reciting all flags."""

    def error(self, message: str) -> NoReturn:
        """Refuse."""
        self.exit(2, f"{self.prog}: {message}; see --help\n")


def leave_out(options: argparse.Namespace, names: Iterable[str], because: str) -> None:
    """Refuse flags that were given and would make no difference."""
    for name in names:
        given = getattr(options, name)
        if given is not None and given is not False:
            raise UsageError(f"{because}; leave out --{name.replace('_', '-')}")


class UnheardError(Exception):
    """Nothing can be written to stdout any more."""


def tell(text: str) -> None:
    """Print something to stdout at once."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a name of a game may be more than the terminal can show
    try:
        print(text, flush=True)
    except OSError as error:
        raise UnheardError from error


def unheard(program: str, error: UnheardError) -> int:
    """Leave in peace when nobody listens any more; return the exit code that comes of it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # at exit, too
    cause = error.__cause__
    if isinstance(cause, BrokenPipeError):
        return 0  # the reader has seen enough, `| head` for example
    print(f"{program}: the result cannot be written: {getattr(cause, 'strerror', cause)}", file=sys.stderr)
    return 1


def say(program: str, result: str) -> int:
    """Print a result to stdout; return the exit code that comes of it."""
    try:
        tell(result)
    except UnheardError as error:
        return unheard(program, error)
    return 0


def open_streams() -> None:
    """Put something harmless where a standard stream was closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # for good
