"""`yahtzee-cluster verify`: check every byte of a table."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from yahtzee_cluster.commands.shared import add_store, count
from yahtzee_cluster.tables import open_table


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = "Check every byte of a table against its digests, and recompute a sample of its values."
    add_store(parser)
    parser.add_argument(
        "--sample",
        type=count,
        default=0,
        metavar="N",
        help="number of values to recompute, at least one of every class (default: one of every class)",
    )
    parser.add_argument("--seed", type=count, metavar="N", help="seed of the sample (default: a new one each time)")


def run(options: argparse.Namespace) -> str:
    """Verify a table."""
    verdict = open_table(options.store).verify(options.sample, options.seed)
    verdict.check()
    return json.dumps(asdict(verdict)) if options.json else verdict.report()
