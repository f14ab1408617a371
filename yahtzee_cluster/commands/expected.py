"""`yahtzee-cluster expected`: mean and standard deviation of the final score of best play."""

from __future__ import annotations

import argparse
import json
from time import perf_counter

from yahtzee_cluster.commands.shared import add_json
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.text import beside_published


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Solve a game for the highest expected score, and print mean and standard deviation of the final score."
    )
    parser.add_argument(
        "--rules",
        default="yahtzee",
        metavar="NAME|FILE",
        help="a rule set by name, see `yahtzee-cluster rules`, or a TOML file (default: yahtzee)",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> str:
    """Solve a game, and format mean and deviation."""
    rules = load_rules(options.rules)

    started = perf_counter()
    table = solve_expected(rules)
    elapsed = perf_counter() - started
    mean, std = float(table.mean[table.start]), table.std(table.start)
    if options.json:
        summary = {
            "rules": rules.name,
            "mean": mean,
            "std": std,
            "anchors": len(table.anchors),
            "elapsed_s": elapsed,
        }
        return json.dumps(summary)
    return "\n".join(
        [
            f"rules      {rules.name}",
            f"mean       {mean:.4f}{beside_published(rules.published_mean)}",
            f"std        {std:.4f}{beside_published(rules.published_std)}",
            f"anchors    {len(table.anchors):,} ({table.anchors.n_unmerged:,} with every upper total kept apart)",
            f"elapsed    {elapsed:.3f} s",
        ]
    )
