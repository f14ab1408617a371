"""Flags of the verbs that ask about a position, `advise` and `probe`."""

from __future__ import annotations

import argparse

from yahtzee_cluster.commands.shared import add_scorecard, count, scorecard
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.notation import parse_dice
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.scorecard import parse_scorecard
from yahtzee_cluster.objectives.goals import Goal, parse_goal
from yahtzee_cluster.output import refuse_flags
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.position import START_OF_TURN, Position
from yahtzee_cluster.runtime.configuration import parse_bytes
from yahtzee_cluster.tables import open_table


def add_position(parser: argparse.ArgumentParser) -> None:
    """Add the flags that describe the game, the position and the goal."""
    game = parser.add_mutually_exclusive_group()
    game.add_argument(
        "--store", metavar="DIR", help="a table of maxprob, scores or a utility, as a short cut; its rules are used"
    )
    game.add_argument("--rules", metavar="NAME|FILE", help="a rule set (default: yahtzee)")
    add_scorecard(parser)
    parser.add_argument("--score-so-far", type=count, metavar="N", help="total score so far (default: 0)")
    parser.add_argument("--dice", metavar="DICE", help="five dice, such as 2,2,2,5,6 or 22256")
    parser.add_argument(
        "--rolls-left", type=count, choices=range(3), metavar="N", help="rolls left, 0 to 2 (default: 2)"
    )
    goal = parser.add_mutually_exclusive_group()
    goal.add_argument(
        "--goal",
        metavar="GOAL",
        help="mean; reach:N or above:N points; quantile:Q, the score that is reached with chance Q; win:OPPONENTS or "
        "win-outright:OPPONENTS; best-of:K; power:P; worth:FILE (default: that of the table, or mean)",
    )
    goal.add_argument("--reach", type=count, metavar="N", help="short for --goal reach:N")
    goal.add_argument("--beat", type=count, metavar="N", help="short for --goal above:N")
    parser.add_argument(
        "--cache", metavar="SIZE", help="memory for solving the rest of the game, such as 500MB (default: 1GB)"
    )
    parser.add_argument("--threads", type=count, metavar="N", help="threads for that (default: one for each core)")


def adviser_of(options: argparse.Namespace, default_rules: str = "yahtzee") -> Adviser:
    """The adviser that the flags describe."""
    table = None if options.store is None else open_table(options.store)
    rules = table.rules if table else load_rules(options.rules or default_rules)
    if options.threads == 0:
        raise UsageError("threads: expected at least one")
    limit_bytes = None if options.cache is None else parse_bytes(options.cache)
    return Adviser(rules, table, threads=options.threads, limit_bytes=limit_bytes)


def goal_of(options: argparse.Namespace, adviser: Adviser) -> Goal:
    """The goal that the flags name, else that of the table, or the mean."""
    if options.reach is not None or options.beat is not None:
        return Goal("reach", options.reach) if options.beat is None else Goal("above", options.beat)
    return adviser.goal if options.goal is None else parse_goal(options.goal)


def position_of(options: argparse.Namespace, adviser: Adviser) -> Position:
    """The position that the flags describe."""
    roll = None if options.dice is None else parse_dice(options.dice)
    if roll is None and options.rolls_left is not None:
        raise UsageError("dice: say which are on the table, with --dice")
    left = START_OF_TURN if roll is None else START_OF_TURN - 1 if options.rolls_left is None else options.rolls_left
    if options.card is None:
        return Position(scorecard(options, adviser.anchors).anchor, roll, left, options.score_so_far or 0)
    scorecard(options, adviser.anchors)  # refuses the flags for states
    refuse_flags(options, ["score_so_far"], "card: tells the score")
    return Position.of(parse_scorecard(options.card, adviser.rules), roll, left)
