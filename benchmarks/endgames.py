"""Measure two players from the middle of a game: solve a typical and the largest race with 1, 2, … free boxes each.

Prints one JSON object a line. Typical is the median of races from games that both players play for the highest expected
score. The largest is looked for among those in which both players have the same boxes free, most of them upper boxes,
with the upper bonus open and extra bonuses to come: these have the most values of all.

With `--against DIR`, compares values from here with those of a table of whole races instead, such as that of
`mpirun -n 3 yahtzee-cluster run --job two-player-yacht` (10 GB, two minutes).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
from collections.abc import Iterator
from itertools import combinations
from time import perf_counter, process_time

import numpy as np

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.notation import names_of
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.objectives.race import Begun, Race, RaceWins
from yahtzee_cluster.objectives.race_forecast import forecast
from yahtzee_cluster.play.aims import ForTheMean
from yahtzee_cluster.play.choices import Choices
from yahtzee_cluster.play.position import Position, Standing
from yahtzee_cluster.play.two_players import ToWin, race_from
from yahtzee_cluster.tables import open_table, table_of
from yahtzee_cluster.tables.memory import Memory, solve_in_memory
from yahtzee_cluster.tables.race import RaceTable

SEED = 1


def played(rules: Rules, n_games: int) -> list[list[tuple[Anchor, int]]]:
    """The states between turns of games played for the highest expected score, with the score so far, by turn."""
    choices, random, games = Choices(rules), np.random.default_rng(SEED), []
    aim = ForTheMean(choices, 0)
    for _ in range(n_games):
        anchor, score = Anchor(rules.all_free, 0), 0
        states = [(anchor, score)]
        while anchor.free:
            after, chances = choices.after(anchor), aim.ends(anchor, None, 3)
            taken = choices.moves.outcomes[after.outcomes[random.choice(len(chances), p=chances / chances.sum())]]
            anchor, points = choices.anchors.after(anchor, taken)
            score += points
            states.append((anchor, score))
        games.append(states)
    return games


def beginnings(rules: Rules, n_free: int, games: list[list[tuple[Anchor, int]]]) -> Iterator[Begun]:
    """The races between one game and the next with so many free boxes each."""
    turn = len(rules.categories) - n_free
    for mine, theirs in zip(games[::2], games[1::2], strict=True):
        (one, score), (two, other) = mine[turn], theirs[turn]
        yield Begun(one, two, score - other)


def largest(rules: Rules, n_free: int) -> Begun:
    """The race with the most values among those with upper boxes free, the bonus open and a filled Yahtzee box."""
    anchors, n_values = Anchors(rules), dict[Begun, int]()
    others = [box for box in range(len(rules.categories)) if 1 << box != rules.yahtzee_box]
    for boxes in combinations(others, n_free):
        free = sum(1 << box for box in boxes)
        if (free & ~rules.lower_boxes).bit_count() < min(n_free, 6) - (n_free > 4):
            continue
        for upper in range(0, rules.upper_threshold, 3):
            anchor = Anchor(free, upper, rules.has_chip)
            try:
                anchors.reachable(anchor)
            except UsageError:
                continue
            begun = Begun(anchor, anchor)
            n_values[begun] = forecast(Race(rules, begun), 1).n_values
    return max(n_values, key=n_values.__getitem__)


def measured(problem: Race, threads: int, limit_bytes: int) -> dict[str, object]:
    """What solving a race took, beside its forecast."""
    expected, memory = forecast(problem, threads), Memory(problem)
    load, started, busy = os.getloadavg()[0], perf_counter(), process_time()
    memory.solve(problem, threads=threads, limit_bytes=limit_bytes)
    elapsed_s, cpu_s = perf_counter() - started, process_time() - busy
    table = table_of(problem, memory)
    assert isinstance(table, RaceTable)
    return {
        "objective": problem.objective,
        "values": memory.n_bytes // 8,
        "mb": round(memory.n_bytes / 1e6, 1),
        "least_mb": round(memory.least_bytes / 1e6, 1),
        "s": round(elapsed_s, 3),
        "cpu_s": round(cpu_s, 3),
        "load_before": round(load, 1),
        "forecast_values": expected.n_values,
        "forecast_s": round(expected.seconds, 3),
        "opening": table.opening(),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def described(begun: Begun, rules: Rules) -> dict[str, object]:
    """Where a race begins, in words."""
    cards = [
        {"free": names_of(card.free, rules), "upper": card.upper, "chip": card.chip} for card in (begun.one, begun.two)
    ]
    return {"cards": cards, "lead": begun.lead}


def difference(table: RaceTable, position: Position, opponent: Standing) -> float:
    """How far the values of the moves by the table of a whole race are from those by the race from here, at most."""
    kind = RaceWins if table.quantities > 1 else Race
    problem = kind(table.rules, race_from(position, opponent))
    here = table_of(problem, solve_in_memory(problem))
    assert isinstance(here, RaceTable)
    choices = Choices(table.rules)
    values = [
        ToWin(choices, position, opponent, by).evaluated(position.anchor, position.dice, position.rolls_left)[1]
        for by in (table, here)
    ]
    return float(np.abs(values[0] - values[1]).max())


def compared(store: str, n_positions: int, most_free: int) -> dict[str, object]:
    """Compare so many positions of games played for the highest expected score, by either player to move."""
    table, random = open_table(store), np.random.default_rng(SEED)
    assert isinstance(table, RaceTable)
    games, largest = played(table.rules, 20), 0.0
    n_turns = len(table.rules.categories)
    for number in range(n_positions):
        mine, theirs = (games[i] for i in random.choice(len(games), 2, replace=False))
        turn = n_turns - int(random.integers(1, most_free + 1))
        # A player with one more free box is the second one.
        (anchor, score), (other, their_score) = mine[turn], theirs[turn + number % 2]
        position = Position(anchor, tuple(random.integers(1, 7, 5).tolist()), int(random.integers(3)), score)
        largest = max(largest, difference(table, position, Standing(other, their_score)))
    return {"store": store, "positions": n_positions, "largest_difference": largest}


def main() -> None:
    """Measure for each number of boxes, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "boxes", type=int, nargs="*", default=[1, 2, 3, 4, 5, 6], help="free boxes each (default: 1 to 6)"
    )
    parser.add_argument("--rules", default="yahtzee", help="rule set (default: yahtzee)")
    parser.add_argument("--games", type=int, default=200, help="games of two to draw from (default: 200)")
    parser.add_argument("--threads", type=int, default=2, help="threads (default: 2)")
    parser.add_argument("--limit-gb", type=float, default=8, help="memory for values (default: 8)")
    parser.add_argument("--only", choices=("typical", "largest"), help="measure only these")
    parser.add_argument("--against", metavar="DIR", help="compare with this table of a whole race, and measure nothing")
    parser.add_argument("--positions", type=int, default=200, help="positions to compare (default: 200)")
    asked = parser.parse_args()
    if asked.against:
        print(json.dumps(compared(asked.against, asked.positions, max(asked.boxes))))
        return
    rules = load_rules(asked.rules)
    games = played(rules, 2 * asked.games)
    for n_free in asked.boxes:
        every = sorted(beginnings(rules, n_free, games), key=lambda begun: forecast(Race(rules, begun), 1).n_values)
        kinds = {"typical": every[len(every) // 2]}
        if asked.only != "typical":
            kinds = {**({} if asked.only else kinds), "largest": largest(rules, n_free)}
        for kind, begun in kinds.items():
            for problem in (Race(rules, begun), RaceWins(rules, begun)):
                figures = measured(problem, asked.threads, int(asked.limit_gb * 1e9))
                print(json.dumps({"boxes": n_free, "kind": kind, **figures, **described(begun, rules)}), flush=True)


if __name__ == "__main__":
    main()
