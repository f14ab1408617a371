"""The exact set of scores that a game can have at an anchor, and the extra bonuses that its points allow.

The order in which boxes are filled matters only for further Yahtzees, that is, five of a kind when the Yahtzee box is
used: what they pay, and where they may be scored, depends on which boxes are free at that time.
It is enough to consider two times for each box, right after the Yahtzee box was filled and as late as possible, and to
combine every way to fill one box with every way to fill another; the tests compare this with all games of small rule
sets.
The forced joker rule needs one more case. A further Yahtzee may be scored in an upper box of another face only when all
lower boxes and all boxes of its own face are used. Then some upper boxes are filled last, and the jokers in lower boxes
have other faces than these. Every choice of the faces that are filled last is tried.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.dice import FACES, FIVES, ROLLS
from yahtzee_cluster.game.rules import Anchor, Category, Play, Rules

Ways = set[tuple[int, int]]
"""The ways to fill a box, each as the points without the upper bonus and the addition to the upper total."""

At = tuple[Anchors, Anchor]
"""An anchor among those of its game."""


@lru_cache(maxsize=64)
def scores_so_far(anchors: Anchors, anchor: Anchor) -> tuple[int, ...]:
    """The scores that a game can have at an anchor, in ascending order.

    An upper total of None stands for all totals at which the bonus is decided.
    """
    anchors.reachable(anchor)
    rules, free = anchors.rules, anchor.free
    used = _members(rules.all_free & ~free)
    faces = [box for box in used if rules.categories[box].face is not None]
    found = 0
    for last in _filled_last(rules, free, chip=anchor.chip):
        ways = _ways(rules, free, anchor.chip, last)
        above = 0
        for total, scores in _combined(1, [ways[box] for box in faces]).items():
            decided = anchors.lane(free, total) == 0
            if decided if anchor.upper is None else total == anchor.upper:
                above |= scores << rules.upper_bonus_for(0, total)
        found |= _combined(above, [ways[box] for box in used if box not in faces])[0]
    return _members(found)


def highest_score(anchors: Anchors) -> int:
    """The highest final score."""
    chips = (chip for chip in (False, True) if anchors.place[0, int(chip)] >= 0)
    return max(scores_so_far(anchors, Anchor(0, None, chip))[-1] for chip in chips)


def check_score(anchors: Anchors, anchor: Anchor, score: int) -> None:
    """Raise UsageError for a score that no game can have at an anchor."""
    _check(score, scores_so_far(anchors, anchor), f"score so far: no game has {score} points here")


def leads(one: At, two: At, begun: int = 0) -> list[int]:
    """The leads of the first of two players that a game can have at their anchors, in ascending order.

    `begun` is the lead at the beginning.
    """
    scores, others = scores_so_far(*one), scores_so_far(*two)
    return sorted({begun + score - other for score in scores for other in others})


def check_lead(lead: int, one: At, two: At, begun: int = 0) -> None:
    """Raise UsageError for a lead that no game can have at two anchors."""
    _check(lead, leads(one, two, begun), f"lead: no game comes to {lead} here")


@cache
def possible_points(category: Category) -> frozenset[int]:
    """The points that a box can hold, without bonuses; a joker scores none that another roll does not score there."""
    return frozenset(category.score(roll) for roll in ROLLS)


def boxes_with_bonus(rules: Rules, points: Sequence[int | None]) -> tuple[int, ...]:
    """The boxes that can have been filled with further Yahtzees, all in one game; as many as possible.

    `points` has those of each box without bonuses, None where it is free; the Yahtzee box holds some.
    """
    free = sum(1 << box for box, held in enumerate(points) if held is None)
    filled = [(box, 1 << held) for box, held in enumerate(points) if held is not None]
    together = (tuple(box for box, held in filled if paying[box] & held) for paying in _paying(rules, free))
    return max(together, key=len)


@lru_cache(maxsize=4096)
def _paying(rules: Rules, free: int) -> tuple[tuple[int, ...], ...]:
    """For every choice of boxes filled last: the points of a further Yahtzee that pays a bonus, by the box it fills.

    A set of points is an integer: bit p stands for p points.
    """
    found = []
    for last in _filled_last(rules, free, chip=True):
        paying = [0] * len(rules.categories)
        for play in _further_yahtzees(rules, free, chip=True, last=last):
            paying[play.category] |= 1 << play.points - play.extra
        found.append(tuple(paying))
    return tuple(found)


def _check(points: int, possible: Sequence[int], refusal: str) -> None:
    at = bisect(possible, points)
    below, above = possible[max(at - 1, 0) : at], possible[at : at + 1]
    if points in below:
        return
    if below and above:
        raise UsageError(f"{refusal}; the nearest are {below[0]} and {above[0]}")
    raise UsageError(f"{refusal}; the {f'most is {below[0]}' if below else f'least is {above[0]}'}")


def _members(numbers: int) -> tuple[int, ...]:
    return tuple(number for number, bit in enumerate(reversed(f"{numbers:b}")) if bit == "1")


def _combined(scores: int, boxes: Iterable[Ways]) -> dict[int, int]:
    """The possible scores for each addition to the upper total, if each box is filled in any of its ways.

    A set of scores is an integer: bit s stands for the score s.
    """
    found = {0: scores}
    for ways in boxes:
        before, found = found, {}
        for total, having in before.items():
            for points, gained in ways:
                found[total + gained] = found.get(total + gained, 0) | having << points
    return found


def _ways(rules: Rules, free: int, chip: bool, last: int) -> dict[int, Ways]:
    """The ways to fill each used box, if the boxes in the set `last` are filled after all others."""
    used = rules.all_free & ~free
    ways = {box: _ways_before(rules, rules.categories[box]) for box in _members(used)}
    if rules.has_chip and used & rules.yahtzee_box:
        yahtzee = rules.yahtzee_box.bit_length() - 1
        ways[yahtzee] = {way for way in ways[yahtzee] if bool(way[0]) == chip}
    for play in _further_yahtzees(rules, free, chip, last):
        ways[play.category].add((play.points, play.upper))
    return ways


def _ways_before(rules: Rules, category: Category) -> Ways:
    """The ways to fill a box while the Yahtzee box is free, or with a roll other than five of a kind."""
    every = possible_points(category)
    if rules.yahtzee is not None and not rules.yahtzee_box:  # in the rest of a game it may have been used before
        every = frozenset(category.score(roll) for roll in ROLLS if roll[0] != roll[-1])
    return {(points, points if category.face is not None else 0) for points in every}


def _further_yahtzees(rules: Rules, free: int, chip: bool, last: int) -> Iterator[Play]:
    """The ways to fill used boxes with further Yahtzees, if the boxes in the set `last` are filled after all others."""
    if rules.yahtzee is None or free & rules.yahtzee_box:
        return
    others = rules.all_free & ~free & ~rules.yahtzee_box
    lower = others & rules.lower_boxes
    for still_free, boxes in ((free | others, others), (free | last | lower, lower), (free | last, last)):
        for five in FIVES:
            yield from (play for play in rules.plays(still_free, chip, ROLLS[five]) if boxes >> play.category & 1)


def _filled_last(rules: Rules, free: int, *, chip: bool) -> list[int]:
    """The sets of upper boxes that may have been filled last, as far as the order affects the possible scores."""
    if rules.joker != "forced" or not (chip or rules.chip) or free & rules.lower_boxes:
        return [0]
    used = [boxes for face in FACES if (boxes := rules.boxes_of(face) & ~free)]
    return [sum(some) for size in range(len(used) + 1) for some in combinations(used, size)]
