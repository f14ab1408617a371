"""A campaign of faults: real runs, disturbed at random moments again and again, until each of them has finished.

`make torture` runs this file; `test_campaign.py` runs a short campaign. What nobody has disturbed is the judge: every
class on disk must be, byte for byte, the one of a table that was computed in peace, unless the campaign has damaged it
itself; and a class that was right before a command must be the very same file after it.

It takes place in a mount namespace of its own, so that file systems can be filled, made read-only and taken away.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from beowulf import MAPPED
from launch import MPIRUN, Job, descendants, is_there, signal_to, started

PROGRAM = "yahtzee_cluster.run: "
INSIDE = "--inside"
DISK_BYTES = 1 << 30
LEASE_S = 2
PATIENCE_S = 120


class LostError(Exception):
    """The promise is broken."""


def insist(fact: object, what: str) -> None:
    """The promise."""
    if not fact:
        raise LostError(what)


@dataclass
class Campaign:
    """All that is known while it goes on."""

    random: Random
    disk: Path
    """A small file system."""
    shared: Path
    """Where it is seen."""
    flags: list[str]
    """Of the job."""
    most_ranks: int
    reference: Path
    other: Path
    """A table of the same shape, with other values."""
    sha256: str = ""
    table: Path = Path()
    ruined: set[str] = field(default_factory=set)
    """Classes that the campaign has damaged since they were last right."""
    injected: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    deck: list[str] = field(default_factory=list)
    """The kinds of faults that are to come next."""
    ranks: list[int] = field(default_factory=list)
    """Of the command that is being disturbed."""
    n_commands: int = 0
    n_computed: int = 0
    n_kept: int = 0

    # ------------------------------------------------------------------------------------------ what is there

    def names(self) -> list[str]:
        """The classes that are on disk, in whatever state."""
        return sorted(path.name for path in (self.table / "classes").glob("??-*") if path.name in self.reference_names)

    @property
    def reference_names(self) -> set[str]:
        """All classes of the table."""
        return {path.name for path in (self.reference / "classes").glob("??-*")}

    def right(self) -> dict[str, int]:
        """The classes that are, byte for byte, as they should be, and the file that each of them is."""
        found = {}
        for name in self.names():
            mine, theirs = self.table / "classes" / name, self.reference / "classes" / name
            with suppress(OSError):
                if not mine.is_symlink() and all(
                    (mine / part).read_bytes() == (theirs / part).read_bytes() for part in ("zarr.json", "c.0")
                ):
                    found[name] = (mine / "c.0").stat().st_ino
        return found

    def check(self, before: dict[str, int]) -> dict[str, int]:
        """Nothing that was right was touched, and nothing is wrong that nobody has damaged."""
        now = self.right()
        wrong = set(self.names()) - set(now) - self.ruined
        insist(not wrong, f"wrong on disk: {sorted(wrong)}")
        touched = {name for name, inode in before.items() if now.get(name) != inode} - self.ruined
        insist(not touched, f"computed again, or lost, although they were right: {sorted(touched)}")
        self.ruined -= set(now)
        return now

    # ---------------------------------------------------------------------------------------------- commands

    def command(self) -> list[object]:
        """The job, in one of the ways in which it can be run."""
        n_ranks = self.random.randint(1, self.most_ranks)
        flags = [*self.flags, "--threads", self.random.randint(1, 2), "--lease", LEASE_S, "--store", self.table]
        launcher = [MPIRUN, "-n", n_ranks] if n_ranks > 1 else []
        return [*launcher, sys.executable, "-m", "yahtzee_cluster.run", *flags, "--json"]

    def end(self, job: Job, kind: str) -> subprocess.CompletedProcess[str]:
        """Wait for the end of a job; a rank that was frozen inside MPI_Finalize is woken, as a person has to do."""
        try:
            return job.end(PATIENCE_S)
        except subprocess.TimeoutExpired:
            finished = self.reference_names <= set(self.right()) | self.ruined
            insist("frozen" in kind and finished, f"after {kind}, the job does not end")
            for pid in descendants(job.pid):
                signal_to(pid, signal.SIGCONT)
            return job.end(PATIENCE_S)

    def run(self, disturb: Callable[[Job], str] | None = None) -> int:
        """Give the command, with somebody to disturb it; make sure of all that was promised; return the exit code."""
        before = self.right()
        self.n_commands += 1
        with started(self.command()) as job:
            kind = disturb(job) if disturb else ""
            result = self.end(job, kind)
            self.gone()
        self.restore()
        unharmed = set(before) - self.ruined
        now = self.check(before)
        insist("Traceback" not in result.stderr, f"after {kind}, a traceback:\n{result.stderr}")
        said = [line for line in result.stderr.splitlines() if PROGRAM in line]
        if result.returncode == 0:
            insist(not said or "lost" in result.stderr, f"after {kind}, done and yet a complaint: {said}")
            summary = json.loads(result.stdout)
            insist(summary["table_sha256"] == self.sha256, f"after {kind}, another table: {summary}")
            n_computed, n_classes = summary["classes_computed"], summary["classes"]
            enough = range(n_classes - len(before), n_classes - len(unharmed) + 1)
            insist(
                n_computed in enough, f"after {kind}, {n_computed} of {n_classes} computed, {len(before)} were right"
            )
            self.n_computed += n_computed
            insist(not (self.table / ".partial").exists(), f"after {kind}, something partial is left")
        else:
            if not kind.startswith("kill"):
                insist(len(said) == 1, f"after {kind}, {len(said)} lines: {result.stderr}")
            self.n_computed += len(set(now) - set(before))
        self.n_kept += len(before)
        if kind:
            outcome = {0: "went on", 75: "stopped on request", 2: "refused"}.get(
                result.returncode, "ended, to be resumed"
            )
            self.outcomes[f"{kind}: {outcome}"] += 1
        return result.returncode

    def gone(self) -> None:
        """Nobody outlives a job for long."""
        deadline = time.monotonic() + 10 * LEASE_S
        while any(map(is_there, self.ranks)):
            insist(time.monotonic() < deadline, "ranks are left")
            time.sleep(0.01)

    def one_run(self) -> None:
        """A table, from nothing to its end, with faults in between until it has come to that."""
        self.table = self.shared / f"table-{self.n_commands}"
        self.ruined = set()
        while len(self.names()) < len(self.reference_names):
            kind = self.draw()
            if kind in LIVE:
                self.run(self.somebody(kind))
            else:
                self.at_rest(kind)
        insist(self.run() == 0, "undisturbed, and yet not done")
        insist(self.run() == 0, "done, and yet not the second time")
        insist(len(self.right()) == len(self.reference_names), "done, and yet not right")
        left = {path.name for path in self.table.iterdir()} - {"classes", "index", "zarr.json", *STRAYS}
        insist(not left, f"left over: {left}")
        shutil.rmtree(self.table)

    def draw(self) -> str:
        """A kind of fault that is possible now; each of them comes up as often as any other."""
        possible = LIVE | AT_REST if len(self.right()) > 1 else LIVE
        if not possible.keys() & self.deck:
            self.deck += self.random.sample(sorted(LIVE | AT_REST), len(LIVE | AT_REST))
        kind = next(kind for kind in self.deck if kind in possible)
        self.deck.remove(kind)
        return kind

    def somebody(self, kind: str) -> Callable[[Job], str]:
        """The disturber of a command in one way, after some more classes or some time."""
        n_more, later_s = self.random.randrange(40), self.random.random() * 1.5

        def disturb(job: Job) -> str:
            n_there = len(self.names())
            begun = job.wait_until(lambda: "objective=" in job.stderr.read_text())
            began = time.monotonic()
            begun = begun and job.wait_until(
                lambda: len(self.names()) >= n_there + n_more or time.monotonic() - began > later_s
            )
            if not begun:
                return ""  # it was done before
            self.injected[kind] += 1
            self.ranks = list(job.ranks.values())
            LIVE[kind](self, job)
            return kind

        return disturb

    def at_rest(self, kind: str) -> None:
        """Damage what is on disk."""
        name = self.random.choice(sorted(self.right()))
        AT_REST[kind](self, self.table / "classes" / name)
        self.injected[kind] += 1
        self.outcomes[f"{kind}: put right by the next command"] += 1
        if name not in self.right():
            self.ruined.add(name)

    def restore(self) -> None:
        """Undo what was done to the file system."""
        (self.disk / "ballast").unlink(missing_ok=True)
        while len(mounts_on(self.shared)) > 1:
            subprocess.run(["umount", "--lazy", self.shared], check=True)
        if not mounts_on(self.shared):
            subprocess.run(["mount", "--bind", self.disk, self.shared], check=True)


def mounts_on(path: Path) -> list[str]:
    """What is mounted on a directory, one over the other."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if line.split()[4] == str(path)]


