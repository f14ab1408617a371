"""`yahtzee-cluster slurm`: batch scripts for Slurm.

The text of a script is a pure function of what is asked for and what the planner says.

Every script passes Slurm's warning on to the run, and has itself requeued until the run is done.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from math import ceil
from pathlib import Path

from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.commands.shared import count
from yahtzee_cluster.engine.simulator import FIXED_BYTES, simulate
from yahtzee_cluster.errors import FileError, UsageError, YahtzeeClusterError
from yahtzee_cluster.fields import MAX_COUNT, is_there
from yahtzee_cluster.runtime.configuration import fixed_set, search_of
from yahtzee_cluster.runtime.costs import ASSUMED, costs_of
from yahtzee_cluster.runtime.scaling import MOST_RANKS, ranks_worth

MARGIN_S = 60
"""How long before its end a job is warned; Slurm may do so up to a minute earlier."""
SHORTEST_S = 180
START_S, FACTOR = 180, 4
"""What is asked for unless told: so long for starting, and so many times the forecast, which knows one machine only."""
LAUNCHERS = {
    # srun hands USR1 on to the ranks and kills them on TERM; MPICH's mpirun hands TERM on and needs USR1 for itself.
    "srun": ("USR1", 'srun --kill-on-bad-exit --cpus-per-task={threads} "$PYTHON"'),
    "mpirun": ("TERM", '"$MPIRUN" -n {ranks} "$PYTHON"'),
}
SITE_FAILS = 99
"""Exit code of the shell that submits, if the site file fails; sbatch and the shell have no such code."""
SITE_MISSING = (
    "no such site file here; `yahtzee-cluster jobs site.sh >site.sh` writes one to adapt, and --site names it"
)
SCRIPT = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={ranks_per_node}
#SBATCH --cpus-per-task={threads}
#SBATCH --mem={megabytes}M
#SBATCH --time={time}
#SBATCH --signal=B:USR1@{margin}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log

# Printed by: {command}

. {site} || {{ echo "the site file's last command failed, with code $?" >&2; exit 2; }}

{run} &
run=$!

# Slurm's warning, or a cancellation: have the ranks commit what they have begun, and leave.
stopped=
trap 'stopped=yes; trap "" USR1 TERM; kill -{signal} "$run"' USR1 TERM
wait "$run"
code=$?
if [ -n "$stopped" ]; then # only the wait is over, not the run
    wait "$run"
    code=$?
fi

# The same script goes on from what was committed. 75 is a stop on request; 2 is wrong usage, and would be wrong again;
# other failures are tried again while the job was restarted less than three times.
case $code in
0 | 2) exit "$code" ;;
75) ;;
*) [ -n "$stopped" ] || [ "${{SLURM_RESTART_COUNT:-0}}" -lt 3 ] || exit "$code" ;;
esac
# A job that was cancelled is not running any more, and stays cancelled.
if [ "$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%T)" = RUNNING ]; then
    echo "exit code $code: requeued, to go on from there" >&2
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Print a batch script that computes a table, with memory and time from the planner. "
        "Before its time limit the script stops the run, requeues itself, and resumes from what was committed."
    )
    parser.epilog = f"Example: {parser.prog} --job maxprob-800 --nodes 4 --ranks-per-node 8 --submit"
    parser.add_argument(
        "--job", required=True, metavar="NAME|FILE", help="a job that `yahtzee-cluster jobs` lists, or a TOML file"
    )
    parser.add_argument("--nodes", required=True, type=count, metavar="N", help="number of nodes")
    parser.add_argument(
        "--ranks-per-node",
        required=True,
        type=count,
        metavar="N",
        help="ranks on each node; one rank of the job is the master",
    )
    parser.add_argument("--time", help="MINUTES, HH:MM:SS or D-HH:MM:SS (default: four times the forecast)")
    parser.add_argument("--threads", type=count, metavar="N", help="cores used by each rank (default: the job's)")
    parser.add_argument("--store", metavar="DIR", help="directory of the table (default: the job's, or in $RUNS)")
    parser.add_argument(
        "--launcher", choices=["srun", "mpirun"], default="srun", help="how ranks are started (default: srun)"
    )
    parser.add_argument(
        "--site", default="slurm/site.sh", metavar="FILE", help="settings of this cluster (default: slurm/site.sh)"
    )
    parser.add_argument(
        "--costs",
        default=ASSUMED,
        metavar="FILE",
        help="costs for the forecast, written there by `plan --json` on this cluster (default: built-in ones)",
    )
    parser.add_argument("--submit", action="store_true", help="submit the script, and print the job number instead")


def run(options: argparse.Namespace) -> str:
    """Print the batch script, or submit it."""
    request = Request(**{field.name: getattr(options, field.name) for field in fields(Request)})
    text = ready(request)
    return submit(text, request.site) if options.submit else text


@dataclass(frozen=True)
class Request:
    """What is asked for, in the words of the flags."""

    job: str
    nodes: int
    ranks_per_node: int
    time: str | None = None
    threads: int | None = None
    store: str | None = None
    launcher: str = "srun"
    site: str = "slurm/site.sh"
    costs: str = ASSUMED

    def __post_init__(self) -> None:
        for flag, value in self.given.items():
            if isinstance(value, int) and not 1 <= value <= MAX_COUNT:
                raise UsageError(f"{flag}: expected a whole number from 1 to {MAX_COUNT}, found {value}")
            if isinstance(value, str) and not (value and value.isprintable()):
                raise UsageError(f"{flag}: expected a name of printable characters, found {value!r}")
        if self.time is not None and seconds(self.time) < SHORTEST_S:
            raise UsageError(
                f"--time: expected at least {clock(SHORTEST_S)}, since the warning may come {clock(MARGIN_S + 60)} "
                f"before the end; found {self.time}"
            )

    @property
    def given(self) -> dict[str, str | int]:
        """The flags that say what is not so by default."""
        values = {
            "--" + field.name.replace("_", "-"): (getattr(self, field.name), field.default) for field in fields(self)
        }
        return {flag: value for flag, (value, default) in values.items() if value != default}

    @property
    def ranks(self) -> int:
        """How many there are on all nodes, the master among them."""
        return self.nodes * self.ranks_per_node


@dataclass(frozen=True)
class Needs:
    """What the job and the planner say that a run needs."""

    threads: int
    rank_bytes: int
    makespan_s: float
    table: str | None
    """The name of the table's directory, if the job leaves it open."""
    fewer: str | None = None
    """What to say if not all of the nodes, or of the ranks on a single node, are worth it."""


