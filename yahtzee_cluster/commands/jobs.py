"""`yahtzee-cluster jobs`: list the jobs and the files for Slurm that come with the program, or print one."""

from __future__ import annotations

import argparse

from yahtzee_cluster.commands.job import JOBS, job_names
from yahtzee_cluster.errors import FileError
from yahtzee_cluster.fields import read_text
from yahtzee_cluster.text import suggestion

SLURM = {
    "site.sh": "Settings of a cluster, to adapt.",
    "chain.sh": "Plan, compute, verify and report: four jobs that run one after the other.",
}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "List the jobs that come with the program, for --job, and the files for Slurm; or print one, ready to edit."
    )
    parser.epilog = f"Example: {parser.prog} maxprob-800 >my-job.toml"
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this file")


def run(options: argparse.Namespace) -> str:
    """List the files, or print one."""
    jobs = job_names()
    if options.name is None:
        lines = {name: _text(name).partition("\n")[0].removeprefix("# ") for name in jobs} | SLURM
        return "\n".join(f"{name:20}{about}" for name, about in lines.items())
    if options.name not in [*jobs, *SLURM]:
        raise FileError(
            options.name, f"no such file comes with the program; {suggestion(options.name, [*jobs, *SLURM])}"
        )
    return _text(options.name).rstrip("\n")


def _text(name: str) -> str:
    path = JOBS.parent / "slurm" / name if name in SLURM else JOBS / f"{name}.toml"
    return read_text(str(path))
