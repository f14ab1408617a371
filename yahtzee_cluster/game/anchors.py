"""The states between turns (anchors), reduced to what the future depends on, and their numbering.

An anchor consists of the free categories, the upper total and the chip.
Once the upper bonus has been paid or is out of reach, the upper total no longer matters, and all such totals share one
anchor, the *closed* one.
No information is lost, because the bonus is paid at the moment when the total crosses the threshold.

The anchors of one scorecard (free categories and chip) have consecutive indices, one *lane* each.
Lane 0 is closed; lane i > 0 is the upper total `threshold - reserve - 1 + i`, where the reserve is the most that the
free upper categories can still add.
With this numbering, filling a category shifts every lane by the same distance: adding `gain` in a category that could
have added `most` leads from lane i to lane i + gain - most.
If that is 0 or less, the bonus is out of reach; if it lies beyond the last lane, the bonus is won.
A few lanes stand for totals that no play reaches; they cost little and affect no other lane.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.dice import N_DICE
from yahtzee_cluster.game.moves import Moves, Outcome
from yahtzee_cluster.game.rules import Anchor, Play, Rules


class Anchors:
    """All anchors of a rule set; the *place* of an anchor is its index among them."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        gains = [N_DICE * (category.face or 0) for category in rules.categories]
        pays = 0 < rules.upper_threshold <= sum(gains)
        self.bonus = rules.upper_bonus if pays else 0
        self.threshold = rules.upper_threshold if pays else 1
        self.most_gained = np.array(gains if pays else [0] * len(gains), np.int32)
        """[category]: the most that it can add to the upper total; 0 if the rules have no upper bonus."""

        free = np.arange(rules.all_free + 1)
        self.reserve = _sums(self.most_gained)
        """[free]: the most that the free categories can still add to the upper total."""
        filled = self.reserve[-1] - self.reserve
        self.n_lanes = np.minimum(self.threshold - 1, filled) - (self.threshold - self.reserve - 1) + 1
        chips = np.where(rules.has_chip & (free & rules.yahtzee_box == 0), 2, 1)
        sizes = self.n_lanes[:, None] * (np.arange(2)[None, :] < chips[:, None])
        starts = np.cumsum(sizes.ravel()) - sizes.ravel()
        self.place = np.where(sizes > 0, starts.reshape(sizes.shape), -1)
        """[free, chip]: the place of lane 0; -1 where there is no such scorecard."""
        self.n_places = int(sizes.sum())

    def places(self, free: int) -> slice:
        """The places of all anchors with these free categories."""
        first = self.place[:, 0]
        return slice(int(first[free]), int(first[free + 1]) if free < self.rules.all_free else self.n_places)

    def end_to_end(self, length: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Lay out rows of these lengths, one for each place, end to end for each set of free categories.

        Returns where each row starts, [place], and how long all rows of a set are together, [free].
        """
        ends = np.cumsum(length, dtype=np.int64)
        starts = ends - length
        first = self.place[:, 0]
        n_places = np.diff(np.append(first, self.n_places))
        return starts - np.repeat(starts[first], n_places), np.diff(np.append(starts[first], ends[-1]))

    @cached_property
    def exists(self) -> NDArray[np.bool_]:
        """[place]: whether some sequence of plays reaches the anchor."""
        exists = np.empty(self.n_places, bool)
        gaining = self._gaining
        for part in np.unique(np.arange(len(self.reserve)) & gaining).tolist():
            alike = self.place[np.arange(len(self.reserve)) & gaining == part]
            starts = alike[alike >= 0]
            n_lanes = int(self.n_lanes[part])
            reached = self._lanes_reached(self._totals[part], int(self.reserve[part]), n_lanes)
            exists[starts[:, None] + np.arange(n_lanes)] = reached
        return exists

    def _lanes_reached(self, totals: int, reserve: int, n_lanes: int) -> NDArray[np.bool_]:
        lowest = self.threshold - reserve
        lost = totals & ((1 << max(lowest, 0)) - 1)
        uppers = range(lowest, lowest + n_lanes - 1)
        reached = [upper >= 0 and totals >> upper & 1 for upper in uppers]
        return np.array([bool(lost or totals >> self.threshold), *reached], bool)

    def __len__(self) -> int:
        return int(self.exists.sum())

    @cached_property
    def n_unmerged(self) -> int:
        """The number of anchors if every upper total up to the threshold were a state of its own."""
        if not self.bonus:
            return len(self)
        below = (1 << self.threshold) - 1
        each = [(totals & below).bit_count() + (totals > below) for totals in self._totals]
        return int(np.array(each) @ (self.place >= 0).sum(axis=1))

    def lane(self, free: int, upper: int) -> int:
        """The lane of an upper total."""
        if upper >= self.threshold:
            return 0
        return int(max(0, upper - (self.threshold - self.reserve[free] - 1)))

    def index(self, anchor: Anchor) -> int:
        """The place of an anchor."""
        whole = isinstance(anchor.free, int | np.integer) and isinstance(anchor.upper, int | np.integer | None)
        known = whole and 0 <= anchor.free <= self.rules.all_free and anchor.chip in (False, True)
        if not known or self.place[anchor.free, int(anchor.chip)] < 0:
            upper = "" if whole else f", upper total {anchor.upper}"
            raise UsageError(f"no such scorecard: free categories {anchor.free}, chip {anchor.chip}{upper}")
        lane = 0 if anchor.upper is None else self.lane(anchor.free, anchor.upper)
        if lane >= self.n_lanes[anchor.free]:
            raise UsageError(f"upper: the used categories cannot bring an upper total of {anchor.upper}")
        return int(self.place[anchor.free, int(anchor.chip)]) + lane

    def reachable(self, anchor: Anchor) -> int:
        """The place of an anchor; raises UsageError if no sequence of plays reaches it."""
        index, upper = self.index(anchor), anchor.upper
        if upper is not None and (upper < 0 or not self._totals[anchor.free] >> upper & 1):
            raise UsageError(f"upper: the used categories cannot bring an upper total of {upper}")
        if not self.exists[index]:
            raise UsageError("upper: the used categories cannot have decided the bonus")
        return index

    def after(self, anchor: Anchor, play: Play | Outcome) -> tuple[Anchor, int]:
        """The anchor that a play leads to, and the points it pays, bonuses included."""
        free, chip = anchor.free & ~(1 << play.category), anchor.chip or play.chip
        if anchor.upper is None:
            return Anchor(free, None, chip), play.points
        bonus = self.rules.upper_bonus_for(anchor.upper, play.upper)
        return Anchor(free, anchor.upper + play.upper, chip), play.points + bonus

    def lead(self, free: Any, chip: Any, lane: Any, moves: Moves, outcomes: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        """Transitions of many anchors: the new free categories, chip and lane, and the points paid with bonuses."""
        category, points, upper, fills = moves.columns[:, outcomes]
        left = free ^ 1 << category
        most = self.most_gained[category]
        to = lane + np.where(most > 0, upper - most, 0)
        wins = to >= self.n_lanes[left]
        return left, chip | fills, np.where(wins | (to < 0), 0, to), points + self.bonus * wins

    def anchor(self, index: int) -> Anchor:
        """The anchor at a place."""
        scorecard = int(np.searchsorted(self._starts, index, side="right")) - 1
        free, chip = self._scorecards[scorecard]
        lane = index - int(self._starts[scorecard])
        upper = int(self.threshold - self.reserve[free] - 1) + lane if lane else None
        return Anchor(int(free), upper, bool(chip))

    def columns(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int16], NDArray[np.int8]]:
        """Free categories, upper totals and chips of the anchors at these places; -1 where the bonus is decided."""
        scorecards = np.searchsorted(self._starts, places, side="right") - 1
        free, chip = self._scorecards[scorecards].T
        lane = places - self._starts[scorecards]
        upper = np.where(lane > 0, self.threshold - self.reserve[free] - 1 + lane, -1)
        return free.astype(np.int32), upper.astype(np.int16), chip.astype(np.int8)

    @cached_property
    def _scorecards(self) -> NDArray[np.int64]:
        return np.argwhere(self.place >= 0)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return self.place[self.place >= 0]

    @property
    def _gaining(self) -> int:
        """The set of categories that can add to the upper total."""
        return sum(1 << category for category, most in enumerate(self.most_gained) if most)

    @cached_property
    def _totals(self) -> list[int]:
        """For every set of free categories, the possible upper totals as a bit mask: bit t stands for a total of t."""
        totals = {0: 1}
        for number, category in enumerate(self.rules.categories):
            if category.face:
                for filled, before in list(totals.items()):
                    after = 0
                    for count in range(N_DICE + 1):
                        after |= before << (category.face * count)
                    totals[filled | 1 << number] = after
        upper = self.rules.all_free & ~self.rules.lower_boxes
        return [totals[~free & upper] for free in range(len(self.reserve))]


def most_scored(anchors: Anchors, moves: Moves) -> NDArray[np.int64]:
    """[place]: the highest score that a game can have there."""
    n_sets = anchors.rules.all_free + 1
    most = np.zeros((n_sets, 2), np.int64)
    points = [[0] * 2 for _ in anchors.rules.categories]  # [category][chip before the turn]
    for outcome in moves.outcomes:
        for chip in range(2):
            if chip or anchors.rules.chip or not outcome.extra:
                points[outcome.category][chip] = max(points[outcome.category][chip], outcome.points)
    for free in range(n_sets - 1, 0, -1):
        for category, paid in enumerate(points):
            if free >> category & 1:
                left = free ^ 1 << category
                most[left, 0] = max(most[left, 0], most[free, 0] + paid[0])
                most[left, 1] = max(most[left, 1], most[free, 0] + paid[0], most[free, 1] + paid[1])
    most += anchors.bonus * (anchors.reserve[-1] - anchors.reserve >= anchors.threshold)[:, None]
    there = anchors.place >= 0
    n_lanes = np.broadcast_to(anchors.n_lanes[:, None], there.shape)
    return np.repeat(most[there], n_lanes[there])


def _sums(values: NDArray[np.int32]) -> NDArray[np.int32]:
    """The sum of the values in every set of them, indexed by the set as a bit mask."""
    sums = np.zeros(1, np.int32)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