def needs(request: Request) -> Needs:
    """What a run of the job needs on so many ranks; a job that fits no cache is refused as the run would refuse it."""
    job = Job.read(request.job).overridden({"threads": request.threads, "store": request.store})
    problem = job.problem()
    n_workers = max(1, request.ranks - 1)
    search = search_of(problem)
    fixed = fixed_set(job, problem, n_workers, search)
    partition, costs = search.partition(fixed), costs_of(job, problem, request.costs).costs

    def makespan_s(n_ranks: int) -> float:
        return simulate(partition, max(1, n_ranks - 1), job.cache_bytes, costs, job.threads).makespan_s

    directory = job.directory(fixed)
    table = directory.name if job.store is None else None
    rank_bytes = job.cache_bytes + FIXED_BYTES
    worth = ranks_worth(job, problem, search, costs)
    return Needs(job.threads, rank_bytes, makespan_s(request.ranks), table, fewer(request, worth, makespan_s))


def fewer(request: Request, worth: int, makespan_s: Callable[[int], float]) -> str | None:
    """What to say if fewer nodes, or fewer ranks on a single node, have as many ranks as are worth it."""
    flag, n, ranks_each = "--nodes", request.nodes, request.ranks_per_node
    if n == 1:
        flag, n, ranks_each = "--ranks-per-node", ranks_each, 1
    enough = ceil(worth / ranks_each)
    if enough >= n or worth == MOST_RANKS:
        return None
    n_ranks = enough * ranks_each
    return (
        f"{flag} {enough} would do, because about {worth} ranks are worth it: the forecast is "
        f"{_seconds(makespan_s(n_ranks))} on {n_ranks} ranks, and {_seconds(makespan_s(request.ranks))} on "
        f"{request.ranks}"
    )


def _seconds(time_s: float) -> str:
    return f"{time_s:.1f} s" if time_s < 10 else f"{time_s:,.0f} s"


