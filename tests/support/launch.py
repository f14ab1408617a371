"""Starting real ranks, the way a user starts them, and finding them while they run."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.schedule import Schedule
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.objectives import OBJECTIVES
from yahtzee_cluster.runtime.messages import Setup
from yahtzee_cluster.runtime.serial import SingleProcess
from yahtzee_cluster.runtime.signals import StopRequest
from yahtzee_cluster.runtime.usage import Usage
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.table import Table

SUPPORT = Path(__file__).resolve().parent
"""Where the helpers of the tests are."""
BESIDE = Path(sys.executable).parent / "mpirun"
MPIRUN = str(BESIDE) if BESIDE.exists() else "mpirun"

# What Open MPI wants before it starts more ranks than cores, or anything as root; other MPIs do not look.
PERMITTED = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
IS_HYDRA = "HYDRA" in subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, check=False).stdout.upper()
"""Whether this is MPICH's launcher."""

YAHT = ["-m", "yahtzee_cluster.run", "--rules", "yaht", "--G", "6", "--json"]
YAHT_SHA256 = "6598a1ebc97a732254f2a2736ccd3cb98ef08e46c2a822201ff81ceb989afaab"
YACHT_SHA256 = "30d493d74b7ce708ade9d65a3e95f326601c53e5a5377a71cb641e68840e65b6"
"""Of the tables up to 800 and to 300 that one process computes with an empty fixed set."""

LARGE = 1 << 30

RANK_VARIABLES = (b"PMI_RANK=", b"OMPI_COMM_WORLD_RANK=")


