"""Real NFS: the program on three hosts that mount one export of a kernel's NFS server, disturbed in every way there is.

`make nfs` runs this file. All takes place in a virtual machine (`vm.py`), because a machine's own kernel need have no
NFS and should not be asked to stop its server. A table that one process has computed on a local disk is the judge. The
report is JSON; the exit code is 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import vm
from launch import MPIRUN, signal_to, started
from nfs_site import EXPORT, N_HOSTS, site
from nfs_trial import (
    GAME,
    GOALS,
    LONGER,
    ON_SERVER,
    PATIENCE_S,
    PROGRAM,
    SOME,
    TABLE,
    Trial,
    compute_undisturbed,
    judge,
)

INSIDE = "--inside"
ALL_S = 3 * 3600
NOT_LOOKED = 1
"""The exit code when there can be no such machine."""


# ------------------------------------------------------------------------------------------------ scenarios


def plain(trial: Trial) -> None:
    """Nobody disturbs the run."""
    with trial.job() as job:
        trial.ended_well(trial.end(job), {})


def compared(trial: Trial) -> None:
    """Nobody disturbs the run; the same ranks on the server's own disk tell what NFS costs."""
    local = EXPORT / "local"
    alone = [MPIRUN, "-n", N_HOSTS, sys.executable, "-m", "yahtzee_cluster.run", *GAME, "--json", "--store", local]
    for n in range(2):
        with started(alone) as job:
            trial.spent(f"local {n}", trial.end(job))
        with trial.job() as job:
            result = trial.end(job)
        trial.spent(f"NFS {n}", result)
        trial.ended_well(result, {})
        shutil.rmtree(local)
        shutil.rmtree(ON_SERVER)


def remembered_absences(trial: Trial) -> None:
    """Every host remembers of all the names that the run will make that there is nothing."""
    ON_SERVER.mkdir()
    trial.look_everywhere()
    plain(trial)


