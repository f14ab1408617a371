"""Every verb of the command line but the cluster job.

Results go to stdout; a refusal is one line on stderr and exit code 2.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from time import perf_counter

from yahtzee_cluster import __version__
from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.rules import Rules, load_rules, preset_names, template

EPILOG = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage or bad input. "
    "YAHTZEE_CLUSTER_ISA names the instruction set to use: avx512, avx2, sse2 or portable."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a name of a game may be more than the terminal can show
    options = _parser().parse_args(arguments)
    verb: Callable[[argparse.Namespace], str] = options.verb
    try:
        result = verb(options)
    except YahtzeeClusterError as error:
        print(f"yahtzee-cluster: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    try:
        print(result, flush=True)
    except OSError as error:
        # Nothing more can be written there, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            return 0  # the reader has seen enough, `| head` for example
        print(f"yahtzee-cluster: the result cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="yahtzee-cluster", description="Exact optimal play for Yahtzee-like dice games.", epilog=EPILOG
    )
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")

    expected = verbs.add_parser(
        "expected",
        help="mean and standard deviation of the final score of best play",
        description="Solve a game for the highest expected score, from every state, and print its mean and deviation.",
    )
    expected.add_argument(
        "--rules",
        default="yahtzee",
        metavar="NAME|FILE",
        help="a rule set by name, see `yahtzee-cluster rules`, or a TOML file (default: yahtzee)",
    )
    expected.add_argument("--json", action="store_true", help="print one JSON object with full precision")
    expected.set_defaults(verb=_expected)

    rules = verbs.add_parser(
        "rules",
        help="list the rule sets, or print one as TOML",
        description="List the built-in rule sets, or print one as TOML, ready to edit and to give to --rules.",
    )
    rules.add_argument("name", nargs="?", metavar="NAME", help="print this rule set as TOML")
    rules.set_defaults(verb=_rules)
    return parser


def _expected(options: argparse.Namespace) -> str:
    rules = load_rules(options.rules)
    from yahtzee_cluster.objectives.expected import solve_expected  # only now: listing rules needs no kernels

    started = perf_counter()
    table = solve_expected(rules)
    elapsed = perf_counter() - started
    mean, std = float(table.mean[table.start]), table.std(table.start)
    if options.json:
        summary = {
            "rules": rules.name,
            "mean": mean,
            "std": std,
            "anchors": len(table.anchors),
            "elapsed_s": elapsed,
        }
        return json.dumps(summary)
    return "\n".join(
        [
            f"rules      {rules.name}",
            f"mean       {mean:.4f}{_published(rules.published_mean)}",
            f"std        {std:.4f}{_published(rules.published_std)}",
            f"anchors    {len(table.anchors):,} ({table.anchors.n_unmerged:,} with every upper total kept apart)",
            f"elapsed    {elapsed:.3f} s",
        ]
    )


def _published(value: str | None) -> str:
    return f"   published {value}" if value else ""


def _rules(options: argparse.Namespace) -> str:
    if options.name is not None:
        return template(options.name).rstrip("\n")
    heading = f"{'name':14}{'boxes':>5}  {'mean':>10}  {'std':>7}  published by, and what sets the rules apart"
    return "\n".join([heading, *(_row(load_rules(name)) for name in preset_names())])


def _row(rules: Rules) -> str:
    mean, std = rules.published_mean or "-", rules.published_std or "-"
    return f"{rules.name:14}{len(rules.categories):>5}  {mean:>10}  {std:>7}  {rules.source}"
