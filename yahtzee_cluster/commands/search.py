"""`yahtzee-cluster search`: the best strategy of a class, by its exact mean."""

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

from yahtzee_cluster.commands.shared import add_json, count
from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.fields import read_toml
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.play.search import Class, Search, Values, mean_of, rounded, toml_of
from yahtzee_cluster.play.strategy_files import HEADER, path_of
from yahtzee_cluster.runtime.environment import launched_ranks

GENERATIONS = 100


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Search for the best strategy of a class by the exact mean: of all strategies by the worth of a scorecard that "
        "have the form of a given one, with other numbers. The search is CMA-ES, begins at the given numbers, and "
        "finds the same for the same seed on any number of threads or, under mpirun, ranks. With --checkpoint, the "
        "same command goes on where it was stopped."
    )
    parser.epilog = f"Example: {parser.prog} category-means --generations 200 --checkpoint boxes.json --out best.toml"
    parser.add_argument("strategy", metavar="CLASS", help="a strategy of the class: a name or a TOML file")
    parser.add_argument(
        "--generations", type=count, default=GENERATIONS, metavar="N", help=f"at most so many (default: {GENERATIONS})"
    )
    parser.add_argument("--population", type=count, metavar="N", help="proposals in a generation (default: by CMA-ES)")
    parser.add_argument("--seed", type=count, default=1, metavar="N", help="seed of the proposals (default: 1)")
    parser.add_argument("--workers", type=count, metavar="N", help="threads (default: one for each processor)")
    parser.add_argument("--out", metavar="FILE", help="write the best strategy to this file")
    parser.add_argument("--checkpoint", metavar="FILE", help="write each generation to this file, and go on from it")
    add_json(parser)


def run(options: argparse.Namespace) -> str:
    """Search, and format what was found."""
    for name, least in (("generations", 1), ("population", 3), ("workers", 1)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise UsageError(f"{name}: expected at least {least}, found {value}")
    header, of = _class(options.strategy)
    checkpoint = None if options.checkpoint is None else Path(options.checkpoint)
    search = None
    with _workers(options.workers) as workers:
        if workers is not None:
            search = Search.begun_or_continued(of, options.seed, options.population, checkpoint)
            _run_to_the_end(search, workers, options.generations, checkpoint)
    if search is None:  # another rank leads, and prints
        raise SystemExit(0)
    return _found(options, header, search)


def _run_to_the_end(search: Search, workers: Executor, n_generations: int, checkpoint: Path | None) -> None:
    mean_of(search.of, search.of.start)  # solves the game before threads need it

    def evaluate(proposals: Sequence[Values]) -> list[float]:
        return list(workers.map(partial(mean_of, search.of), proposals))

    while len(search.means) < n_generations and not search.has_converged:
        search.generation(evaluate)
        if checkpoint is not None:
            search.save(checkpoint)
        found = f"best {search.best:.4f}, now {max(search.means[-1]):.4f}"
        print(f"generation {len(search.means)} of {n_generations}: {found}", file=sys.stderr, flush=True)


def _found(options: argparse.Namespace, header: dict[str, Any], search: Search) -> str:
    numbers, mean = rounded(search.of, search.best_numbers)
    table = search.of.filled(numbers)
    if options.out is not None:
        about = {"name": Path(options.out).stem, "kind": "worth", "game": header["game"], "mean": round(mean, 4)}
        try:
            Path(options.out).write_text(f"{toml_of({**about, **table})}\n", encoding="utf-8")
        except OSError as error:
            raise FileError(options.out, f"cannot be written: {error.strerror}") from error
    facts = {"mean": mean, "numbers": len(numbers), "generations": len(search.means)}
    facts["evaluated"] = sum(map(len, search.means))
    if options.json:
        return json.dumps({**facts, "strategy": table})
    lines = [f"{key:12} {value:.4f}" if key == "mean" else f"{key:12} {value}" for key, value in facts.items()]
    return "\n".join([*lines, "", toml_of(table)])


def _class(name_or_file: str) -> tuple[dict[str, Any], Class]:
    """The header of a strategy file, and the class of all strategies of its form."""
    path = path_of(name_or_file)
    table = read_toml(str(path))
    header = {key: table.pop(key, None) for key in HEADER}
    if header["kind"] != "worth" or not isinstance(header["game"], str):
        raise FileError(name_or_file, 'expected a strategy with kind = "worth" and a game')
    return header, Class(load_rules(header["game"]), table, str(path))


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