# ------------------------------------------------------------------------------------- faults while it runs


def kill_worker(campaign: Campaign, job: Job) -> None:
    workers = sorted(set(job.ranks) - {0}) or [0]
    signal_to(job.ranks.get(campaign.random.choice(workers), job.pid), signal.SIGKILL)


def kill_master(_: Campaign, job: Job) -> None:
    signal_to(job.ranks.get(0, job.pid), signal.SIGKILL)


def kill_all(_: Campaign, job: Job) -> None:
    job.kill()


def kill_launcher(_: Campaign, job: Job) -> None:
    signal_to(job.pid, signal.SIGKILL)


def terminate(campaign: Campaign, job: Job) -> None:
    signum = campaign.random.choice([signal.SIGTERM, signal.SIGINT])
    signal_to(campaign.random.choice([job.pid, *job.ranks.values()]), signum)


def freeze_worker(campaign: Campaign, job: Job) -> None:
    workers = [pid for rank, pid in job.ranks.items() if rank]
    if workers:
        signal_to(campaign.random.choice(workers), signal.SIGSTOP)


def freeze_guard(campaign: Campaign, job: Job) -> None:
    if guards := [*job.guards.values()]:
        signal_to(campaign.random.choice(guards), signal.SIGSTOP)


def remove_table(campaign: Campaign, _: Job) -> None:
    campaign.ruined |= campaign.reference_names
    while campaign.table.exists():
        shutil.rmtree(campaign.table, ignore_errors=True)  # it fails where a class has just come


