"""Input and output shared by all commands: parsing flags, printing the result."""

from __future__ import annotations

import argparse
import io
import os
import secrets
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from yahtzee_cluster import __version__
from yahtzee_cluster.errors import FileError, UsageError, YahtzeeClusterError
from yahtzee_cluster.progress import showing_progress
from yahtzee_cluster.text import did_you_mean, shown


class Parser(argparse.ArgumentParser):
    """Argument parser that reports an error on one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with code 2."""
        self.exit(2, f"{self.prog}: {message}{'' if message.endswith('?') else '; see --help'}\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is none of the choices; if one of them is close, name it instead of all."""
        choices = action.choices or ()
        if isinstance(value, str) and value not in choices and (question := did_you_mean(value, choices)):
            raise argparse.ArgumentError(action, f"invalid choice: {shown(value)}; {question}")
        super()._check_value(action, value)


def add_version(parser: argparse.ArgumentParser) -> None:
    """Add --version."""
    parser.add_argument("--version", action="version", version=f"yahtzee-cluster {__version__}")


def refuse_flags(options: argparse.Namespace, names: Iterable[str], because: str) -> None:
    """Refuse flags that were given but would have no effect."""
    for name in names:
        given = getattr(options, name)
        if given is not None and given is not False:
            raise UsageError(f"{because}; leave out --{name.replace('_', '-')}")


class OutputError(Exception):
    """A write to stdout has failed."""


def write_stdout(text: str) -> None:
    """Print a text to stdout and flush it; raises OutputError if that fails."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # the name of a game may not be encodable
    try:
        print(text, flush=True)
    except OSError as error:
        raise OutputError from error


def check_file(file: str) -> None:
    """Refuse a file that cannot be written, before anything is computed for it."""
    try:
        path = Path(file)
        file.encode("utf-8")
        if path.is_dir() or path.is_fifo():
            raise FileError(file, "cannot be written: it is no file")
        if not path.parent.is_dir():
            raise FileError(file, "cannot be written: No such directory")
    except (OSError, ValueError) as error:
        raise FileError(shown(file), "is not the name of a file") from error


def write_file(file: str, text: str) -> str:
    """Write a text to a file, whole or not at all, and return its name."""
    check_file(file)
    path = Path(file)
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")  # a device, such as /dev/stdout
        else:
            _replace(path.resolve(), text)
    except OSError as error:
        raise FileError(file, f"cannot be written: {error.strerror}") from error
    return file


def _replace(path: Path, text: str) -> None:
    """Replace a file; the one before is kept until the new one is complete and on disk."""
    beside = path.with_name(f".{secrets.token_hex(8)}.new")
    try:
        with beside.open("x", encoding="utf-8") as new:
            new.write(text)
            new.flush()
            os.fsync(new.fileno())
        if path.exists():
            shutil.copymode(path, beside)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def wrapped(text: str) -> str:
    """A text in lines that fit a terminal, broken between words; as it is, if stdout is none."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return textwrap.fill(text, width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def output_failed(program: str, error: OutputError) -> int:
    """Exit code after a failed write to stdout: 0 for a closed pipe, else 1 and a message on stderr."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the flush at exit must not fail as well
    cause = error.__cause__
    if isinstance(cause, BrokenPipeError):
        return 0  # the reader has closed the pipe, as `| head` does
    print(f"{program}: the result cannot be written: {getattr(cause, 'strerror', cause)}", file=sys.stderr)
    return 1


def print_result(program: str, result: str) -> int:
    """Print a result to stdout; return the exit code."""
    try:
        write_stdout(result)
    except OutputError as error:
        return output_failed(program, error)
    return 0


def print_result_of(program: str, work: Callable[[], str]) -> int:
    """Print the result of some work, or its error on one line, and meanwhile its progress; return the exit code."""
    open_streams()
    try:
        with showing_progress(lambda line: print(f"{program}: {line}", file=sys.stderr, flush=True)):
            result = work()
    except YahtzeeClusterError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return error.exit_code
    except OutputError as error:
        return output_failed(program, error)
    except KeyboardInterrupt:
        return 130
    return print_result(program, result) if result else 0


def open_streams() -> None:
    """Open /dev/null in place of each standard stream that is closed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # stays open
