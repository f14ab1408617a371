"""The exceptions of this program, one small hierarchy.

Each error carries its facts as attributes; its message is one sentence that says what to do next.
The command line prints the message alone and exits with `exit_code`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from yahtzee_cluster.text import printable

RESUMES = "what was committed is kept, and the same command goes on from there"
"""Last part of the message when a run ends before its table is complete."""


class YahtzeeClusterError(Exception):
    """Root of the hierarchy: the run could not be completed.

    `exit_code` is that of the command line.

    >>> try:
    ...     yc.open_table("nowhere")
    ... except yc.YahtzeeClusterError as error:
    ...     print(error.exit_code)
    2
    """

    exit_code = 1
    ends_at_once = False
    """Whether work in progress can no longer be committed, so that the run ends without waiting for it."""


class UsageError(YahtzeeClusterError):
    """The request cannot be met as it stands; another request can.

    >>> table = yc.open_table("yacht")
    >>> table.value(table.start, need=400)
    Traceback (most recent call last):
    yahtzee_cluster.errors.UsageError: need: this table goes up to 300, found 400
    """

    exit_code = 2


class StoppedError(YahtzeeClusterError):
    """The run was stopped on request, by an orderly shutdown."""

    exit_code = 75  # EX_TEMPFAIL: try again

    def __init__(self, by: str) -> None:
        super().__init__(by)
        self.by = by

    def __str__(self) -> str:
        return f"stopped on request ({self.by}); {RESUMES}"


class FileError(UsageError):
    """A rule set or a job is unknown, unreadable or inconsistent.

    >>> yc.load_rules("my-game.toml")
    Traceback (most recent call last):
    yahtzee_cluster.errors.FileError: my-game.toml: cannot be read: No such file or directory
    """

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(source, problem)
        self.source = source
        self.problem = problem

    def __str__(self) -> str:
        return f"{printable(self.source)}: {self.problem}"


class KernelsMissingError(YahtzeeClusterError, ImportError):
    """The compiled kernels are not installed, or cannot be loaded here."""


class KernelArgumentError(UsageError, ValueError):
    """An array passed to a kernel has the wrong type, shape or contents."""


@contextmanager
def needs(what: str, package: str, extra: str) -> Iterator[None]:
    """Import an optional package; if it is missing, the error names the extra that brings it."""
    try:
        yield
    except ImportError as error:
        advice = f'install it with pip install "yahtzee_cluster[{extra}]"'
        raise UsageError(f"{what}: needs {package}; {advice}") from error
