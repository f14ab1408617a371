"""Power cuts under real runs: what a disk has kept at random moments, and how the same command goes on from there.

`make torture` runs this file; `test_powercuts.py` cuts a few times. A run writes to a real file system on a disk that
logs every write and every flush (`logged_disk.py`), and each class is noted when the program takes it for committed.
For each cut an image is made of what had been flushed at that moment and of some of the rest; it is mounted, as after
a real cut, and the command is given again. Four promises are judged, with a table that nobody has disturbed beside it:

- kept: a class that was acknowledged before the cut is there, or was dropped and has left its digest;
- sound: a class that is there is, byte for byte, as it should be;
- resumed: the command finishes the table, and it is the same;
- once: it computes what is missing, and nothing else, and finds nothing damaged.

It takes place in namespaces of its own, with which all mounts, loop devices and processes go.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from acknowledged import CARELESS
from file_systems import FILE_SYSTEMS, copy_sparse, make_file_system, missing, mounted
from launch import MPIRUN, started
from logged_disk import Log, served

from yahtzee_cluster.runtime.configuration import KEEP

INSIDE = "--inside"
UNSHARED = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
NOTES = Path(__file__).with_name("acknowledged.py")

PATIENCE_S = 120
SHARES = (0.0, 0.5, 0.9, 1.0)
"""Of what was not flushed before a cut, so much is on the disk afterwards."""
FOUND = re.compile(r"found=\d+ damaged=(\d+) dropped=(\d+)")


@dataclass(frozen=True)
class Setting:
    """One way to run the job, and the disk it writes to."""

    kind: str
    keep: str
    options: str
    n_ranks: int

    def __str__(self) -> str:
        return f"{self.kind} ({self.options}), --keep {self.keep}, ranks: {self.n_ranks}"


def settings() -> list[Setting]:
    """All settings that are tried: what is kept of the table, and one rank or several on a disk that is lazier."""
    return [
        Setting(kind, keep, options, n_ranks)
        for kind, keep in product(FILE_SYSTEMS, KEEP)
        for options, n_ranks in ((FILE_SYSTEMS[kind].usual, 1), (FILE_SYSTEMS[kind].lazy, 3))
    ]


@contextmanager
def memory() -> Iterator[Path]:
    """A directory in memory, where disks lie."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
        try:
            yield Path(folder).resolve()
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def state(mine: Path, theirs: Path) -> str:
    """Whether a class is sound, dropped, or what is wrong with it."""
    try:
        if (mine / "zarr.json").read_bytes() != (theirs / "zarr.json").read_bytes():
            return "with another zarr.json"
        if (mine / "dropped").exists() and not (mine / "c.0").exists():
            return "dropped"
        return "sound" if (mine / "c.0").read_bytes() == (theirs / "c.0").read_bytes() else "with other values"
    except OSError as error:
        return f"without {Path(error.filename).name}: {error.strerror}"


# ------------------------------------------------------------------------------------------------ runs and cuts


@dataclass(frozen=True)
class Outcome:
    """What a command has done."""

    code: int
    stdout: str
    stderr: str
    acknowledged: dict[str, int]
    """The classes that were committed, and how long the log was then."""


def insist_done(code: int, stderr: str) -> None:
    """Leave like a job that could not be done although nobody disturbed it, as when its flags are wrong."""
    if code:
        print(stderr, end="", file=sys.stderr)
        raise SystemExit(code)


