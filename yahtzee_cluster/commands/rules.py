"""`yahtzee-cluster rules`: list the rule sets, or print one as TOML."""

from __future__ import annotations

import argparse
import json
from typing import Any

from yahtzee_cluster.fields import parse_toml
from yahtzee_cluster.game.rule_files import load_rules, preset_names, template
from yahtzee_cluster.game.rules import Rules


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = "List the built-in rule sets, or print one as TOML, ready to edit and to give to --rules."
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this rule set as TOML")
    parser.add_argument("--json", action="store_true", help="print the rule sets, or the chosen one, as JSON")


def run(options: argparse.Namespace) -> str:
    """List the rule sets, or print one."""
    if options.name is not None:
        text = template(options.name)
        return json.dumps(parse_toml(text, options.name)) if options.json else text.rstrip("\n")
    if options.json:
        return json.dumps([_facts(load_rules(name)) for name in preset_names()])
    heading = f"{'name':14}{'boxes':>5}  {'mean':>10}  {'std':>7}  published by, and what sets the rules apart"
    return "\n".join([heading, *(_row(load_rules(name)) for name in preset_names())])


def _facts(rules: Rules) -> dict[str, Any]:
    return {
        "name": rules.name,
        "boxes": [category.name for category in rules.categories],
        "published_mean": rules.published_mean and float(rules.published_mean),
        "published_std": rules.published_std and float(rules.published_std),
        "source": rules.source,
    }


def _row(rules: Rules) -> str:
    mean, std = rules.published_mean or "-", rules.published_std or "-"
    return f"{rules.name:14}{len(rules.categories):>5}  {mean:>10}  {std:>7}  {rules.source}"
