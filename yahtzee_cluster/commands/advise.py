"""`yahtzee-cluster advise`: what to keep, and where to score."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from typing import Any

from yahtzee_cluster.commands.shared import Card, add_json, add_scorecard, count, scorecard
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.notation import parse_dice
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.output import refuse_flags
from yahtzee_cluster.play.advice import MEAN, START_OF_TURN, Adviser, Goal, Position
from yahtzee_cluster.play.conversation import Conversation, answer_lines, listing, talk
from yahtzee_cluster.tables import open_table


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Advise on moves: turn by turn at a terminal, for one position with --dice, or for many with --lines. "
        "The goal is the highest expected score; with a table of a utility it is that utility, and with a table of "
        "probabilities it can be to beat or reach a score."
    )
    parser.epilog = (
        f"Examples: {parser.prog} --store runs/yahtzee-maxprob-800-G5 --beat 250; "
        f"{parser.prog} --card aces=3,full-house=25 --dice 2,2,2,5,6 --rolls-left 2 --json"
    )
    game = parser.add_mutually_exclusive_group()
    game.add_argument("--store", metavar="DIR", help="a table of maxprob, scores or a utility, whose rules are used")
    game.add_argument("--rules", metavar="NAME|FILE", help="a rule set (default: yahtzee, with --lines no-joker)")
    add_scorecard(parser)
    parser.add_argument("--score-so-far", type=count, metavar="N", help="total score so far (default: 0)")
    goal = parser.add_mutually_exclusive_group()
    goal.add_argument("--beat", type=count, metavar="N", help="play to score more than this")
    goal.add_argument("--reach", type=count, metavar="N", help="play to score at least this")
    goal.add_argument("--goal", choices=["expected"], help="play for the highest expected score, also with a table")
    parser.add_argument("--dice", metavar="DICE", help="five dice, such as 2,2,2,5,6 or 22256")
    parser.add_argument("--rolls-left", type=count, choices=range(3), metavar="N", help="rolls left, 0 to 2")
    add_json(parser)
    parser.add_argument(
        "--lines",
        action="store_true",
        help="answer lines from stdin: a mark for each box (x used, - free), upper total, True or False for an active "
        "Yahtzee bonus, rolls left (3 before the first roll), five dice, and with a table of a utility the score so "
        "far",
    )


def run(options: argparse.Namespace) -> str:
    """Answer one position or many lines, or hold a conversation."""
    table = None if options.store is None else open_table(options.store)
    rules = table.rules if table else load_rules(options.rules or ("no-joker" if options.lines else "yahtzee"))
    adviser = Adviser(rules, table)
    if options.lines:
        _check_lines(options, adviser)
        answer_lines(adviser)
        return ""
    goal = _goal(options, adviser)
    card = scorecard(options, adviser.anchors)
    if options.dice is None and options.rolls_left is not None:
        raise UsageError("dice: say which are on the table, with --dice")
    position = Position(card.anchor, score=_score_so_far(options, card))
    adviser.check(position, goal)
    if options.dice is None and not options.json:
        return talk(Conversation(adviser, position, goal))
    if options.dice is not None:
        if options.rolls_left is None:
            raise UsageError("rolls left: say how often the dice may still be rolled, 0 to 2, with --rolls-left")
        position = replace(position, roll=parse_dice(options.dice), rolls_left=options.rolls_left)
    advice = adviser.advise(position, goal)
    if not options.json:
        return listing(advice)
    asked = {
        "rules": rules.name,
        **card.said,
        "score": position.score,
        "dice": position.roll,
        "rolls_left": START_OF_TURN if position.roll is None else position.rolls_left,
        "reach": goal.reach,
        "goal": goal.utility,
    }
    return json.dumps(asked | {"moves": [_flat(asdict(one)) for one in advice]})


def _score_so_far(options: argparse.Namespace, card: Card) -> int:
    """The score so far, which a card tells unless extra bonuses may have been paid before the rest of a game began."""
    if options.card is None:
        return options.score_so_far or 0
    if card.score is not None:
        refuse_flags(options, ["score_so_far"], "card: tells the score")
        return card.score
    if options.score_so_far is None:
        raise UsageError("score so far: say how many points there are since this game began, with --score-so-far")
    return int(options.score_so_far)


def _goal(options: argparse.Namespace, adviser: Adviser) -> Goal:
    """The goal that the flags name, else that of the table."""
    if options.goal is not None:
        return MEAN
    reach = options.reach if options.beat is None else options.beat + 1
    return adviser.goal if reach is None else Goal(reach)


def _check_lines(options: argparse.Namespace, adviser: Adviser) -> None:
    """Refuse flags that contradict the lines, and tables that cannot answer them."""
    beside = ("beat", "reach", "goal", "dice", "rolls_left", "json", "card", "used", "upper", "chip", "score_so_far")
    refuse_flags(options, beside, "lines: every line says its position, and all are played for the same")
    if adviser.reaches_scores:
        refuse_flags(options, ["store"], "lines: none says what to beat or to reach; name the game with --rules")


def _flat(advice: dict[str, Any]) -> dict[str, Any]:
    move = advice.pop("move")
    return {key: value for key, value in (move | advice).items() if value is not None}