@dataclass(frozen=True)
class Trial:
    """The job in one setting: how it is run, on any disk."""

    setting: Setting
    flags: list[str]
    reference: Path
    sha256: str
    folder: Path

    @property
    def log(self) -> Path:
        """Of the disk."""
        return self.folder / "log"

    def run(self, disk: Path, environment: dict[str, str] | None = None) -> Outcome:
        """Give the command, on a disk, and wait for its end."""
        notes = self.folder / "notes"
        notes.write_text("")
        launcher = [MPIRUN, "-n", self.setting.n_ranks] if self.setting.n_ranks > 1 else []
        flags = [*self.flags, "--keep", self.setting.keep, "--store", disk / "table", "--json"]
        with started([*launcher, sys.executable, NOTES, self.log, notes, *flags], environment) as job:
            result = job.end(PATIENCE_S)
        lines = [line.split() for line in notes.read_text().splitlines()]
        acknowledged = {name: int(position) for position, name in lines}
        return Outcome(result.returncode, result.stdout, result.stderr, acknowledged)

    def record(self, environment: dict[str, str]) -> Recording:
        """Run the job once on a disk that keeps a log."""
        image, blank = self.folder / "image", self.folder / "blank"
        make_file_system(self.setting.kind, blank)
        copy_sparse(blank, image)
        self.log.unlink(missing_ok=True)
        with (
            served(image, self.log, file := self.folder / "disk"),
            mounted(file, self.setting.kind, self.setting.options) as disk,
        ):
            began = self.log.stat().st_size
            outcome = self.run(disk, environment)
            ended = self.log.stat().st_size
        insist_done(outcome.code, outcome.stderr)
        return Recording(blank, Log(self.log), began, ended, outcome.acknowledged)

    def cut(self, recording: Recording, number: int, random: Random) -> Verdict:
        """Cut the power at some moment of a recorded run, for the n-th time, and judge what is left."""
        image = self.folder / "image"
        copy_sparse(recording.blank, image)
        moment, share = recording.moment(number, random), random.choice(SHARES)
        recording.log.cut(image, moment, share, random)
        acknowledged = {name for name, position in recording.acknowledged.items() if position <= moment}
        return self.judge(f"cut at {moment} with {share:.0%} of what was not flushed", image, acknowledged)

    def judge(self, cut: str, image: Path, acknowledged: set[str]) -> Verdict:
        """Which promises a disk breaks after a power cut, and what it holds."""
        try:
            with mounted(image, self.setting.kind, FILE_SYSTEMS[self.setting.kind].usual) as disk:
                before = self.states(disk)
                outcome = self.run(disk)
                after = self.states(disk)
        except subprocess.CalledProcessError as error:
            return Verdict(cut, 0, 0, 0, {"kept": [f"{error}: {error.stderr}"]})
        except subprocess.TimeoutExpired as error:
            return Verdict(cut, 0, 0, 0, {"resumed": [str(error)]})
        there, computed = {name for name in before if self.is_fine(before[name])}, set(outcome.acknowledged)
        summary = json.loads(outcome.stdout) if outcome.code == 0 else {}
        found = FOUND.search(outcome.stderr)
        broken = {
            "kept": sorted(acknowledged - there),
            "sound": [f"{name} {how}" for name, how in [*before.items(), *after.items()] if not self.is_fine(how)],
            "resumed": [] if summary.get("table_sha256") == self.sha256 else [outcome.stderr + outcome.stdout],
            "once": [
                *(f"{name} computed again" for name in sorted(computed & (acknowledged | there))),
                *([found[0]] if found and found.groups() != ("0", "0") else []),
                *([outcome.stdout] if summary.get("classes_computed", len(computed)) != len(computed) else []),
            ],
        }
        broken = {promise: what for promise, what in broken.items() if what}
        return Verdict(cut, len(acknowledged), len(there), len(computed), broken)

    def is_fine(self, how: str) -> bool:
        """Whether a class may be like that."""
        return how == "sound" or (how == "dropped" and self.setting.keep == "frontier")

    def states(self, disk: Path) -> dict[str, str]:
        """All classes that are on a disk: sound, dropped, or what is wrong with each."""
        return {
            path.name: state(path, self.reference / "classes" / path.name)
            for path in sorted(disk.glob("table/classes/??-*"))
        }


@dataclass(frozen=True)
class Verdict:
    """What was found after one power cut."""

    cut: str
    n_acknowledged: int
    n_found: int
    n_computed: int
    broken: dict[str, list[str]]
    """Each promise that was broken, and how."""


@dataclass(frozen=True)
class Recording:
    """A run that was written to a disk with a log."""

    blank: Path
    """The disk, before it was mounted."""
    log: Log
    began: int
    ended: int
    acknowledged: dict[str, int]

    def moment(self, number: int, random: Random) -> int:
        """A moment of the run: right behind an acknowledgement, or any, and now and then when it has just ended."""
        anywhere = random.choice([*self.log.moments(self.began, self.ended), self.ended])
        acknowledged = random.choice([*self.acknowledged.values()])
        return (acknowledged, anywhere, acknowledged, anywhere, self.ended)[number % 5]


