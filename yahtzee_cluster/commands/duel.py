"""`yahtzee-cluster duel`: strategies against each other."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from yahtzee_cluster.commands.shared import add_json, count
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.play.duel import Standing, duel, simulated_duel
from yahtzee_cluster.play.strategies import parse_strategy
from yahtzee_cluster.play.strategy import Strategy

GAMES = 100_000
"""The default number of simulated games."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Print the probability that each strategy wins: exactly if none of them depends on the other players, "
        "otherwise from simulated games, in which the players take turns in the order given. A strategy is `expected` "
        "(highest expected score), `chance` (best chance to win, given all scorecards), a goal such as reach:250 "
        "(solved in memory), the directory of a table of a utility or of two players, or DIR:N (reach N points, by a "
        "table of scores or approx)."
    )
    parser.epilog = (
        f"Examples: {parser.prog} runs/yahtzee-utility-beat-1-G5 expected; "
        f"{parser.prog} chance expected --games 1000000"
    )
    parser.add_argument("strategies", nargs="+", metavar="STRATEGY", help="two to sixteen strategies")
    parser.add_argument("--rules", metavar="NAME|FILE", help="rule set (default: that of the tables, or yahtzee)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--exact", action="store_true", help="fail rather than simulate")
    how.add_argument(
        "--games",
        type=count,
        metavar="N",
        help=f"number of games to simulate (default: {GAMES:,} if a strategy depends on the other players)",
    )
    parser.add_argument("--seed", type=count, metavar="N", help="seed of the dice (default: 1)")
    add_json(parser)


def run(options: argparse.Namespace) -> str:
    """Hold a duel, exactly or by simulation."""
    known = {text: parse_strategy(text) for text in dict.fromkeys(options.strategies)}
    strategies = [known[text] for text in options.strategies]
    rules = None if options.rules is None else load_rules(options.rules)
    n_games, seed = options.games, 1 if options.seed is None else options.seed
    if n_games is None and not options.exact and any(strategy.looks_on for strategy in strategies):
        n_games = GAMES
    if n_games == 0:
        raise UsageError("games: expected at least one")
    if n_games is None and options.seed is not None:
        raise UsageError("seed: this duel needs no dice; say how many --games to play, or leave it out")
    found = duel(strategies, rules) if n_games is None else simulated_duel(strategies, n_games, seed, rules)
    if options.json:
        players = [
            {"strategy": strategy.words, **asdict(standing), "interval": standing.interval}
            for strategy, standing in zip(strategies, found, strict=True)
        ]
        return json.dumps({"games": n_games, "seed": None if n_games is None else seed, "players": players})
    return "\n".join(_standings(strategies, found, n_games, seed))


def _standings(strategies: Sequence[Strategy], found: Sequence[Standing], n_games: int | None, seed: int) -> list[str]:
    """A line for each player, with the significant digits."""
    exact = n_games is None
    digits, places, interval = (6, 9, "") if exact else (4, 6, f"  {'95 % interval':20}")
    lines = [f"{'':>3} {'win':>12} {'tie':>12} {'loss':>12} {'value':>11}{interval} {'mean':>9}  plays for"]
    for number, (strategy, one) in enumerate(zip(strategies, found, strict=True), start=1):
        chances = " ".join(f"{100 * chance:>10.{digits}f} %" for chance in (one.win, one.tie, one.loss))
        interval = "" if exact else "  {:.6f} to {:.6f}".format(*one.interval)
        lines.append(f"{number:>3} {chances} {one.value:>11.{places}f}{interval} {one.mean:>9.4f}  {strategy.words}")
    return lines if exact else [*lines, "", f"In {n_games:,} games with dice, seed {seed}."]
