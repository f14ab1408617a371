"""Exact optimal play for Yahtzee-like dice games, and a distributed engine for subset recurrences.

    import yahtzee_cluster as yc

    yc.load_rules("yahtzee")                # a game
    yc.solve_expected(rules)                # expected scores of best play, from every state
    yc.open_table("runs/...")               # a table that a run has written
    yc.Recurrence, yc.Computation, yc.start # a problem of one's own

Each name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yahtzee_cluster.engine.partition import Partition as Partition
    from yahtzee_cluster.engine.partition import Subsets as Subsets
    from yahtzee_cluster.engine.recurrence import Below as Below
    from yahtzee_cluster.engine.recurrence import Block as Block
    from yahtzee_cluster.engine.recurrence import Recurrence as Recurrence
    from yahtzee_cluster.engine.recurrence import Solver as Solver
    from yahtzee_cluster.errors import FileError as FileError
    from yahtzee_cluster.errors import UsageError as UsageError
    from yahtzee_cluster.errors import YahtzeeClusterError as YahtzeeClusterError
    from yahtzee_cluster.game.rule_files import load_rules as load_rules
    from yahtzee_cluster.game.rules import Anchor as Anchor
    from yahtzee_cluster.game.rules import Rules as Rules
    from yahtzee_cluster.game.scorecard import Scorecard as Scorecard
    from yahtzee_cluster.game.scorecard import parse_scorecard as parse_scorecard
    from yahtzee_cluster.objectives.expected import ExpectedTable as ExpectedTable
    from yahtzee_cluster.objectives.expected import solve_expected as solve_expected
    from yahtzee_cluster.objectives.goals import Goal as Goal
    from yahtzee_cluster.objectives.goals import parse_goal as parse_goal
    from yahtzee_cluster.play.advice import Adviser as Adviser
    from yahtzee_cluster.play.answer import Advice as Advice
    from yahtzee_cluster.play.answer import Answer as Answer
    from yahtzee_cluster.play.game import Game as Game
    from yahtzee_cluster.play.game import new_game as new_game
    from yahtzee_cluster.play.position import Position as Position
    from yahtzee_cluster.runtime.command import start as start
    from yahtzee_cluster.runtime.configuration import Computation as Computation
    from yahtzee_cluster.storage.store import Store as Store
    from yahtzee_cluster.tables import open_table as open_table
    from yahtzee_cluster.tables.table import Table as Table

__version__ = "0.1.0"

_MODULES = {
    "engine.partition": ("Partition", "Subsets"),
    "engine.recurrence": ("Below", "Block", "Recurrence", "Solver"),
    "errors": ("FileError", "UsageError", "YahtzeeClusterError"),
    "game.rule_files": ("load_rules",),
    "game.rules": ("Anchor", "Rules"),
    "game.scorecard": ("Scorecard", "parse_scorecard"),
    "objectives.expected": ("ExpectedTable", "solve_expected"),
    "objectives.goals": ("Goal", "parse_goal"),
    "play.advice": ("Adviser",),
    "play.answer": ("Advice", "Answer"),
    "play.game": ("Game", "new_game"),
    "play.position": ("Position",),
    "runtime.command": ("start",),
    "runtime.configuration": ("Computation",),
    "storage.store": ("Store",),
    "tables": ("open_table",),
    "tables.table": ("Table",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [*_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
