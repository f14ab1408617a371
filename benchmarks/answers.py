"""Answers about positions: how fast they come, and whether they agree with the tables of whole games.

Prints one JSON object a line. Compare figures only within one run, because machines are shared and clocks vary.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time, thread_time

import numpy as np

from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.game.dice import FACES, N_DICE
from yahtzee_cluster.game.possible_scores import scores_so_far
from yahtzee_cluster.game.rest import rest_of
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.game.scorecard import Scorecard, parse_scorecard
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.objectives.goals import MEAN
from yahtzee_cluster.objectives.probabilities import MaxProb, Reach
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.question import answered
from yahtzee_cluster.tables import table_of
from yahtzee_cluster.tables.memory import solve_in_memory

COMPARED = ("yahtzee", "forced-joker", "no-joker", "simple", "yacht", "yatzy")
REACH = 250
PROGRAM = Path(sys.executable).parent / "yahtzee-cluster"


def report(benchmark: str, **figures: object) -> None:
    """Print one line."""
    print(json.dumps({"benchmark": benchmark, **figures}), flush=True)


def some_card(rules: Rules, n_used: int, random: Random) -> Scorecard:
    """A scorecard with so many used boxes, filled with any dice."""
    card = parse_scorecard("", rules)
    for _ in range(n_used):
        roll = dice(random)
        free = [play.category for play in rules.plays(card.anchor.free, card.anchor.chip, tuple(sorted(roll)))]
        card = card.play(random.choice(free), roll)
    return card


def dice(random: Random) -> list[int]:
    """Five dice."""
    return random.choices(FACES, k=N_DICE)


def bench_stream(n_questions: int) -> None:
    """Questions for the mean as lines of JSON, read, answered and written, on one core."""
    rules, random = load_rules("yahtzee"), Random(1)
    lines = [
        json.dumps({"card": some_card(rules, n % 13, random).as_dict(), "dice": dice(random), "rolls_left": n % 3})
        for n in range(n_questions)
    ]
    with Adviser(rules) as adviser:
        answered({}, adviser, MEAN)
        began = process_time()
        for line in lines:
            json.dumps(answered(json.loads(line), adviser, MEAN))
        elapsed_s = process_time() - began
    report("stream of questions", questions=n_questions, per_s=round(n_questions / elapsed_s))


def bench_first_advice() -> None:
    """The first advice for a score to reach, from an empty card, beside the kernel time of the table for it."""
    rules, n_threads = load_rules("yahtzee"), len(os.sched_getaffinity(0))
    walls, busy, kernels = [], [], []
    for _ in range(3):
        began, at_work = perf_counter(), process_time()
        with Adviser(rules) as adviser:
            advice = adviser.advise(Position(Anchor(rules.all_free, 0), (2, 2, 2, 5, 6), 2), REACH)
        walls.append(perf_counter() - began)
        busy.append(process_time() - at_work)
        kernels.append(kernel_s(MaxProb(rules, REACH)))
    report(
        "first advice", reach=REACH, best=advice[0].move.words, p=advice[0].p, threads=n_threads,
        elapsed_s=round(min(walls), 2), kernel_of_table_s=round(min(kernels), 2),
        elapsed_to_kernel=round(min(walls) * n_threads / min(kernels), 2), processor_s=round(min(busy), 2),
        processor_to_kernel=round(min(busy) / min(kernels), 2),
    )  # fmt: skip


def kernel_s(problem: MaxProb) -> float:
    """The processor time of the kernel for a whole table."""
    layers, solve = problem.partition(0), problem.solver()
    below: Block | None = None
    elapsed_s = 0.0
    for layer in layers.classes:
        starts = layers.starts(layer)
        block = Block(layers.members(layer), starts, np.full(starts[-1], np.nan))
        began = thread_time()
        solve(block, [below] * len(problem.element_names))
        elapsed_s += thread_time() - began
        below = block
    return elapsed_s


def bench_endgames() -> None:
    """Answers with few boxes free, for the mean and for a score to reach, without a table."""
    rules, random = load_rules("yahtzee"), Random(2)
    for n_free in (5, 7, 9, 11):
        found: dict[str, list[float]] = {"mean": [], "reach": []}
        for _ in range(15):
            card = some_card(rules, 13 - n_free, random)
            position = Position.of(card, dice(random), random.randrange(3))
            began = perf_counter()
            rest = rest_of(rules, card.anchor)
            solve_expected(rest)
            found["mean"].append(perf_counter() - began)
            began = perf_counter()
            with Adviser(rules) as adviser:
                adviser.advise(position, card.score + 15 * n_free)
            found["reach"].append(perf_counter() - began)
        report(
            "from here", free=n_free, solved_for_mean_ms=round(1000 * median(found["mean"]), 1),
            advice_to_reach_ms=round(1000 * median(found["reach"])), slowest_ms=round(1000 * max(found["reach"])),
        )  # fmt: skip


def bench_shell() -> None:
    """From the shell to the first advice."""
    for flags in ([], ["--card", "aces=3,deuces=6,treys=9,fours=12,fives=15,sixes=18", "--reach", "200"]):
        walls = []
        for _ in range(5):
            began = perf_counter()
            subprocess.run([PROGRAM, "advise", "--dice", "22256", *flags], check=True, stdout=subprocess.DEVNULL)
            walls.append(perf_counter() - began)
        report("shell to advice", flags=flags, elapsed_s=round(min(walls), 2))


def bench_agreement(n_states: int) -> None:
    """Values from here against those of the tables of whole games: means and probabilities, to the last bit."""
    for name in COMPARED:
        rules, random = load_rules(name), np.random.default_rng(3)
        expected = solve_expected(rules)
        table = table_of(problem := MaxProb(rules, REACH), solve_in_memory(problem, limit_bytes=8 << 30))
        n_equal, n_values, largest = 0, 0, 0.0
        for place in random.choice(np.flatnonzero(expected.anchors.exists), n_states // len(COMPARED)).tolist():
            anchor = expected.anchors.anchor(place)
            if not anchor.free:
                continue
            rest = rest_of(rules, anchor)
            moments = solve_expected(rest)
            need = int(random.integers(1, REACH + 1 - min(REACH, scores_so_far(expected.anchors, anchor)[0])))
            reach = table_of(to_reach := Reach(rest, need), solve_in_memory(to_reach))
            pairs = [*zip(moments.moments(moments.start), expected.moments(place), strict=True)]
            pairs.append((reach.value(reach.start, need), table.value(anchor, need)))
            n_values += len(pairs)
            n_equal += sum(one == other for one, other in pairs)
            largest = max(largest, *(abs(one - other) / max(abs(other), 1e-300) for one, other in pairs))
        report("agreement", rules=name, values=n_values, equal=n_equal, largest_relative_difference=largest)


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=20_000, help="length of the stream (default: 20,000)")
    parser.add_argument("--states", type=int, default=3_000, help="states to compare (default: 3,000)")
    options = parser.parse_args()
    report("machine", load=os.getloadavg())
    bench_stream(options.questions)
    bench_first_advice()
    bench_endgames()
    bench_shell()
    bench_agreement(options.states)


if __name__ == "__main__":
    main()
