"""A reference implementation of the recursions in plain Python: slow, and simple enough to be checked by reading.

It shares nothing with the fast program except `rules.py`: no lattice, no kernel, no merged states, no shortened rows.
Every keep of every roll is tried, every throw is enumerated with its probability, and upper totals are not capped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from itertools import combinations, combinations_with_replacement, product

from yahtzee_cluster.game.rules import Play, Rules

Roll = tuple[int, ...]
Row = tuple[float, ...]
"""A value, followed by the values that break ties, in order of precedence."""

Anchor = tuple[int, int, bool]
"""Free categories, upper total, chip."""

TIE = 1e-12
SURE = 1e300


@cache
def throws(keep: Roll) -> dict[Roll, float]:
    """The rolls that a keep can lead to, with their probabilities."""
    n_thrown = 5 - len(keep)
    found: dict[Roll, int] = {}
    for dice in product(range(1, 7), repeat=n_thrown):
        roll = tuple(sorted(keep + dice))
        found[roll] = found.get(roll, 0) + 1
    return {roll: n / 6**n_thrown for roll, n in found.items()}


@cache
def keeps(roll: Roll) -> frozenset[Roll]:
    """All keeps of a roll."""
    return frozenset(keep for size in range(6) for keep in combinations(roll, size))


KEEPS: list[Roll] = [keep for size in range(6) for keep in combinations_with_replacement(range(1, 7), size)]
ROLLS: tuple[Roll, ...] = tuple(keep for keep in KEEPS if len(keep) == 5)


def pick(options: Iterable[Row]) -> Row:
    """The highest value, the highest second value among the options that tie with it, and so on."""
    listed = list(options)
    found = []
    for criterion in range(len(listed[0])):
        best = max(option[criterion] for option in listed)
        listed = [option for option in listed if option[criterion] >= best - TIE * abs(best)]
        found.append(best)
    return tuple(found)


def mean(throw: dict[Roll, float], of: dict[Roll, Row]) -> Row:
    """The expected values after a throw."""
    columns = zip(*(of[roll] for roll in throw), strict=True)
    return tuple(sum(chance * x for chance, x in zip(throw.values(), column, strict=True)) for column in columns)


def kept_best(kept: dict[Roll, Row]) -> dict[Roll, Row]:
    """The value of the best keep of any dice: all of them, or the best keep without one of them."""
    best: dict[Roll, Row] = {}
    for keep in KEEPS:
        fewer = {keep[:n] + keep[n + 1 :] for n in range(len(keep))}
        best[keep] = pick([kept[keep], *(best[rest] for rest in fewer)])
    return best


def best_turn(options: Callable[[Roll], Iterable[Row]]) -> Row:
    """The value of a turn under the optimal policy; `options` lists the values of all ways to score a roll."""
    worth = {roll: pick(options(roll)) for roll in ROLLS}
    for _ in range(2):
        worth = kept_best({keep: mean(throws(keep), worth) for keep in KEEPS})
    return mean(throws(()), worth)


def evaluated_turn(options: Callable[[Roll], Iterable[tuple[Row, Row]]]) -> Row:
    """The expected values of other quantities under the policy that is optimal for a turn.

    An option consists of the row to be maximised and the row of the other quantities. Ties go to the first option, and
    to the keep with the most dice, then with the highest faces.
    """
    worth, brought = {}, {}
    for roll in ROLLS:
        listed = list(options(roll))
        *row, name = pick((*row, -float(n)) for n, (row, _) in enumerate(listed))
        worth[roll], brought[roll] = tuple(row), listed[-int(name)][1]
    for _ in range(2):
        best = kept_best({keep: (*mean(throws(keep), worth), float(n)) for n, keep in enumerate(KEEPS)})
        theirs = {keep: mean(throws(keep), brought) for keep in KEEPS}
        worth = {roll: best[roll][:-1] for roll in ROLLS}
        brought = {roll: theirs[KEEPS[int(best[roll][-1])]] for roll in ROLLS}
    return mean(throws(()), brought)


def heuristic_turn(options: Callable[[Roll], Iterable[tuple[Row, float]]], need: float) -> float:
    """The probability of reaching a need under the normal approximation of the objective `approx`.

    The policy takes the keep or category whose mean lies the most standard deviations above the need.
    An option consists of (mean, second moment, whether the need is certain to be reached) and the exact probability.
    Mean and second moment of a keep are those of the policy with the highest mean.
    """

    def deviations(mean: float, second: float) -> float:
        variance = max(second - mean**2, 1e-14 * second + 1e-18)
        return (mean + 0.5 - need) / math.sqrt(variance)

    moments = {roll: pick((mean, second) for (mean, second, _), _ in options(roll)) for roll in ROLLS}
    chance: dict[Roll, Row] = {
        roll: (pick((SURE if sure else deviations(*both), p) for (*both, sure), p in options(roll))[1],)
        for roll in ROLLS
    }
    for _ in range(2):
        kept = {keep: mean(throws(keep), moments) for keep in KEEPS}
        really = {keep: mean(throws(keep), chance) for keep in KEEPS}
        taken = kept_best({keep: (deviations(kept[keep][0], kept[keep][1]), *really[keep]) for keep in KEEPS})
        best = kept_best(kept)
        moments = {roll: best[roll] for roll in ROLLS}
        chance = {roll: (taken[roll][1],) for roll in ROLLS}
    return mean(throws(()), chance)[0]


def decided_turn(scored: dict[Roll, float], second_keep: dict[Roll, Roll], first_keep: dict[Roll, Roll]) -> float:
    """The value of a turn under given decisions; `scored` holds the value of each final roll."""
    worth: dict[Roll, Row] = {roll: (value,) for roll, value in scored.items()}
    for keep_of in (second_keep, first_keep):
        worth = {roll: mean(throws(keep_of[roll]), worth) for roll in ROLLS}
    return mean(throws(()), worth)[0]


def after(rules: Rules, free: int, upper: int, play: Play) -> tuple[Anchor, int]:
    """The anchor that a play leads to, and the points it pays."""
    points = play.points + rules.upper_bonus_for(upper, play.upper)
    return (free & ~(1 << play.category), upper + play.upper, play.chip), points


def moments(rules: Rules) -> Callable[[int, int, bool], Row]:
    """Mean and second moment of the rest of the score under the policy with the highest mean.

    Ties go to the larger second moment.
    """

    @cache
    def from_anchor(free: int, upper: int, chip: bool) -> Row:
        if not free:
            return 0.0, 0.0

        def options(roll: Roll) -> Iterable[Row]:
            for play in rules.plays(free, chip, roll):
                anchor, points = after(rules, free, upper, play)
                rest, rest_squared = from_anchor(*anchor)
                yield rest + points, rest_squared + 2 * points * rest + points**2

        return best_turn(options)

    return from_anchor


def maxprob(rules: Rules) -> Callable[[int, int, bool, int], float]:
    """The highest probability of scoring at least `need` more points."""

    @cache
    def from_anchor(free: int, upper: int, chip: bool, need: int) -> float:
        if need <= 0:
            return 1.0
        if not free:
            return 0.0

        def options(roll: Roll) -> Iterable[Row]:
            for play in rules.plays(free, chip, roll):
                anchor, points = after(rules, free, upper, play)
                yield (from_anchor(*anchor, need - points),)

        return best_turn(options)[0]

    return from_anchor


def utility(rules: Rules, worth: Callable[[int], float]) -> Callable[[int, int, bool, int], float]:
    """The highest expected utility of the final score, by anchor and score so far; `worth` is the utility function."""

    @cache
    def from_anchor(free: int, upper: int, chip: bool, score: int) -> float:
        if not free:
            return worth(score)

        def options(roll: Roll) -> Iterable[Row]:
            for play in rules.plays(free, chip, roll):
                anchor, points = after(rules, free, upper, play)
                yield (from_anchor(*anchor, score + points),)

        return best_turn(options)[0]

    return from_anchor


def race(rules: Rules) -> Callable[[tuple[int, int, bool], tuple[int, int, bool], int], Row]:
    """The value of a two-player race for the first player, and the probability that the first player wins.

    A state consists of both anchors and the first player's lead. The player with more free categories is to move, or
    the first if both have equally many.
    """

    @cache
    def from_cards(one: tuple[int, int, bool], two: tuple[int, int, bool], lead: int) -> Row:
        if not one[0] and not two[0]:
            return (lead > 0) + 0.5 * (lead == 0), float(lead > 0)
        second = two[0].bit_count() > one[0].bit_count()
        mine = two if second else one

        def options(roll: Roll) -> Iterable[Row]:
            for play in rules.plays(mine[0], mine[2], roll):
                anchor, points = after(rules, mine[0], mine[1], play)
                if second:
                    yield tuple(-x for x in from_cards(one, anchor, lead - points))
                else:
                    yield from_cards(anchor, two, lead + points)

        value = best_turn(options)
        return tuple(-x for x in value) if second else value

    return from_cards


def maxprob_scores(rules: Rules) -> Callable[[int, int, bool, int], Row]:
    """The highest probability of scoring at least `need` more points, and the moments of the rest of the score.

    Ties in probability go to the highest mean, then to the largest second moment.
    """
    moments_from = moments(rules)

    @cache
    def from_anchor(free: int, upper: int, chip: bool, need: int) -> Row:
        if need <= 0:
            return 1.0, *moments_from(free, upper, chip)
        if not free:
            return 0.0, 0.0, 0.0

        def options(roll: Roll) -> Iterable[Row]:
            for play in rules.plays(free, chip, roll):
                anchor, points = after(rules, free, upper, play)
                p, rest, rest_squared = from_anchor(*anchor, need - points)
                yield p, rest + points, rest_squared + 2 * points * rest + points**2

        return best_turn(options)

    return from_anchor