def killed_and_resumed(trial: Trial, flags: Sequence[str] = (), looked: str = "after it") -> None:
    """All ranks are killed, every host has looked at every name, and the command is given with another first host."""
    with trial.job(*flags) as job:
        trial.under_way(job, SOME // 2)
        if looked == "before it":
            trial.look_everywhere()
        trial.under_way(job, SOME // 2)
        ranks = list(job.ranks.values())
        job.kill()
        trial.end(job)
    while any(Path(f"/proc/{pid}").exists() for pid in ranks):
        time.sleep(0.1)
    before = trial.classes()
    if looked == "after it":
        trial.look_everywhere()
    with trial.job(*flags, hosts=(2, 3, 1)) as job:
        trial.ended_well(trial.end(job), before)
    trial.seen["kept"] = len(before)


def second_run(trial: Trial) -> None:
    """While a run is on, somebody starts another one on another host: it is refused, the first goes on."""
    with trial.job(game=LONGER) as job:
        trial.under_way(job, 1)
        words = trial.site.python(3, "-m", "yahtzee_cluster.run", *LONGER, "--store", TABLE)
        second = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        trial.expect(job.process.poll() is None, "the first was over before the second had been refused")
        trial.complaint(second, 2, r"is being written by another run \(process \d+ on h1, since ")
        trial.ended_well(trial.end(job), {}, LONGER)


def two_runs_unlocked(trial: Trial) -> None:
    """The same where locks stay on the host that takes them: nothing is promised; what happens is reported."""
    with trial.job(game=LONGER) as job:
        trial.under_way(job, 1)
        words = trial.site.python(3, "-m", "yahtzee_cluster.run", *LONGER, "--store", TABLE)
        second = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        first = trial.end(job)
    for name, result in (("first", first), ("second", second)):
        said = [line for line in result.stderr.splitlines() if PROGRAM in line]
        trial.seen[name] = {"code": result.returncode, "said": said}
    trial.expect(second.returncode != 2, "locks keep hosts apart here as well")


def killed_worker(trial: Trial) -> None:
    """One worker is killed where the launcher lets the others go on: they do so at once, and finish the table."""
    with trial.job("--lease", 600, launcher=["-disable-auto-cleanup"]) as job:
        trial.under_way(job)
        signal_to(job.ranks[2], signal.SIGKILL)
        killed = time.monotonic()
        job.wait_until(lambda: "rank 2 is dead: it is lost" in job.stderr.read_text(), PATIENCE_S)
        trial.seen["missed_after_s"] = round(time.monotonic() - killed, 1)
        trial.expect(trial.seen["missed_after_s"] < 5, f"missed only after {trial.seen['missed_after_s']} s")
        trial.ended_well(trial.end(job), {})


def server_away(trial: Trial, how: str, away_s: float) -> None:
    """The server is away for longer than the lease, and back before the disk is given up: the run waits."""
    with trial.job("--lease", 5) as job:
        trial.under_way(job)
        with trial.site.away(how):
            time.sleep(away_s)
        result = trial.end(job)
    if trial.knows_disk_timeout:
        trial.expect("has not answered for" in result.stderr, "nobody said that the disk does not answer", result)
    trial.seen["said"] = [line for line in result.stderr.splitlines() if PROGRAM in line or "answer" in line]
    trial.ended_well(result, {})


def server_away_for_good(trial: Trial, how: str) -> None:
    """The server is away for longer than the run waits for the disk: one line says so; the same command goes on."""
    limit = ["--disk-timeout", 10] if trial.knows_disk_timeout else []
    with trial.job("--lease", 5, *limit) as job:
        trial.under_way(job)
        went = time.monotonic()
        with trial.site.away(how):
            result = trial.end(job)
            trial.seen["ended_after_s"] = round(time.monotonic() - went, 1)
            time.sleep(1)
    trial.complaint(result, 1, re.escape(str(TABLE)))
    before = trial.classes()
    with trial.job() as job:
        trial.ended_well(trial.end(job), before)


def replaced_table(trial: Trial) -> None:
    """The table is removed under a run, and one of another goal begun in its place: that one ends right.

    The ranks of the first sleep meanwhile, as if each were busy with a class that takes long.
    """
    old, new = GOALS
    with trial.job(game=old) as first:
        trial.under_way(first)
        ranks = list(first.ranks.values())
        for pid in ranks:
            signal_to(pid, signal.SIGSTOP)
        while ON_SERVER.exists():  # some of what they have asked for may still be on its way
            shutil.rmtree(ON_SERVER, ignore_errors=True)
        with trial.job(game=new, hosts=(3, 2, 1)) as second:
            trial.under_way(second, SOME // 5)
            for pid in ranks:
                signal_to(pid, signal.SIGCONT)
            ended, result = trial.end(first), trial.end(second)
    trial.complaint(ended, 1, "class|table")
    trial.ended_well(result, {}, new)
    if result.returncode:
        before = trial.classes()
        with trial.job(game=new) as again:
            trial.ended_well(trial.end(again), before, new)


frontier = partial(killed_and_resumed, flags=["--keep", "frontier"])
NFS4 = "vers=4.2,hard"
NFS3 = "vers=3,hard"
SCENARIOS: dict[str, tuple[str, Callable[[Trial], None]]] = {
    "plain": (NFS4, compared),
    "absences remembered": (NFS4, remembered_absences),
    "absences remembered, actimeo=600": (f"{NFS4},actimeo=600", remembered_absences),
    "killed and resumed": (NFS4, killed_and_resumed),
    "killed and resumed, actimeo=600": (f"{NFS4},actimeo=600", killed_and_resumed),
    "killed and resumed, --keep frontier, actimeo=600": (f"{NFS4},actimeo=600", frontier),
    "killed and resumed, --keep frontier, actimeo=600, looked at earlier": (
        f"{NFS4},actimeo=600",
        partial(frontier, looked="before it"),
    ),
    "a second run": (NFS4, second_run),
    "a worker killed": (NFS4, killed_worker),
    "a worker killed, actimeo=600": (f"{NFS4},actimeo=600", killed_worker),
    "the server restarted, 20 s": (NFS4, partial(server_away, how="stopped", away_s=20)),
    "the server cut off, 20 s": (NFS4, partial(server_away, how="cut off", away_s=20)),
    "the server stopped for good": (NFS4, partial(server_away_for_good, how="stopped")),
    "the server cut off for good": (NFS4, partial(server_away_for_good, how="cut off")),
    "the table replaced by another": (NFS4, replaced_table),
    "NFS 3, killed and resumed": (NFS3, killed_and_resumed),
    "NFS 3, a second run": (NFS3, second_run),
    "NFS 3, nolock, a second run": (f"{NFS3},nolock", two_runs_unlocked),
}


# ---------------------------------------------------------------------------------------------- inside, outside


def one(name: str, trial: Trial) -> dict[str, Any]:
    """Play one scenario; say how it went."""
    options, scenario = SCENARIOS[name]
    began = time.monotonic()
    try:
        with trial.site.mounted(options):
            scenario(trial)
    except Exception:
        trial.broken.append(traceback.format_exc())
    shutil.rmtree(ON_SERVER, ignore_errors=True)
    report = {"mount": options, "took_s": round(time.monotonic() - began), **trial.seen, "broken": trial.broken}
    print(f"{name}: {'broken' if trial.broken else 'held'}, {report['took_s']} s", file=sys.stderr, flush=True)
    for why in trial.broken:
        print(f"  {why}", file=sys.stderr, flush=True)
    return report


def inside(names: Sequence[str]) -> int:
    """Play scenarios on the virtual machine; print the report."""
    told = subprocess.run(
        [sys.executable, "-m", "yahtzee_cluster.run", "--help"], capture_output=True, text=True, check=True
    )
    with site() as here:
        begin = partial(Trial, here, judge(vm.DESK), "--disk-timeout" in told.stdout)
        report = {name: one(name, begin()) for name in names}
    print(json.dumps({"kernel": platform.release(), "scenarios": report}))
    return int(any(entry["broken"] for entry in report.values()))


def main() -> int:
    """Boot a machine, have the scenarios played there, and hand on its report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="TEXT", help="only scenarios in whose name this stands")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    only = options.only or [""]
    names = [name for name in SCENARIOS if any(text in name for text in only)]
    if not names:
        parser.error(f"--only: no scenario is called so; there are: {'; '.join(SCENARIOS)}")
    if options.inside:
        return inside(names)
    if lacking := vm.missing():
        print(f"nfs: {lacking}", file=sys.stderr)
        return NOT_LOOKED
    with tempfile.TemporaryDirectory() as folder:
        desk = Path(folder)
        compute_undisturbed(desk)
        words = shlex.join(
            [sys.executable, str(Path(__file__).resolve()), INSIDE, *(f"--only={text}" for text in only)]
        )
        vm.boot(desk, f"{words} >{vm.DESK}/report 2>/dev/ttyS0\necho $? >{vm.DESK}/code\n", ALL_S)
        report = json.loads((desk / "report").read_text() or "{}")
        print(json.dumps({"accelerator": vm.accelerator(), **report}, indent=2))
        return int((desk / "code").read_text())


if __name__ == "__main__":
    raise SystemExit(main())
