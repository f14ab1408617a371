"""The command `yahtzee-cluster`: picks a verb, runs it, prints its result.

Results go to stdout; a refusal is one line on stderr and exit code 2.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module

from yahtzee_cluster.output import Parser, add_version, print_result_of
from yahtzee_cluster.runtime.signals import end_quietly_on_interrupt

PROGRAM = "yahtzee-cluster"
VERBS = {
    "run": "compute a table, with or without mpirun",
    "plan": "the memory and time that a run would need",
    "jobs": "list the jobs that come with the program, or print one",
    "expected": "mean and standard deviation of the final score of best play",
    "rules": "list the rule sets, or print one as TOML",
    "value": "one probability or expected score out of a table",
    "advise": "which dice to keep, and where to score",
    "probe": "all that is to be known of a position, for any goal",
    "review": "what luck and decisions made of a game",
    "practice": "positions where people go wrong, to practise on or as a test",
    "play": "a whole game with dice, yours or a strategy's, written down",
    "web": "the coach in the browser",
    "curve": "the probability of every final score, from the start",
    "statistics": "moments of every box under a strategy, and percentiles of the final score",
    "compare": "where playing for a score and for the highest expected score differ",
    "strategies": "list the strategies that come with the program, or print one as TOML",
    "evaluate": "what a strategy earns, and what its decisions cost, exactly",
    "duel": "strategies against each other",
    "search": "the best strategy of a class, by its exact mean",
    "report": "a page with tables and figures",
    "status": "how much of a table is finished",
    "verify": "check every byte of a table",
    "slurm": "a batch script that computes a table under Slurm",
    "completion": "what a shell needs to complete commands and flags",
    "man": "the manual page",
}
"""What each verb prints or does. Its flags and its action are in the module of the same name."""

EPILOG = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage or bad input. "
    "YAHTZEE_CLUSTER_ISA names the instruction set to use: avx512, avx2, sse2 or portable."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["run"]:  # whose flags the master parses, once all ranks are there
        end_quietly_on_interrupt()
        import_module(f"{__package__}.run").start(words[1:])
    return print_result_of(PROGRAM, lambda: _run(words))


def _run(arguments: Sequence[str]) -> str:
    """Parse and run one verb. Only its own module is loaded."""
    chosen = [word for word in arguments if word in VERBS][:1]
    options = make_parser(chosen).parse_args(arguments)
    result: str = import_module(f"{__package__}.{chosen[0]}").run(options)
    return result


def make_parser(loaded: Iterable[str] = VERBS) -> Parser:
    """The parser of all verbs, with the flags of those whose modules are to be loaded."""
    parser = Parser(prog=PROGRAM, description="Exact optimal play for Yahtzee-like dice games.", epilog=EPILOG)
    add_version(parser)
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    parsers = {name: verbs.add_parser(name, help=about) for name, about in VERBS.items()}
    for name in loaded:
        import_module(f"{__package__}.{name}").add_flags(parsers[name])
    return parser


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments of a parser, and of those of its verbs."""
    for action in parser._actions:  # noqa: SLF001  # argparse has no other way to list them
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for verb in action.choices.values():
                yield from actions(verb)
