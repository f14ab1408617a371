"""`yahtzee-cluster rules`: list the rule sets, or print one as TOML."""

from __future__ import annotations

import argparse

from yahtzee_cluster.game.rules import Rules, load_rules, preset_names, template


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = "List the built-in rule sets, or print one as TOML, ready to edit and to give to --rules."
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this rule set as TOML")


def run(options: argparse.Namespace) -> str:
    """List the rule sets, or print one."""
    if options.name is not None:
        return template(options.name).rstrip("\n")
    heading = f"{'name':14}{'boxes':>5}  {'mean':>10}  {'std':>7}  published by, and what sets the rules apart"
    return "\n".join([heading, *(_row(load_rules(name)) for name in preset_names())])


def _row(rules: Rules) -> str:
    mean, std = rules.published_mean or "-", rules.published_std or "-"
    return f"{rules.name:14}{len(rules.categories):>5}  {mean:>10}  {std:>7}  {rules.source}"
