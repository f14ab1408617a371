"""`yahtzee-cluster value`: one probability or expected score out of a table."""

from __future__ import annotations

import argparse
from typing import Any

from yahtzee_cluster.commands.flags import add_scorecard, add_store, answer, count, lead, scorecard
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.anchors import Anchor
from yahtzee_cluster.objectives.probabilities import Probabilities
from yahtzee_cluster.objectives.race import Race
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.output import leave_out
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.tables.race import value_of
from yahtzee_cluster.tables.table import open_store, open_table
from yahtzee_cluster.text import printable


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = "Print one probability or expected score out of a table."
    add_store(parser)
    parser.epilog = "Example: value --store runs/yahtzee-maxprob-800-G5 --used aces,full-house --upper 3 --need 250"
    add_scorecard(parser)
    parser.add_argument("--need", type=count, metavar="N", help="in a table of probabilities: the points still needed")
    parser.add_argument("--score", type=count, metavar="N", help="in a table of some utility: the points so far")
    parser.add_argument("--lead", type=lead, metavar="N", help="of two players: how far the first is ahead")
    parser.add_argument("--other-used", metavar="NAMES", help="of two players: what the second has used")
    parser.add_argument("--other-upper", type=count, metavar="N", help="and has in the upper categories")
    parser.add_argument("--other-chip", action="store_true", help="and whether that one's Yahtzee box holds points")


def run(options: argparse.Namespace) -> str:
    """Look up a state in a table."""
    problem, store = open_store(options.store)
    asking = {"lead": Race, "score": Utility, "need": Probabilities}
    others = [*asking, "other_used", "other_upper", "other_chip"]
    takes = others[3:] if isinstance(problem, Race) else []
    takes += [name for name, kind in asking.items() if isinstance(problem, kind)]
    held = f"{printable(options.store)}: holds {problem.identity['objective']}"
    leave_out(options, (name for name in others if name not in takes), held)
    anchor, asked = scorecard(options, problem.anchors)
    if isinstance(problem, Race):
        return _race_value(options, problem, store, anchor, asked)
    table = open_table(options.store)
    if isinstance(table.problem, Utility):
        if options.score is None:
            raise UsageError("score: say how many points there are so far, with --score")
        found: dict[str, Any] = {"score": options.score, "worth": table.worth(anchor, options.score)}
    elif isinstance(table.problem, Probabilities):
        if options.need is None:
            raise UsageError("need: say how many points are still needed, with --need")
        found = {"need": options.need, "p": table.value(anchor, options.need)}
        if table.objective == "scores":
            found |= zip(("mean", "second_moment"), table.moments(anchor, options.need), strict=True)
    else:
        mean, second_moment = table.moments(anchor)
        found = {"mean": mean, "second_moment": second_moment}
    return answer(asked | found, options)


def _race_value(options: argparse.Namespace, problem: Race, store: Store, one: Anchor, asked: dict[str, Any]) -> str:
    theirs = argparse.Namespace(used=options.other_used, upper=options.other_upper, chip=options.other_chip)
    two, also = scorecard(theirs, problem.anchors)
    if options.lead is None:
        raise UsageError("lead: say how many points the first player is ahead, with --lead; behind is below 0")
    found = dict(zip(("value", "win"), value_of(problem, store, one, two, options.lead), strict=False))
    return answer(
        asked | {f"other_{key}": value for key, value in also.items()} | {"lead": options.lead} | found, options
    )
