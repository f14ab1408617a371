"""`yahtzee-cluster probe`: all that is to be known of a position, for any goal."""

from __future__ import annotations

import argparse
import json

from yahtzee_cluster.commands.asking import add_position, adviser_of, consulted, goal_of, position_of
from yahtzee_cluster.commands.shared import add_json
from yahtzee_cluster.output import refuse_flags
from yahtzee_cluster.play.question import answer_questions
from yahtzee_cluster.play.wording import in_words

OF_A_POSITION = (
    "card",
    "used",
    "upper",
    "chip",
    "score_so_far",
    "dice",
    "rolls_left",
    "other",
    "distribution",
    "json",
    "plan",
)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Print the value of a position for a goal, and every legal move with what it costs. No table is needed: what "
        "none has is solved from the position. With --lines, questions are JSON objects on stdin, one a line, and so "
        "are the answers on stdout."
    )
    parser.epilog = (
        f"Examples: {parser.prog} --card aces=3,full-house=25 --dice 22256 --goal reach:250; "
        f"""echo '{{"card": {{"aces": 3}}, "dice": "22256"}}' | {parser.prog} --lines"""
    )
    add_position(parser)
    parser.add_argument(
        "--distribution", action="store_true", help="add how the final score is distributed, which takes longer"
    )
    parser.add_argument(
        "--plan", action="store_true", help="only print what solving would take, in values, memory and time"
    )
    parser.add_argument("--lines", action="store_true", help="answer questions from stdin")
    add_json(parser)


def run(options: argparse.Namespace) -> str:
    """Answer one question, or many."""
    with adviser_of(options) as adviser:
        goal = goal_of(options, adviser)
        if options.lines:
            refuse_flags(options, OF_A_POSITION, "lines: every line has its own position")
            answer_questions(adviser, goal, consulted(options, adviser))
            return ""
        position = position_of(options, adviser, goal)
        if options.plan:
            plan = adviser.plan(position, goal)
            return json.dumps(plan.to_dict()) if options.json else plan.words
        strategy = consulted(options, adviser)
        answer = adviser.answer(position, goal, with_distribution=options.distribution, strategy=strategy)
    return json.dumps(answer.to_dict()) if options.json else in_words(answer)
