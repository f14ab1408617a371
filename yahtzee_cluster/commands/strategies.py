"""`yahtzee-cluster strategies`: the strategies that come with the program."""

from __future__ import annotations

import argparse
import json

from yahtzee_cluster.commands.shared import add_json
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import read_text
from yahtzee_cluster.output import write_file
from yahtzee_cluster.play.rule_lists import RuleList
from yahtzee_cluster.play.rule_page import page
from yahtzee_cluster.play.strategy_files import Described, load_strategy, path_of, strategy_names


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "List the strategies that come with the program: the number of their parameters, the mean that was published "
        "for them and their exact mean; or print the file of one, ready to edit."
    )
    parser.epilog = f"Example: {parser.prog} upper-lower >mine.toml"
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this file")
    parser.add_argument(
        "--page", metavar="FILE", help="write a list of rules in words, as an HTML page that prints on one sheet"
    )
    add_json(parser)


def run(options: argparse.Namespace) -> str:
    """List the strategies, or print one."""
    if options.page is not None and options.name is None:
        raise UsageError("page: name the strategy by rules that it is to show")
    if options.name is not None:
        known = load_strategy(options.name)
        if options.page is not None:
            return _written(known, options.page)
        return json.dumps(_facts(known)) if options.json else read_text(str(path_of(options.name))).rstrip("\n")
    found = [load_strategy(name) for name in strategy_names()]
    if options.json:
        return json.dumps([_facts(one) for one in found])
    lines = [f"{'strategy':26}{'game':13}{'parameters':>10} {'published':>10} {'exact mean':>11}  about"]
    for one in found:
        published = "" if one.published is None else f"{one.published:g}"
        exact = "" if one.recorded is None else f"{one.recorded:.4f}"
        lines.append(f"{one.title:26}{one.game.name:13}{one.n_parameters:>10} {published:>10} {exact:>11}  {one.about}")
    return "\n".join(lines)


def _written(known: Described, file: str) -> str:
    if not isinstance(known.strategy, RuleList):
        raise UsageError(f"page: {known.title} has no rules to show")
    return write_file(file, page(known, known.strategy))


def _facts(one: Described) -> dict[str, object]:
    return {
        "name": one.title,
        "game": one.game.name,
        "parameters": one.n_parameters,
        "about": one.about,
        "source": one.source,
        "published": one.published,
        "mean": one.recorded,
    }
