"""`yahtzee-cluster plan`: forecast memory, reads and time of a job, without computing it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.output import refuse_flags
from yahtzee_cluster.runtime.costs import costs_of
from yahtzee_cluster.runtime.flags import add_computation, parse_count
from yahtzee_cluster.runtime.plan_output import as_json, as_text, plot
from yahtzee_cluster.runtime.planner import make_plan
from yahtzee_cluster.runtime.scaling import make_scaling

RANKS = 3


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Print the memory and time that a run would need, for fixed sets of every size. The table is "
        "not computed: the real scheduler runs in a simulation, with costs measured on a few subsets."
    )
    parser.epilog = f"Example: {parser.prog} --target 400 --cache 256MB --ranks 16"
    add_computation(parser, Job)
    parser.add_argument(
        "--ranks", type=parse_count, metavar="N", help=f"number of ranks, including the master (default: {RANKS})"
    )
    parser.add_argument(
        "--scaling", action="store_true", help="print the time on 2 to 1,024 ranks instead, each with its best G"
    )
    parser.add_argument(
        "--costs",
        metavar="FILE|assumed",
        help="count with the costs in a file that --json has written on the machine to plan for, or with built-in ones "
        "(default: those measured here, kept for a day)",
    )
    parser.add_argument("--calibrate", action="store_true", help="measure the costs anew, even if they are known")
    parser.add_argument(
        "--plot", metavar="FILE", help="plot memory and reads against |G|, or time against ranks (svg, png, pdf)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> str:
    """Format a plan."""
    if options.scaling:
        refuse_flags(options, ["ranks"], "--scaling shows 2 to 1,024 ranks")
    if options.costs:
        refuse_flags(options, ["calibrate"], "--costs is for costs that are not to be measured")
    job = Job.of(options)
    problem = job.problem()
    known = costs_of(job, problem, options.costs, anew=options.calibrate)
    plan = (
        make_scaling(job, problem, known) if options.scaling else make_plan(job, problem, options.ranks or RANKS, known)
    )
    if options.plot is not None:
        plot(plan, Path(options.plot))
    return json.dumps(as_json(plan)) if options.json else "\n".join(as_text(plan))
