"""`yahtzee-cluster search`: the best strategy of a class, by its exact value."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from yahtzee_cluster.commands.shared import add_json, count
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import read_toml
from yahtzee_cluster.objectives.goals import MEAN, parse_goal
from yahtzee_cluster.output import check_file, write_file
from yahtzee_cluster.play.rule_lists import RuleList
from yahtzee_cluster.play.search import Class, Search, exact, value_of
from yahtzee_cluster.play.search_rules import POPULATION, RuleLists
from yahtzee_cluster.play.search_weights import Weights
from yahtzee_cluster.play.strategy_files import HEADER, load_strategy, path_of, toml_of
from yahtzee_cluster.runtime.environment import launched_ranks

GENERATIONS = 100
USUAL_RULES = 40


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Search for the best strategy of a class by its exact mean, or by its value for another goal. Of strategies by "
        "the worth of a scorecard, these are all that have the form of a given one, with other numbers, and the search "
        "is CMA-ES; of strategies by rules, all lists of rules, and the search is a genetic algorithm. It begins at "
        "the given strategy and finds the same for the same seed on any number of threads or, under mpirun, ranks. "
        "With --checkpoint, the same command goes on where it was stopped."
    )
    parser.epilog = f"Example: {parser.prog} category-means --generations 200 --checkpoint boxes.json --out best.toml"
    parser.add_argument("strategy", metavar="CLASS", help="a strategy of the class: a name or a TOML file")
    parser.add_argument(
        "--generations", type=count, default=GENERATIONS, metavar="N", help=f"at most so many (default: {GENERATIONS})"
    )
    parser.add_argument("--goal", metavar="GOAL", help="search for the best value for a goal, such as reach:250")
    parser.add_argument(
        "--population",
        type=count,
        metavar="N",
        help=f"candidates in a generation (default: {POPULATION} lists of rules, by CMA-ES)",
    )
    parser.add_argument(
        "--fit", action="store_true", help="begin at the numbers that fit the exact values best, by least squares"
    )
    parser.add_argument(
        "--max-rules",
        type=count,
        metavar="N",
        help=f"at most so many rules (default: {USUAL_RULES}, or those of CLASS)",
    )
    parser.add_argument("--seed", type=count, default=1, metavar="N", help="seed of all that is random (default: 1)")
    parser.add_argument("--workers", type=count, metavar="N", help="threads (default: one for each processor)")
    parser.add_argument("--out", metavar="FILE", help="write the best strategy to this file")
    parser.add_argument("--checkpoint", metavar="FILE", help="write each generation to this file, and go on from it")
    add_json(parser)


def run(options: argparse.Namespace) -> str:
    """Search, and format what was found."""
    for name, least in (("generations", 1), ("population", 4), ("workers", 1)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise UsageError(f"{name}: expected at least {least}, found {value}")
    if options.out is not None:
        check_file(options.out)
    goal = MEAN if options.goal is None else parse_goal(options.goal)
    goal.worths(1, lambda _: np.ones(1))  # raises before anything is computed, where a goal has none
    checkpoint = None if options.checkpoint is None else Path(options.checkpoint)
    search = None
    with _workers(options.workers) as workers:
        if workers is not None:
            search = Search.begun_or_continued(_class(options), goal, options.seed, options.population, checkpoint)
            _run_to_the_end(search, workers, options.generations, checkpoint)
    if search is None:  # another rank leads, and prints
        raise SystemExit(0)
    return _found(options, search)


def _class(options: argparse.Namespace) -> Class[Any]:
    """All strategies of the form of a given one."""
    given = load_strategy(options.strategy)
    if isinstance(given.strategy, RuleList):
        if options.fit:
            raise UsageError("fit: only numbers can be fitted, and this strategy has rules")
        most = options.max_rules
        return RuleLists.of(given.strategy, max(USUAL_RULES, given.n_parameters) if most is None else most)
    if options.max_rules is not None:
        raise UsageError("max-rules: this strategy has no rules")
    path = path_of(options.strategy)
    table = {key: value for key, value in read_toml(str(path)).items() if key not in HEADER}
    weights = Weights(given.game, table, str(path))
    return weights.fitted(options.seed) if options.fit else weights


def _run_to_the_end(search: Search[Any], workers: Executor, n_generations: int, checkpoint: Path | None) -> None:
    exact(search.of.rules)  # before threads need it

    def evaluate(candidates: Sequence[Any]) -> list[float]:
        return list(workers.map(partial(value_of, search.of, search.goal), candidates))

    while len(search.values) < n_generations and not search.has_converged:
        search.generation(evaluate)
        if checkpoint is not None:
            search.save(checkpoint)
        found = f"best {search.best:.6g}, now {max(search.values[-1]):.6g}"
        print(f"generation {len(search.values)} of {n_generations}: {found}", file=sys.stderr, flush=True)


def _found(options: argparse.Namespace, search: Search[Any]) -> str:
    best, value = search.simplest()
    mean = value if search.goal == MEAN else value_of(search.of, MEAN, best)
    table = search.of.table(best)
    facts: dict[str, Any] = {"mean": mean}
    if search.goal != MEAN:
        facts |= {"goal": str(search.goal), "value": value}
    facts |= {"parameters": search.of.strategy(best).n_parameters, "generations": len(search.values)}
    facts["evaluated"] = sum(map(len, search.values))
    if options.out is not None:
        header = read_toml(str(path_of(options.strategy)))
        about = {"name": Path(options.out).stem, "kind": header["kind"], "game": header["game"], "mean": round(mean, 4)}
        write_file(options.out, f"{toml_of({**about, **_from_there(table, options)})}\n")
    if options.json:
        return json.dumps({**facts, "strategy": table})
    lines = [f"{key:12} {f'{fact:.6f}' if isinstance(fact, float) else fact}" for key, fact in facts.items()]
    return "\n".join([*lines, "", toml_of(table)])


def _from_there(table: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """The table of a strategy with the path of a file that it names as seen from the new file."""
    named = table.get("worth", {}).get("table")
    if not named:
        return table
    path = path_of(options.strategy).parent / named["file"]
    return {**table, "worth": {**table["worth"], "table": {"file": os.path.relpath(path, Path(options.out).parent)}}}


@contextmanager
def _workers(n_threads: int | None) -> Iterator[Executor | None]:
    """What evaluates proposals: threads, or the other ranks under mpirun; None on those ranks, when all is done."""
    if launched_ranks():
        from yahtzee_cluster.runtime.mpi import other_ranks  # noqa: PLC0415  # which loads MPI

        with other_ranks() as ranks:
            yield ranks
    else:
        with ThreadPoolExecutor(n_threads or len(os.sched_getaffinity(0))) as threads:
            yield threads
