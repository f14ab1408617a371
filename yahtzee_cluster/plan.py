"""`python -m yahtzee_cluster.plan`: forecast memory, reads and time of a job, without computing it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.engine.simulator import Costs
from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.output import Parser, print_result, refuse_flags
from yahtzee_cluster.runtime.flags import add_flags, parse_count
from yahtzee_cluster.runtime.planner import as_json, as_text, calibrate, make_plan, make_scaling, plot, scaling_as_text

PROGRAM = "python -m yahtzee_cluster.plan"
RANKS = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a plan; return the exit code."""
    parser = Parser(
        prog=PROGRAM,
        description="Print the memory and time that a run would need, for fixed sets of every size. Nothing is "
        "computed: the real scheduler runs in a simulation.",
        epilog=f"Example: {PROGRAM} --target 400 --cache 256MB --ranks 16",
    )
    add_flags(parser, Job)
    parser.add_argument(
        "--ranks", type=parse_count, metavar="N", help=f"number of ranks, including the master (default: {RANKS})"
    )
    parser.add_argument(
        "--scaling", action="store_true", help="print the time on 2 to 1,024 ranks instead, for the job's own G"
    )
    parser.add_argument(
        "--calibrate", action="store_true", help="measure the costs on this machine instead of using the built-in ones"
    )
    parser.add_argument("--plot", metavar="FILE", help="plot memory and reads against |G| (svg, png, pdf)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    try:
        options = parser.parse_args(arguments)
        if options.plot:
            refuse_flags(options, ["scaling"], "--plot draws fixed sets of every size, and --scaling keeps to one")
        if options.scaling:
            refuse_flags(options, ["ranks"], "--scaling shows 2 to 1,024 ranks")
        job = Job.of(options)
        problem = job.problem()
        costs = calibrate(problem, job) if options.calibrate else Costs()
        if options.scaling:
            scaling = make_scaling(job, problem, costs)
            return print_result(
                PROGRAM, json.dumps(as_json(scaling)) if options.json else "\n".join(scaling_as_text(scaling))
            )
        plan = make_plan(job, problem, options.ranks or RANKS, costs)
        if options.plot:
            plot(plan, Path(options.plot))
    except YahtzeeClusterError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return print_result(PROGRAM, json.dumps(as_json(plan)) if options.json else "\n".join(as_text(plan)))


if __name__ == "__main__":
    raise SystemExit(main())
