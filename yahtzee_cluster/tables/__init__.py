"""Tables of games on disk: opening, asking, judging and playing by them, with a class for each kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any, overload

from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, Fields
from yahtzee_cluster.game.rule_files import as_published, rules_of
from yahtzee_cluster.objectives import CHOICES, OBJECTIVES
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.storage.checks import check_problem
from yahtzee_cluster.storage.claim import table_path
from yahtzee_cluster.storage.errors import StoreError
from yahtzee_cluster.storage.header import check_same_table, read_header
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.tables.moments import MomentTable
from yahtzee_cluster.tables.probabilities import (
    ApproximatedTable,
    DistributionTable,
    MaxProbTable,
    ReachTable,
    ScoresTable,
)
from yahtzee_cluster.tables.race import RaceTable
from yahtzee_cluster.tables.table import Entries, Table
from yahtzee_cluster.tables.utility import UtilityTable
from yahtzee_cluster.text import printable

KINDS: dict[str, type[Table]] = {
    "maxprob": MaxProbTable,
    "reach": ReachTable,
    "expected": MomentTable,
    "distribution": DistributionTable,
    "scores": ScoresTable,
    "approx": ApproximatedTable,
    "race": RaceTable,
    "race-wins": RaceTable,
    "utility": UtilityTable,
}
"""The kind of table that each objective has."""


@overload
def open_table(path: str | Path) -> Table: ...
@overload
def open_table(path: str | Path, problem: Recurrence) -> Store: ...
def open_table(path: str | Path, problem: Recurrence | None = None) -> Table | Store:
    """The table in a directory: of a game, of any kind; or of a problem of one's own, which must be given.

    Raises `UsageError` if there is none, or if it was written in another format. The table may still be incomplete.

    >>> table = yc.open_table("yacht")
    >>> table.objective, table.rules.name, table.target
    ('maxprob', 'yacht', 300)

    With a problem of one's own, ``table[0b101]`` are the entries of the subset of elements 0 and 2.
    """
    directory = table_path(path)
    header = read_header(directory)
    if header is None:
        there = printable(str(directory))
        raise UsageError(f"{there}: holds no table; `yahtzee-cluster jobs` lists what can be computed")
    if problem is not None:
        check_problem(problem)
        check_same_table(directory, header, problem, header.fixed)
        return Store.of(directory, problem, header.fixed)
    if "objective" not in header.identity:
        raise UsageError(f"{printable(str(directory))}: holds no table of a game; name its problem as well")
    problem = _problem(header.identity, str(directory))
    if not header.describes(problem):
        raise StoreError(f"{printable(str(directory))}: its zarr.json is damaged: its header contradicts itself")
    return table_of(problem, Store.of(directory, problem, header.fixed), str(path))


def table_of(problem: Recurrence, store: Entries, named: str | None = None) -> Table:
    """The table of a problem, on disk or in memory; `named` is the directory as the user wrote it."""
    return KINDS[problem.identity["objective"]](problem, store, named)


def _problem(identity: dict[str, Any], source: str) -> Recurrence:
    """The problem that a header describes; an error if it describes none."""
    fields = Fields(identity, source, known=("objective", "rules", "target", "goal", "worth", "before"))
    rules = identity.get("rules")
    if not isinstance(rules, dict):
        raise fields.error("rules", "expected a table", rules)
    objective = fields.choice("objective", CHOICES, None)
    game = as_published(rules_of(rules, f"{source}: rules"))
    if objective == "utility":
        worth = identity.get("worth")
        if not isinstance(worth, list) or not all(isinstance(value, float) for value in worth):
            raise fields.error("worth", "expected a list of numbers", worth)
        before = fields.integer("before", 0, low=0, high=MAX_COUNT)
        return Utility(game, fields.text("goal"), tuple(worth), before=before)
    return OBJECTIVES[objective](game, fields.integer("target", 1, low=1, high=MAX_COUNT))