def fill_disk(campaign: Campaign, _: Job) -> None:
    free = shutil.disk_usage(campaign.disk).free
    with (campaign.disk / "ballast").open("wb") as ballast, suppress(OSError):
        os.posix_fallocate(ballast.fileno(), 0, free - campaign.random.choice([0, 4096, 100_000]))


def make_read_only(campaign: Campaign, _: Job) -> None:
    """Mount the directory over itself, read-only from the first moment on: with a file open, it could not become so."""
    with tempfile.TemporaryDirectory() as aside:
        subprocess.run(["mount", "--bind", campaign.shared, aside], check=True)
        subprocess.run(["mount", "-o", "remount,ro,bind", aside], check=True)
        subprocess.run(["mount", "--bind", aside, campaign.shared], check=True)
        subprocess.run(["umount", aside], check=True)


def take_away(campaign: Campaign, _: Job) -> None:
    subprocess.run(["umount", "--lazy", campaign.shared], check=True)


def second_run(campaign: Campaign, _: Job) -> None:
    command = [sys.executable, "-m", "yahtzee_cluster.run", *campaign.flags, "--store", campaign.table]
    second = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False)
    if second.returncode != 0:  # the first one may have ended in the meantime
        insist(second.returncode == 2, f"the second run: code {second.returncode}: {second.stderr}")
        insist("is being written by another run (" in second.stderr, f"the second run: {second.stderr}")
        insist(second.stderr.count("\n") == 1, f"the second run: {second.stderr}")


def damage_under_way(campaign: Campaign, _: Job) -> None:
    if names := sorted(campaign.right()):
        name = campaign.random.choice(names)
        flip_byte(campaign, campaign.table / "classes" / name)
        campaign.ruined.add(name)


LIVE: dict[str, Callable[[Campaign, Job], None]] = {
    "kill -9 of a worker": kill_worker,
    "kill -9 of the master": kill_master,
    "kill -9 of everything": kill_all,
    "kill -9 of mpirun": kill_launcher,
    "SIGTERM or SIGINT": terminate,
    "a worker that is frozen": freeze_worker,
    "a guard that is frozen": freeze_guard,
    "the table removed": remove_table,
    "a full disk": fill_disk,
    "a store made read-only": make_read_only,
    "a shared directory that disappears": take_away,
    "a second run": second_run,
    "a byte flipped while it runs": damage_under_way,
}


# -------------------------------------------------------------------------------------- faults between runs


def flip_byte(campaign: Campaign, place: Path) -> None:
    file = place / "c.0"
    if size := file.stat().st_size:
        with file.open("r+b") as shard:
            at = campaign.random.randrange(size)
            shard.seek(at)
            byte = shard.read(1)[0]
            shard.seek(at)
            shard.write(bytes([byte ^ 1 << campaign.random.randrange(8)]))


def truncate(campaign: Campaign, place: Path) -> None:
    os.truncate(place / "c.0", campaign.random.randrange((place / "c.0").stat().st_size))


def delete_chunk(_: Campaign, place: Path) -> None:
    (place / "c.0").unlink()


def delete_class(_: Campaign, place: Path) -> None:
    shutil.rmtree(place)


def scribble_metadata(campaign: Campaign, place: Path) -> None:
    text = bytearray((place / "zarr.json").read_bytes())
    text[campaign.random.randrange(len(text))] ^= 1 << campaign.random.randrange(7)
    (place / "zarr.json").write_bytes(text)


