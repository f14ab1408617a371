"""Every message between the master and its workers, as plain data. Values travel through the shared disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.schedule import Event, Instruction
from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.runtime.usage import Usage

# ----------------------------------------------------------------------------------------- to a worker


@dataclass(frozen=True)
class Setup:
    """First message: all that a worker needs before it can do anything."""

    problem: Recurrence
    fixed: int
    directory: Path
    cache_bytes: int
    n_threads: int
    lease_s: float
    """A rank that is silent for longer is lost."""
    disk_timeout_s: float
    """A disk that does not answer for longer ends the run."""


@dataclass(frozen=True)
class CheckClasses:
    """Work for the run with this token from here on; check each of these classes on disk."""

    classes: tuple[ClassId, ...]
    run: str


@dataclass(frozen=True)
class Work:
    """Instructions of the schedule."""

    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Stop:
    """Begin nothing more; finish what was begun, report the usage, and leave."""


@dataclass(frozen=True)
class Farewell:
    """All workers have reported: enter the final barrier."""


# --------------------------------------------------------------------------------------- to the master


@dataclass(frozen=True)
class Ready:
    """A worker can begin, on this host; it may run on these cores."""

    host: str
    cores: frozenset[int]


@dataclass(frozen=True)
class Checked:
    """Result of checking a class on disk; it is sound if it is as it was committed."""

    cls: ClassId
    is_sound: bool


@dataclass(frozen=True)
class Report:
    """Events of a worker."""

    events: tuple[Event | Checked, ...]


@dataclass(frozen=True)
class StopRequested:
    """A worker was asked to stop, by a signal of this name."""

    by: str


@dataclass(frozen=True)
class Failed:
    """A worker cannot continue."""

    host: str
    problem: str
    traceback: str = ""
    """Only of an unexpected error."""
    exit_code: int = YahtzeeClusterError.exit_code
    ends_at_once: bool = False


@dataclass(frozen=True)
class Leaving:
    """Last message of a worker: it has finished what it had begun; carries its usage."""

    usage: Usage


# --------------------------------------------------------------------------------------------- both ways


@dataclass(frozen=True)
class Heartbeat:
    """Renews the lease of its sender; carries no data."""


# ----------------------------------------------------------------------------------- the master to itself


@dataclass(frozen=True)
class LeaseExpired:
    """A worker is lost: it is dead, or has been silent for longer than its lease."""


@dataclass(frozen=True)
class DiskAnswered:
    """A call to the disk has returned."""


ToWorker = Setup | CheckClasses | Work | Stop | Farewell | Heartbeat
ToMaster = Ready | Report | StopRequested | Failed | Leaving | Heartbeat | LeaseExpired | DiskAnswered
Message = ToWorker | ToMaster
