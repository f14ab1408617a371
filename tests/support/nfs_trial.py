"""How a scenario of `nfs.py` is judged: against tables that one process has computed on a local disk."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from launch import YACHT_SHA256, Job, started
from nfs_site import EXPORT, N_HOSTS, SHARED, Site

PROGRAM = "yahtzee_cluster.run: "
GAME = ["--rules", "yacht", "--G", "3", "--target", "60"]
LONGER = ["--rules", "yacht", "--G", "3", "--target", "300"]
"""So long that another command begins and ends meanwhile, and what becomes of it."""
GOALS = [
    ["--rules", "yacht", "--G", "3", "--objective", "utility", "--goal", goal] for goal in ("power:0.5", "power:2")
]
JUDGES = [GAME, GOALS[1]]
"""What is computed undisturbed."""
TABLE = SHARED / "table"
ON_SERVER = EXPORT / TABLE.name
PATIENCE_S = 400.0
"""For what takes seconds on a machine that is not emulated."""
FILES = ("/c.0", "/zarr.json", "/dropped")
"""What a class may have."""
SOME = 25
"""So many classes of 80 are there when something happens."""


@dataclass(frozen=True)
class Judge:
    """What came of runs of one process on a local disk."""

    tables: dict[str, Path]
    """By the flags that ask for them."""
    sha256: dict[str, str]

    def names(self) -> list[str]:
        """The classes of the game."""
        return [path.name for path in (self.tables[" ".join(GAME)] / "classes").glob("??-*")]

    def wrong(self, game: Sequence[str]) -> list[str]:
        """The classes on the server that are not, byte for byte, those of the table that nobody has disturbed."""
        table = self.tables.get(" ".join(game))
        if table is None:
            return []
        pairs = [(path, ON_SERVER / path.relative_to(table)) for path in table.glob("classes/??-*/*")]
        wrong = {path.parent.name for path, here in pairs if here.exists() and here.read_bytes() != path.read_bytes()}
        return sorted(wrong)


@dataclass
class Trial:
    """One scenario: what was expected of it and did not happen, and what was seen."""

    site: Site
    judge: Judge
    knows_disk_timeout: bool
    broken: list[str] = field(default_factory=list)
    seen: dict[str, Any] = field(default_factory=dict)

    def expect(self, fact: object, what: str, result: subprocess.CompletedProcess[str] | None = None) -> None:
        """A promise; if it is broken, the scenario goes on all the same."""
        if not fact:
            said = result.stderr.splitlines()[-12:] if result else []
            self.broken.append("\n".join([what, *said]))

    # --------------------------------------------------------------------------------------- what is there

    def classes(self) -> dict[str, int]:
        """The classes on the server, and the directory that each of them is."""
        return {path.name: path.stat().st_ino for path in (ON_SERVER / "classes").glob("??-*")}

    def look_everywhere(self) -> None:
        """Have every host ask for every name, so that it remembers what is there and what is not."""
        names = ["", ".lock", ".partial", "zarr.json", "classes", "classes/zarr.json", "index"]
        names += [f"classes/{name}{file}" for name in self.judge.names() for file in ("", *FILES)]
        for host in range(1, N_HOSTS + 1):
            self.site.run(
                host, "bash", "-c", f"cd {SHARED} && ls -lRa . && cd table && stat {' '.join(names[1:])} 2>&1; true"
            )

    # ------------------------------------------------------------------------------------------- commands

    @contextmanager
    def job(
        self,
        *flags: object,
        game: Sequence[str] = GAME,
        hosts: Sequence[int] = (1, 2, 3),
        launcher: Sequence[object] = (),
    ) -> Iterator[Job]:
        """The job on three hosts, while it runs; the launcher may have flags of its own."""
        arguments = ["-m", "yahtzee_cluster.run", *game, *flags, "--json", "--store", TABLE]
        with started(self.site.ranks(hosts, arguments, *launcher)) as job:
            yield job

    def under_way(self, job: Job, n_more: int = SOME) -> None:
        """Wait until a job has committed so many classes."""
        there = len(self.classes())
        job.wait_until(lambda: len(self.classes()) >= there + n_more, PATIENCE_S)
        self.expect(job.process.poll() is None, "the run was over before it could be disturbed", None)

    def ended_well(
        self, result: subprocess.CompletedProcess[str], before: dict[str, int], game: Sequence[str] = GAME
    ) -> None:
        """The run has finished the right table, computed nothing again that was there, and left nothing behind."""
        wrong = self.judge.wrong(game)
        self.expect(not wrong, f"wrong on disk: {wrong}")
        if result.returncode != 0 or not result.stdout.strip():
            self.expect(False, f"exit code {result.returncode}, not 0", result)
            return
        summary = json.loads(result.stdout)
        self.expect("Traceback" not in result.stderr, "a traceback", result)
        self.expect(summary["table_sha256"] == self.judge.sha256[" ".join(game)], "another table")
        n_wanted = summary["classes"] - len(before)
        n_computed = summary["classes_computed"]
        self.expect(n_computed == n_wanted, f"{n_computed} classes were computed, {n_wanted} were missing", result)
        now = self.classes()
        again = [name for name, inode in before.items() if now.get(name) != inode]
        self.expect(not again, f"computed again, or lost: {again}")
        left = {path.name for path in ON_SERVER.iterdir()} - {"classes", "index", "zarr.json"}
        left |= {str(path.relative_to(ON_SERVER)) for path in ON_SERVER.rglob(".nfs*")}
        self.expect(not left, f"left over: {sorted(left)}")

    def complaint(self, result: subprocess.CompletedProcess[str], code: int, pattern: str) -> None:
        """The run has ended with this code and one line that says this."""
        said = [line for line in result.stderr.splitlines() if PROGRAM in line]
        self.seen.setdefault("said", []).extend(said)
        self.expect(result.returncode == code, f"exit code {result.returncode}, not {code}", result)
        self.expect(len(said) == 1, f"{len(said)} lines instead of one", result)
        self.expect(any(re.search(pattern, line) for line in said), f"nothing of “{pattern}”", result)
        self.expect("Traceback" not in result.stderr, "a traceback", result)

    def spent(self, where: str, result: subprocess.CompletedProcess[str]) -> None:
        """What a run has taken, in all and for its classes."""
        summary = json.loads(result.stdout)
        self.seen[where] = {key: round(summary[key], 2) for key in ("elapsed_s", "kernel_s", "read_s", "write_s")}

    def end(self, job: Job) -> subprocess.CompletedProcess[str]:
        """Wait for the end of a job; one that hangs is a broken promise."""
        try:
            return job.end(PATIENCE_S)
        except subprocess.TimeoutExpired:
            job.kill()
            result = job.end(PATIENCE_S)
            self.expect(False, f"no end after {PATIENCE_S:g} s", result)
            return result


def compute_undisturbed(folder: Path) -> None:
    """Compute the tables that are to come out, one process each."""
    for n, flags in enumerate(JUDGES):
        words = [sys.executable, "-m", "yahtzee_cluster.run", *flags, "--store", str(folder / str(n)), "--json"]
        result = subprocess.run(words, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
        (folder / f"{n}.json").write_text(result.stdout)


def judge(folder: Path) -> Judge:
    """The judge that `compute_undisturbed` has left in a folder."""
    games = {" ".join(flags): n for n, flags in enumerate(JUDGES)}
    said = {game: json.loads((folder / f"{n}.json").read_text()) for game, n in games.items()}
    digests = {game: summary["table_sha256"] for game, summary in said.items()}
    return Judge({game: folder / str(n) for game, n in games.items()}, digests | {" ".join(LONGER): YACHT_SHA256})
