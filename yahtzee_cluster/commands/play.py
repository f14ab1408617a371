"""`yahtzee-cluster play`: a whole game with dice, yours or a strategy's, written down."""

from __future__ import annotations

import argparse

from yahtzee_cluster.commands.shared import add_seed, seed_of
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.game.scorecard import Scorecard
from yahtzee_cluster.objectives.goals import MEAN, parse_goal
from yahtzee_cluster.output import check_file, refuse_flags, write_file
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.consulted import Consulted
from yahtzee_cluster.play.conversation import Conversation
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.self_play import played_by
from yahtzee_cluster.play.strategies import common_rules, parse_strategy
from yahtzee_cluster.play.talk import talk


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Play a whole game at the terminal, with advice, with dice that you throw or that `roll` throws, and with a "
        "review at the end; or let a strategy play one, and print its record, which `yahtzee-cluster review` reviews."
    )
    parser.epilog = f"Examples: {parser.prog} --record game.txt; {parser.prog} --strategy greedy --seed 7"
    parser.add_argument(
        "--strategy",
        metavar="STRATEGY",
        help="who plays: one that `yahtzee-cluster strategies` lists, a file, a goal, or a table (default: you)",
    )
    parser.add_argument("--rules", metavar="NAME|FILE", help="a rule set (default: that of the strategy, or yahtzee)")
    parser.add_argument("--goal", metavar="GOAL", help="what you play for, as for `yahtzee-cluster probe`")
    add_seed(parser, "the dice")
    parser.add_argument("--record", metavar="FILE", help="write the record to this file")


def run(options: argparse.Namespace) -> str:
    """Play a game, and write it down."""
    if options.record is not None:
        check_file(options.record)
    rules = None if options.rules is None else load_rules(options.rules)
    if options.strategy is None:
        return _yours(options, rules or load_rules("yahtzee"))
    refuse_flags(options, ["goal"], "strategy: has a goal of its own")
    strategy = parse_strategy(options.strategy)
    with Adviser(common_rules([strategy], rules)) as adviser:
        record = played_by(Consulted(strategy, adviser), adviser, seed_of(options))
    return record.text.rstrip("\n") if options.record is None else write_file(options.record, record.text)


def _yours(options: argparse.Namespace, rules: Rules) -> str:
    """A game at the terminal."""
    goal = MEAN if options.goal is None else parse_goal(options.goal)
    with Adviser(rules) as adviser:
        start = Position.of(Scorecard.of(adviser.rules, {}))
        conversation = Conversation(adviser, start, goal, seed=options.seed)
        said = talk(conversation)
    record = conversation.state.record
    if options.record is None or record is None:
        return said
    return f"{said}\n{write_file(options.record, record.text)}"
