"""Flags of the verbs that ask about a position, `advise` and `probe`."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace

from yahtzee_cluster.commands.shared import add_scorecard, count, scorecard
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.notation import parse_dice
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.scorecard import parse_scorecard
from yahtzee_cluster.objectives.goals import WIN, Goal, parse_goal
from yahtzee_cluster.output import refuse_flags
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.consulted import Consulted
from yahtzee_cluster.play.position import START_OF_TURN, Position, Standing
from yahtzee_cluster.play.sources import LIMIT_S
from yahtzee_cluster.runtime.configuration import MAX_THREADS, parse_bytes
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.text import shown


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
    parser.add_argument(
        "--other",
        action="append",
        metavar="CARD",
        help="the scorecard of another player, to win against; first that of the player who moves next. The position "
        "is that of the player to move",
    )
    parser.add_argument(
        "--strategy",
        metavar="STRATEGY",
        help="add what this strategy would do, and what it costs: one that `yahtzee-cluster strategies` lists, a file, "
        "a goal, or a table",
    )
    goal = parser.add_mutually_exclusive_group()
    goal.add_argument(
        "--goal",
        metavar="GOAL",
        help="mean; reach:N or above:N points; quantile:Q, the score that is reached with chance Q; win:OPPONENTS or "
        "win-outright:OPPONENTS; win, against the players named by --other; best-of:K; power:P; worth:FILE (default: "
        "win if there are any, else that of the table, or mean)",
    )
    goal.add_argument("--reach", type=count, metavar="N", help="short for --goal reach:N")
    goal.add_argument("--beat", type=count, metavar="N", help="short for --goal above:N")
    parser.add_argument(
        "--cache", metavar="SIZE", help="memory for solving the rest of the game, such as 500MB (default: 1GB)"
    )
    parser.add_argument("--threads", type=count, metavar="N", help="threads for that (default: one for each core)")
    parser.add_argument(
        "--limit",
        metavar="TIME",
        help="with one --other, solve the game of two exactly if it takes no longer, such as 10s or 2m; else the rule "
        f"for several players decides (default: {LIMIT_S:g}s)",
    )


def adviser_of(options: argparse.Namespace, default_rules: str = "yahtzee") -> Adviser:
    """The adviser that the flags describe."""
    table = None if options.store is None else open_table(options.store)
    rules = table.rules.whole or table.rules if table else load_rules(options.rules or default_rules)
    if options.threads is not None and not 0 < options.threads <= MAX_THREADS:
        raise UsageError(f"threads: expected 1 to {MAX_THREADS}, found {options.threads}")
    limit_bytes = None if options.cache is None else parse_bytes(options.cache)
    limit_s = LIMIT_S if options.limit is None else _seconds(options.limit)
    return Adviser(rules, table, threads=options.threads, limit_bytes=limit_bytes, limit_s=limit_s)


def consulted(options: argparse.Namespace, adviser: Adviser) -> Consulted | None:
    """The strategy that the flags ask, if any."""
    return None if options.strategy is None else Consulted(options.strategy, adviser)


def _seconds(text: str) -> float:
    """Parse a time such as 30s, 2m or 1.5h."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s*([smh]?)", text.strip(), re.ASCII)
    if not match:
        raise UsageError(f"limit: expected a time such as 30s, 2m or 1h, found {shown(text)}")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def goal_of(options: argparse.Namespace, adviser: Adviser) -> Goal:
    """The goal that the flags name, else to win against other players, or that of the table, or the mean."""
    if options.reach is not None or options.beat is not None:
        return Goal("reach", options.reach) if options.beat is None else Goal("above", options.beat)
    by_default = WIN if options.other else adviser.goal
    return by_default if options.goal is None else parse_goal(options.goal)


def position_of(options: argparse.Namespace, adviser: Adviser, goal: Goal) -> Position:
    """The position that the flags describe."""
    roll = None if options.dice is None else parse_dice(options.dice)
    if roll is None and options.rolls_left is not None:
        raise UsageError("dice: say which are on the table, with --dice")
    left = START_OF_TURN if roll is None else START_OF_TURN - 1 if options.rolls_left is None else options.rolls_left
    others = tuple(_other(text, adviser) for text in options.other or ())
    if others and not goal.is_played_at_a_table:
        raise UsageError("other: only --goal win looks at the other players; opponents of a goal are part of it")
    if adviser.given.whole and options.card is None:
        raise UsageError("card: these are the rules of the rest of a game; name a scorecard of the whole one")
    if options.card is None:
        card = scorecard(options, adviser.anchors)
        return Position(card.anchor, roll, left, options.score_so_far or 0, others=others)
    scorecard(options, adviser.anchors)  # refuses the flags for states
    refuse_flags(options, ["score_so_far"], "card: tells the score")
    said = parse_scorecard(options.card, adviser.rules)
    try:
        said.since(adviser.given)
    except UsageError as error:
        raise UsageError(f"card: {error}") from error
    return replace(Position.of(said, roll, left), others=others)


def _other(text: str, adviser: Adviser) -> Standing:
    try:
        return Standing.of(parse_scorecard(text, adviser.rules))
    except UsageError as error:
        raise UsageError(f"other: {error}") from error