def swap_classes(campaign: Campaign, place: Path) -> None:
    other = place.with_name(campaign.random.choice(sorted(campaign.right().keys() - {place.name})))
    place.rename(aside := campaign.table / "aside")
    other.rename(place)
    aside.rename(other)
    campaign.ruined |= {place.name, other.name} - set(campaign.right())


def foreign_class(campaign: Campaign, place: Path) -> None:
    for file in campaign.random.choice([["c.0"], ["zarr.json"], ["c.0", "zarr.json"]]):
        shutil.copy(campaign.other / "classes" / place.name / file, place / file)


def link_out(campaign: Campaign, place: Path) -> None:
    shutil.rmtree(place)
    place.symlink_to(campaign.reference / "classes" / place.name)


def stray(campaign: Campaign, place: Path) -> None:
    where = campaign.random.choice([place / "stray", place.with_name("stray"), *(campaign.table / s for s in STRAYS)])
    where.write_text("What am I doing here?")


def stray_partial(campaign: Campaign, place: Path) -> None:
    left = campaign.table / ".partial" / f"{place.name}.left"
    left.mkdir(parents=True, exist_ok=True)
    (left / "c.0").write_bytes(b"half of it")


def scribble_lock(campaign: Campaign, _: Path) -> None:
    (campaign.table / ".lock").write_bytes(campaign.random.randbytes(300))


STRAYS = {"stray", "core.1234"}
AT_REST: dict[str, Callable[[Campaign, Path], None]] = {
    "a flipped byte": flip_byte,
    "a truncated shard": truncate,
    "a deleted chunk": delete_chunk,
    "a deleted class": delete_class,
    "damaged metadata": scribble_metadata,
    "two classes in each other's place": swap_classes,
    "a class of another table": foreign_class,
    "a class replaced by a link": link_out,
    "a stray file": stray,
    "a stray partial class": stray_partial,
    "a lock file full of garbage": scribble_lock,
}


# ---------------------------------------------------------------------------------------------- the campaign


def undisturbed(flags: list[str], table: Path) -> str:
    """Compute a table in peace; return its hash."""
    command = [sys.executable, "-m", "yahtzee_cluster.run", *flags, "--store", str(table), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(result.stderr)
    return str(json.loads(result.stdout)["table_sha256"])


@contextmanager
def prepared(options: argparse.Namespace) -> Iterator[Campaign]:
    """A small file system, and the table that nobody disturbs."""
    with tempfile.TemporaryDirectory() as folder:
        disk, shared, reference, other = (
            Path(folder).resolve() / name for name in ("disk", "shared", "reference", "other")
        )
        disk.mkdir()
        shared.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", disk], check=True)
        flags = options.flags.split()
        campaign = Campaign(Random(options.seed), disk, shared, flags, options.ranks, reference, other)
        campaign.restore()
        campaign.sha256 = undisturbed(flags, reference)
        insist(undisturbed([*flags, "--objective", "distribution"], other) != campaign.sha256, "no other table")
        try:
            yield campaign
        finally:
            campaign.restore()
            for mounted in (shared, disk):
                subprocess.run(["umount", "--lazy", mounted], check=True)


def main() -> int:
    """Hold a campaign; report it as JSON; return 0 if the promise was kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=20, help="at least, until every kind of fault has come up")
    parser.add_argument("--faults", type=int, default=200, help="at least, in all")
    parser.add_argument("--ranks", type=int, default=5, help="at most")
    parser.add_argument("--flags", default="--rules yahtzee --target 100 --G 5", help="of the job")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.inside:
        os.execvp("unshare", ["unshare", *MAPPED, "--mount", sys.executable, *sys.argv, INSIDE])
    began = time.monotonic()
    with prepared(options) as campaign:
        n_runs, lost = 0, ""
        try:
            kinds = (LIVE | AT_REST).keys()
            while (
                n_runs < options.runs or campaign.injected.total() < options.faults or campaign.injected.keys() < kinds
            ):
                campaign.one_run()
                n_runs += 1
                print(f"{n_runs} runs, {campaign.injected.total()} faults", file=sys.stderr, flush=True)
        except LostError as error:
            lost = str(error)
        report = {
            "seed": options.seed,
            "flags": options.flags,
            "runs": n_runs,
            "commands": campaign.n_commands,
            "faults": campaign.injected.total(),
            "injected": dict(sorted(campaign.injected.items())),
            "outcomes": dict(sorted(campaign.outcomes.items())),
            "classes_computed": campaign.n_computed,
            "classes_kept": campaign.n_kept,
            "elapsed_s": round(time.monotonic() - began),
            "lost": lost,
        }
    print(json.dumps(report, indent=2))
    return 1 if lost else 0


if __name__ == "__main__":
    raise SystemExit(main())