def script(request: Request, needs: Needs) -> str:
    """The batch script."""
    signal, launcher = LAUNCHERS[request.launcher]
    start = launcher.format(ranks=request.ranks, threads=needs.threads)
    flags = {flag: value for flag, value in request.given.items() if flag in ("--job", "--threads", "--store")}
    table = f' --store "$RUNS"/{shlex.quote(needs.table)}' if needs.table else ""
    return SCRIPT.format(
        name=re.sub(r"[^A-Za-z0-9._-]+", "-", Path(request.job).stem),
        nodes=request.nodes,
        ranks_per_node=request.ranks_per_node,
        threads=needs.threads,
        megabytes=ceil(request.ranks_per_node * needs.rank_bytes / (1 << 20)),
        time=clock(time_s(request, needs)),
        margin=MARGIN_S,
        command=f"yahtzee-cluster slurm {_joined(request.given)}",
        site=shlex.quote(_sourced(request.site)),
        run=f"{start} -m yahtzee_cluster.run {_joined(flags)}{table}",
        signal=signal,
    )


def _sourced(file: str) -> str:
    return file if "/" in file else f"./{file}"  # the shell looks for plain names on PATH


def _joined(flags: dict[str, str | int]) -> str:
    return shlex.join(str(word) for pair in flags.items() for word in pair)


def time_s(request: Request, needs: Needs) -> int:
    """The time to ask for."""
    if request.time is not None:
        return seconds(request.time)
    return 60 * ceil((START_S + FACTOR * needs.makespan_s + MARGIN_S) / 60)


def seconds(time: str) -> int:
    """A time as Slurm writes it: M, M:S, H:M:S, D-H, D-H:M or D-H:M:S."""
    if not re.fullmatch(r"(\d{1,4}-)?\d{1,6}(:\d{1,2}){0,2}", time):
        raise UsageError(f"--time: expected minutes, HH:MM:SS or D-HH:MM:SS, found {time!r}")
    days, dash, rest = time.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if not dash and len(parts) < 3:
        parts.insert(0, 0)
    hours, minutes, rest_s = [*parts, 0, 0][:3]
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + rest_s


def clock(time_s: int) -> str:
    """A time as Slurm reads it."""
    days, rest_s = divmod(time_s, 86400)
    return (f"{days}-" if days else "") + f"{rest_s // 3600:02}:{rest_s // 60 % 60:02}:{rest_s % 60:02}"


def doubt(request: Request, needs: Needs) -> str | None:
    """What is to be said of a time that will hardly do in one go."""
    if time_s(request, needs) >= needs.makespan_s + MARGIN_S:
        return None
    return f"--time {request.time} is less than the forecast of {clock(ceil(needs.makespan_s))}; expect requeues"


def ready(request: Request) -> str:
    """The batch script of a request, on a site whose file is there."""
    if not (is_there(Path(request.site)) and Path(request.site).is_file()):
        raise FileError(request.site, SITE_MISSING)
    needed = needs(request)
    for said in (doubt(request, needed), needed.fewer):
        if said:
            print(f"yahtzee-cluster: {said}", file=sys.stderr)
    return script(request, needed).rstrip("\n")


def submit(script: str, site: str) -> str:
    """Hand a script to Slurm, with what the site file sets for it; return the job's number."""
    shell = f'. "$0" >&2 || exit {SITE_FAILS}; exec sbatch --parsable'
    command = ["bash", "-c", shell, _sourced(site)]
    result = subprocess.run(command, input=script, capture_output=True, text=True, check=False)  # noqa: S603
    said = " ".join((result.stderr + result.stdout).split())
    if result.returncode == 127:
        raise UsageError("--submit: no sbatch on PATH; submit where Slurm is, or without --submit print the script")
    if result.returncode == SITE_FAILS:
        raise FileError(site, f"its last command failed: {said}" if said else "its last command failed")
    if result.returncode:
        raise YahtzeeClusterError(f"sbatch fails with code {result.returncode}: {said}")
    number = re.fullmatch(r"([1-9]\d*)(;.*)?", result.stdout.strip())
    if not number:
        raise YahtzeeClusterError(f"sbatch gives no number of a job: {said}")
    return number[0]
