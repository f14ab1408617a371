"""`yahtzee-cluster compare`: where playing for a score and for the highest expected score differ."""

from __future__ import annotations

import argparse
import json

from yahtzee_cluster.analysis.comparison import facts, words
from yahtzee_cluster.analysis.forward import compare
from yahtzee_cluster.commands.shared import add_store, count
from yahtzee_cluster.tables import open_table


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = "Print where playing for a score and for the highest expected score differ."
    parser.epilog = f"Example: {parser.prog} --store runs/yahtzee-scores-1575-G5 --for 250"
    add_store(parser)
    parser.add_argument("--for", dest="target", required=True, type=count, metavar="N", help="the score")


def run(options: argparse.Namespace) -> str:
    """Compare both strategies, decision by decision."""
    table = open_table(options.store)
    both = compare(options.target, table)
    if options.json:
        return json.dumps(facts(options.target, both, table.rules))
    return words(options.target, both, table.rules)