def mpirun(
    n_ranks: int, arguments: Sequence[object], environment: dict[str, str] | None = None, timeout_s: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run Python on so many ranks, and wait for its end."""
    command = [MPIRUN, "-n", str(n_ranks), sys.executable, *map(str, arguments)]
    variables = os.environ | PERMITTED | (environment or {})
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=timeout_s, check=False)


def program(*arguments: object, said: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Start the program with one of its commands, and wait for its end."""
    line = [sys.executable, "-m", "yahtzee_cluster", *map(str, arguments)]
    variables = os.environ | environment
    return subprocess.run(line, env=variables, input=said, capture_output=True, text=True, timeout=300, check=False)


def calling(function: Callable[..., None], *arguments: object) -> list[str]:
    """The command that calls a function of some test file in a process of its own; its arguments become strings."""
    file, name = Path(function.__code__.co_filename), function.__name__
    program = f"import sys; sys.path[:0] = sys.argv[1:3]; from {file.stem} import {name}; {name}(*sys.argv[3:])"
    return [sys.executable, "-c", program, str(file.parent), str(SUPPORT), *map(str, arguments)]


def slow(seconds: float, *flags: object) -> list[object]:
    """The job, which takes so much longer for each class of three elements; it says when it has come to one."""
    return [sys.executable, SUPPORT / "slow.py", seconds, *flags]


def setup_of(problem: Recurrence, store: Store, cache_bytes: int = LARGE, n_threads: int = 1) -> Setup:
    """What a worker needs to compute a table."""
    return Setup(problem, store.partition.fixed, store.path, cache_bytes, n_threads, lease_s=30, disk_timeout_s=300)


def compute(path: Path, problem: Recurrence, fixed: int, cache_bytes: int = LARGE, n_threads: int = 1) -> Usage:
    """Compute what is missing or damaged, as a run in one process does."""
    alone = SingleProcess(StopRequest())
    with claim(path, problem, fixed, {}) as store:
        alone.begin(setup_of(problem, store, cache_bytes, n_threads))
        try:
            committed = store.committed
            done = alone.check(store, committed)
            for cls in set(committed) - set(done):
                store.remove(cls)
            alone.run(Schedule.of(store.partition, done), lambda: None)
        finally:
            usage = alone.dismiss()
        return usage


def computed(rules: str, path: Path, objective: str = "maxprob", target: int = 60) -> Table:
    """A table of a game, given by its name or as TOML."""
    game = parse_rules(rules, "test") if "\n" in rules else load_rules(rules)
    compute(path, OBJECTIVES[objective](game, target), 0b11)
    return open_table(path)


def writable(store: Store) -> Store:
    """A table that a test writes into although no run has claimed it."""
    with suppress(FileExistsError):  # made writable before
        store.write_for("test").make()
    store.run.sweep()
    return store


def n_classes(table: Path) -> int:
    """How many classes of a table are on disk."""
    return len(list((table / "classes").glob("??-*")))


def finished(n_ranks: int, table: Path) -> dict[str, Any]:
    """What the command says at the end, when nobody disturbs it."""
    result = mpirun(n_ranks, [*YAHT, "--store", table])
    assert result.returncode == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@dataclass
class Job:
    """A command that is running, with all that it has started."""

    process: subprocess.Popen[str]
    stdout: Path
    stderr: Path

    @property
    def pid(self) -> int:
        """Of the command itself."""
        return self.process.pid

    @property
    def ranks(self) -> dict[int, int]:
        """The process of each rank, as it computes."""
        guards = self.guards.values()
        return {rank: pid for rank, pid in self._processes() if pid not in guards}

    @property
    def guards(self) -> dict[int, int]:
        """The process that guards each rank, where there is one."""
        processes = self._processes()
        return {rank: _parent(pid) for rank, pid in processes if (rank, _parent(pid)) in processes}

    def _processes(self) -> list[tuple[int, int]]:
        return [(rank, pid) for pid in descendants(self.pid) if (rank := _rank(pid)) is not None]

    def wait_until(self, fact: Callable[[], bool], timeout_s: float = 60) -> bool:
        """Wait for something to come true while the job runs; say whether it did."""
        deadline = time.monotonic() + timeout_s
        while not fact():
            if self.process.poll() is not None:
                return fact()
            assert time.monotonic() < deadline, self.stderr.read_text()
            time.sleep(0.005)
        return True

    def is_slow(self) -> bool:
        """Whether a job made by `slow` has come to a class that takes longer."""
        return re.search(r"^slow \d+$", self.stderr.read_text(), re.MULTILINE) is not None

    def end(self, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
        """Wait for its end."""
        code = self.process.wait(timeout_s)
        return subprocess.CompletedProcess(self.process.args, code, self.stdout.read_text(), self.stderr.read_text())

    def kill(self) -> None:
        """Kill whatever is left of it, all at once."""
        for pid in [self.pid, *descendants(self.pid)]:
            signal_to(pid, signal.SIGKILL)


@contextmanager
def started(command: Sequence[object], environment: dict[str, str] | None = None) -> Iterator[Job]:
    """Start a command that is killed, with all that it has started, if it has not ended at the end."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        with out.open("w") as stdout, err.open("w") as stderr:
            process = subprocess.Popen(
                [str(word) for word in command],
                env=os.environ | PERMITTED | (environment or {}),
                stdout=stdout,
                stderr=stderr,
                text=True,
                start_new_session=True,
            )
        job = Job(process, out, err)
        try:
            yield job
        finally:
            job.kill()
            process.wait()


def signal_to(pid: int, signum: int) -> None:
    """Send a signal to a process, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signum)


def is_there(pid: int) -> bool:
    """Whether a process still runs."""
    return _state(pid) not in {"", "Z"}


def processor_s(pid: int) -> float:
    """For how long a process that has not been waited for has computed."""
    return sum(map(int, _stat(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """All processes that a process has started, directly or not."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        children.setdefault(_parent(int(entry.name)), []).append(int(entry.name))
    found = [pid]
    for parent in found:
        found += children.get(parent, [])
    return found[1:]


def _parent(pid: int) -> int:
    return int((_stat(pid) or ["", "-1"])[1])


def _state(pid: int) -> str:
    return (_stat(pid) or [""])[0]


def _stat(pid: int) -> list[str]:
    """What the system says of a process, from its state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def _rank(pid: int) -> int | None:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    numbers = [entry.split(b"=")[1] for entry in variables if entry.startswith(RANK_VARIABLES)]
    return int(numbers[0]) if numbers else None
