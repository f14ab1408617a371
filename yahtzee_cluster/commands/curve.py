"""`yahtzee-cluster curve`: the probability of every final score, from the start."""

from __future__ import annotations

import argparse
import json

from yahtzee_cluster.commands.shared import add_store
from yahtzee_cluster.tables import open_table


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = "Print the probability of every final score, from the start."
    add_store(parser)


def run(options: argparse.Namespace) -> str:
    """Format the curve of a table."""
    table = open_table(options.store)
    columns = table.curves()
    if options.json:
        return json.dumps({"target": table.target} | {name: column.tolist() for name, column in columns.items()})
    heading = ["score", *({"p": "P(score at least)"}.get(name, name) for name in columns)]
    rows = ([str(s), *(f"{x:.12g}" for x in row)] for s, row in enumerate(zip(*columns.values(), strict=True)))
    return "\n".join(f"{s:>5}  {'  '.join(f'{x:<16}' for x in row)}".rstrip() for s, *row in [heading, *rows])
