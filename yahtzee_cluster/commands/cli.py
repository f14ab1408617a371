"""The command `yahtzee-cluster`: picks a verb, runs it, prints its result.

Results go to stdout; a refusal is one line on stderr and exit code 2.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from yahtzee_cluster import __version__
from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.output import OutputError, Parser, open_streams, output_failed, print_result

VERBS = {
    "expected": "mean and standard deviation of the final score of best play",
    "rules": "list the rule sets, or print one as TOML",
    "value": "one probability or expected score out of a table",
    "advise": "which dice to keep, and where to score",
    "curve": "the probability of every final score, from the start",
    "statistics": "moments of every box under a strategy, and percentiles of the final score",
    "compare": "where playing for a score and for the highest expected score differ",
    "duel": "strategies against each other",
    "report": "a page with tables and figures",
    "status": "how much of a table is finished",
    "verify": "check every byte of a table",
    "slurm": "a batch script that computes a table under Slurm",
}
"""What each verb prints or does. Its flags and its action are in the module of the same name."""

EPILOG = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage or bad input. "
    "YAHTZEE_CLUSTER_ISA names the instruction set to use: avx512, avx2, sse2 or portable."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; return its exit code."""
    open_streams()
    try:
        result = _run(sys.argv[1:] if arguments is None else arguments)
    except YahtzeeClusterError as error:
        print(f"yahtzee-cluster: {error}", file=sys.stderr)
        return error.exit_code
    except OutputError as error:
        return output_failed("yahtzee-cluster", error)
    except KeyboardInterrupt:
        return 130
    return print_result("yahtzee-cluster", result) if result else 0


def _run(arguments: Sequence[str]) -> str:
    """Parse and run one verb. Only its own module is loaded."""
    parser = Parser(
        prog="yahtzee-cluster", description="Exact optimal play for Yahtzee-like dice games.", epilog=EPILOG
    )
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    parsers = {name: verbs.add_parser(name, help=about) for name, about in VERBS.items()}
    chosen = next((word for word in arguments if word in VERBS), None)
    verb = import_module(f"{__package__}.{chosen}") if chosen else None
    if verb:
        verb.add_flags(parsers[str(chosen)])
    options = parser.parse_args(arguments)
    assert verb
    result: str = verb.run(options)
    return result
