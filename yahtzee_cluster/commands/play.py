"""`yahtzee-cluster play`: whole games, played by a strategy and written down."""

from __future__ import annotations

import argparse
from pathlib import Path

from yahtzee_cluster.commands.shared import count
from yahtzee_cluster.errors import FileError
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.consulted import Consulted
from yahtzee_cluster.play.self_play import played_by
from yahtzee_cluster.play.strategies import common_rules, parse_strategy


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Let a strategy play a whole game with dice, and print its record, which `yahtzee-cluster review` reviews. For "
        "advice while you play yourself, see `yahtzee-cluster advise`."
    )
    parser.epilog = f"Example: {parser.prog} --strategy greedy --seed 7 --record game.txt"
    parser.add_argument(
        "--strategy",
        default="expected",
        metavar="STRATEGY",
        help="one that `yahtzee-cluster strategies` lists, a file, a goal, or a table (default: expected)",
    )
    parser.add_argument("--rules", metavar="NAME|FILE", help="a rule set (default: that of the strategy, or yahtzee)")
    parser.add_argument("--seed", type=count, default=1, metavar="N", help="seed of the dice (default: 1)")
    parser.add_argument("--record", metavar="FILE", help="write the record to this file, and print only its name")


def run(options: argparse.Namespace) -> str:
    """Play a game, and write it down."""
    strategy = parse_strategy(options.strategy)
    rules = common_rules([strategy], None if options.rules is None else load_rules(options.rules))
    with Adviser(rules) as adviser:
        record = played_by(Consulted(strategy, adviser), adviser, options.seed)
    if options.record is None:
        return record.text.rstrip("\n")
    try:
        Path(options.record).write_text(record.text, encoding="utf-8")
    except OSError as error:
        raise FileError(options.record, f"cannot be written: {error.strerror}") from error
    return str(options.record)
