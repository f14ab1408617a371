"""The judge: the same recursion in the plainest Python, slow and obvious.

It shares nothing with the fast program but `rules.py`: no lattice, no kernel, no merged states, no shortened rows.
Every keep of every roll is tried, every throw is listed with its probability, and upper totals run as far as they go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import combinations, product

from yahtzee_cluster.rules import Play, Rules

Roll = tuple[int, ...]
Pair = tuple[float, float]
"""A value, and a second one that decides among equal values."""

Row = tuple[float, ...]

Anchor = tuple[int, int, bool]
"""Free categories, upper total, chip."""

TIE = 1e-12


@cache
def throws(keep: Roll) -> dict[Roll, float]:
    """The rolls that come of a keep, with their probabilities."""
    n_thrown = 5 - len(keep)
    found: dict[Roll, int] = {}
    for dice in product(range(1, 7), repeat=n_thrown):
        roll = tuple(sorted(keep + dice))
        found[roll] = found.get(roll, 0) + 1
    return {roll: n / 6**n_thrown for roll, n in found.items()}


@cache
def keeps(roll: Roll) -> frozenset[Roll]:
    """Everything that can be kept of a roll."""
    return frozenset(keep for size in range(6) for keep in combinations(roll, size))


ROLLS = tuple(throws(()))
KEEPS = tuple({keep for roll in ROLLS for keep in keeps(roll)})


def pick(options: Iterable[Pair]) -> Pair:
    """The highest value, and the highest second value among those that tie with it."""
    listed = list(options)
    best = max(value for value, _ in listed)
    return best, max(second for value, second in listed if value >= best - TIE * abs(best))


def mean(throw: dict[Roll, float], of: dict[Roll, Pair]) -> Pair:
    return (
        sum(chance * of[roll][0] for roll, chance in throw.items()),
        sum(chance * of[roll][1] for roll, chance in throw.items()),
    )


def best_turn(options: Callable[[Roll], Iterable[Pair]]) -> Pair:
    """The value of a turn played best, when `options` lists what scoring each roll can be worth."""
    worth = {roll: pick(options(roll)) for roll in ROLLS}
    for _ in range(2):
        kept = {keep: mean(throws(keep), worth) for keep in KEEPS}
        worth = {roll: pick(kept[keep] for keep in keeps(roll)) for roll in ROLLS}
    return mean(throws(()), worth)


def witnessed_turn(options: Callable[[Roll], Iterable[tuple[Pair, Row]]]) -> Row:
    """What a turn played best brings to bystanders: every option is a pair that decides, and what is theirs then.

    Where pairs tie, the first option and the keep with most dice, then with the highest faces, is taken.
    """

    def choice(listed: list[tuple[Pair, Row]]) -> tuple[Pair, Row]:
        for criterion in (0, 1):
            best = max(pair[criterion] for pair, _ in listed)
            listed = [(pair, theirs) for pair, theirs in listed if pair[criterion] >= best - TIE * abs(best)]
        return listed[0]

    def theirs(throw: dict[Roll, float]) -> Row:
        return tuple(
            sum(chance * brings for chance, brings in zip(throw.values(), column, strict=True))
            for column in zip(*(worth[roll][1] for roll in throw), strict=True)
        )

    worth = {roll: choice(list(options(roll))) for roll in ROLLS}
    for _ in range(2):
        pairs = {roll: pair for roll, (pair, _) in worth.items()}
        kept = {keep: (mean(throws(keep), pairs), theirs(throws(keep))) for keep in KEEPS}
        ranked = {roll: sorted(keeps(roll), key=lambda keep: (-len(keep), [-face for face in keep])) for roll in ROLLS}
        worth = {roll: choice([kept[keep] for keep in ranked[roll]]) for roll in ROLLS}
    return theirs(throws(()))


def decided_turn(scored: dict[Roll, float], second_keep: dict[Roll, Roll], first_keep: dict[Roll, Roll]) -> float:
    """The value of a turn played as decided, when `scored` is what each final roll is worth."""
    worth = {roll: (value, 0.0) for roll, value in scored.items()}
    for keep_of in (second_keep, first_keep):
        worth = {roll: mean(throws(keep_of[roll]), worth) for roll in ROLLS}
    return mean(throws(()), worth)[0]


def after(rules: Rules, free: int, upper: int, play: Play) -> tuple[Anchor, int]:
    """Where a play leads, and what it pays."""
    points = play.points + rules.upper_bonus_for(upper, play.upper)
    return (free & ~(1 << play.category), upper + play.upper, play.chip), points


def moments(rules: Rules) -> Callable[[int, int, bool], Pair]:
    """Mean and second moment of the rest of the score, played for the mean; ties go to the larger second moment."""

    @cache
    def from_anchor(free: int, upper: int, chip: bool) -> Pair:
        if not free:
            return 0.0, 0.0

        def options(roll: Roll) -> Iterable[Pair]:
            for play in rules.plays(free, chip, roll):
                anchor, points = after(rules, free, upper, play)
                rest, rest_squared = from_anchor(*anchor)
                yield rest + points, rest_squared + 2 * points * rest + points**2

        return best_turn(options)

    return from_anchor


def maxprob(rules: Rules) -> Callable[[int, int, bool, int], float]:
    """The highest probability of still scoring at least `need`."""

    @cache
    def from_anchor(free: int, upper: int, chip: bool, need: int) -> float:
        if need <= 0:
            return 1.0
        if not free:
            return 0.0

        def options(roll: Roll) -> Iterable[Pair]:
            for play in rules.plays(free, chip, roll):
                anchor, points = after(rules, free, upper, play)
                yield from_anchor(*anchor, need - points), 0.0

        return best_turn(options)[0]

    return from_anchor