# --------------------------------------------------------------------------------------------------- the whole


def tried(trial: Trial, n_cuts: int, random: Random, environment: dict[str, str]) -> dict[str, object]:
    """Record one run, cut the power so many times, and report."""
    recording = trial.record(environment)
    verdicts = [trial.cut(recording, number, random) for number in range(n_cuts)]
    broken = Counter(promise for verdict in verdicts for promise in verdict.broken)
    return {
        "setting": str(trial.setting),
        "cuts": n_cuts,
        "cuts_that_broke": dict(broken),
        "classes_acknowledged": sum(verdict.n_acknowledged for verdict in verdicts),
        "classes_found": sum(verdict.n_found for verdict in verdicts),
        "classes_computed": sum(verdict.n_computed for verdict in verdicts),
        "broken": [
            f"{promise}: {', '.join(what)} ({verdict.cut})"
            for verdict in verdicts
            for promise, what in verdict.broken.items()
        ],
    }


def in_peace(flags: list[str], table: Path) -> str:
    """Compute the table that everything is held against; return its digest."""
    command = [sys.executable, "-P", "-m", "yahtzee_cluster.run", *flags, "--store", str(table), "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    insist_done(result.returncode, result.stderr)
    digest: str = json.loads(result.stdout)["table_sha256"]
    return digest


def hold(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Try the settings, as far as their file systems can be had here; return what is to be reported."""
    flags, reference = options.flags.split(), folder / "reference"
    sha256 = in_peace(flags, reference)
    environment = {CARELESS: "yes"} if options.careless else {}
    reasons = {kind: missing(kind, folder) for kind in dict.fromkeys(setting.kind for setting in options.settings)}
    reports = []
    for setting in options.settings:
        if not reasons[setting.kind]:
            trial = Trial(setting, flags, reference, sha256, folder)
            reports.append(tried(trial, options.cuts, Random(f"{options.seed} {setting}"), environment))
            print(f"{setting}: {reports[-1]['cuts_that_broke'] or 'all kept'}", file=sys.stderr, flush=True)
    return {"settings": reports, "skipped": {kind: why for kind, why in reasons.items() if why}}


def refused() -> str:
    """Why there can be no namespaces with mounts and loop devices here, if so."""
    if os.geteuid():
        return "only root may use loop devices"
    try:
        result = subprocess.run(["unshare", *UNSHARED, "true"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "no unshare here"
    return f"no namespaces here: {result.stderr.strip()}" if result.returncode else ""


def matching(pattern: str) -> list[Setting]:
    """The settings whose names match a pattern, as file names do."""
    found = [setting for setting in settings() if fnmatchcase(str(setting), pattern)]
    if not found:
        raise argparse.ArgumentTypeError(f"matches none of: {'; '.join(map(str, settings()))}")
    return found


def parsed() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cuts", type=int, default=10, help="of each run")
    parser.add_argument("--settings", type=matching, default="*", help="those with such names, as `ext4*frontier*`")
    parser.add_argument("--flags", default="--rules yacht --G 3", help="of the job")
    parser.add_argument("--careless", action="store_true", help="run without any flush, to see that it is found out")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Cut the power; report as JSON; return 0 if all promises were kept, or none could be tried."""
    options, began = parsed(), time.monotonic()
    why_not = "" if options.inside else refused()
    if why_not:
        report: dict[str, Any] = {
            "settings": [],
            "skipped": dict.fromkeys((setting.kind for setting in options.settings), why_not),
        }
    elif not options.inside:
        os.execvp("unshare", ["unshare", *UNSHARED, sys.executable, *sys.argv, INSIDE])
    else:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # else the first process of a namespace ignores it
        with memory() as folder:
            report = hold(options, folder)
    for kind, why in report["skipped"].items():
        print(f"power cuts under {kind} are skipped: {why}", file=sys.stderr)
    asked = {"seed": options.seed, "flags": options.flags}
    print(json.dumps(asked | report | {"elapsed_s": round(time.monotonic() - began)}, indent=2))
    return 1 if any(setting["broken"] for setting in report["settings"]) else 0


if __name__ == "__main__":
    raise SystemExit(main())
