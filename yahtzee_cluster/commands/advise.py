"""`yahtzee-cluster advise`: what to keep, and where to score."""

from __future__ import annotations

import argparse
import json

from yahtzee_cluster.commands.asking import add_position, adviser_of, consulted, goal_of, position_of
from yahtzee_cluster.commands.shared import add_json
from yahtzee_cluster.output import refuse_flags
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.conversation import Conversation
from yahtzee_cluster.play.lines import answer_lines
from yahtzee_cluster.play.talk import talk
from yahtzee_cluster.play.wording import listing, with_strategy

OF_A_POSITION = (
    *("beat", "reach", "goal", "dice", "rolls_left", "json", "card", "used", "upper", "chip", "score_so_far"),
    *("cache", "threads", "limit", "other", "strategy"),
)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Advise on moves: turn by turn at a terminal, for one position with --dice, or for many with --lines. "
        "No table is needed: what none has is solved from the position, in the background during a game."
    )
    parser.epilog = (
        f"Examples: {parser.prog} --beat 250; "
        f"{parser.prog} --card aces=3,full-house=25 --dice 2,2,2,5,6 --rolls-left 2 --json"
    )
    add_position(parser)
    add_json(parser)
    parser.add_argument(
        "--lines",
        action="store_true",
        help="answer lines from stdin: a mark for each box (x used, - free), upper total, True or False for an active "
        "Yahtzee bonus, rolls left (3 before the first roll), five dice, and with a table of a utility the score so "
        "far; the rules are no-joker by default",
    )


def run(options: argparse.Namespace) -> str:
    """Answer one position or many lines, or hold a conversation."""
    with adviser_of(options, "no-joker" if options.lines else "yahtzee") as adviser:
        if options.lines:
            _check_lines(options, adviser)
            answer_lines(adviser)
            return ""
        goal = goal_of(options, adviser)
        position = position_of(options, adviser, goal)
        adviser.check(position)
        strategy = consulted(options, adviser)
        if options.json:
            return json.dumps(adviser.answer(position, goal, strategy=strategy).to_dict())
        if position.roll is None:
            return talk(Conversation(adviser, position, goal, strategy))
        advice = adviser.advise(position, goal)
        said = strategy.said(position, advice) if strategy else None
        return with_strategy(listing(advice, goal), said, advice)


def _check_lines(options: argparse.Namespace, adviser: Adviser) -> None:
    """Refuse flags that contradict the lines, and tables that cannot answer them."""
    refuse_flags(options, OF_A_POSITION, "lines: every line says its position, and all are played for the same")
    if adviser.reaches_scores:
        refuse_flags(options, ["store"], "lines: none says what to beat or to reach; name the game with --rules")
