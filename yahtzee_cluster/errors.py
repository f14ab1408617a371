"""Everything this program refuses, as one small tree of exceptions.

Each error carries its facts as attributes, and its message is one sentence that says what to do next.
The command line prints the message alone and leaves with `exit_code`.
"""

from __future__ import annotations

from yahtzee_cluster.text import printable

RESUMES = "what was committed is kept, and the same command goes on from there"
"""What a message ends with when a run did not."""


class YahtzeeClusterError(Exception):
    """Root of the tree: the run could not be completed."""

    exit_code = 1
    ends_at_once = False
    """Whether nothing that was begun can be committed any more, so that nobody need wait for it."""


class UsageError(YahtzeeClusterError):
    """The request cannot be met as it stands; another request can."""

    exit_code = 2


class StoppedError(YahtzeeClusterError):
    """Somebody asked the run to stop, and it did so in good order."""

    exit_code = 75  # EX_TEMPFAIL: try again

    def __init__(self, by: str) -> None:
        super().__init__(by)
        self.by = by

    def __str__(self) -> str:
        return f"stopped on request ({self.by}); {RESUMES}"


class FileError(UsageError):
    """A rule set or a job is unknown, unreadable or contradicts itself."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(source, problem)
        self.source = source
        self.problem = problem

    def __str__(self) -> str:
        return f"{printable(self.source)}: {self.problem}"


class KernelsMissingError(YahtzeeClusterError, ImportError):
    """The compiled kernels are not installed, or cannot be loaded here."""


class KernelArgumentError(UsageError, ValueError):
    """A kernel was handed an array of the wrong type, shape or contents."""
