# cython: language_level=3
"""Forward propagation of the state distribution under a policy: the probability of every state and every outcome.

The distribution over the anchors of one set of free categories is given in rows by the score so far, one row for each
anchor. One step adds it to the rows of the sets with one category less.
"""

import numpy as np

from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.turn import check, check_output
from yahtzee_cluster.kernels.needs cimport Player, Scores
from yahtzee_cluster.kernels.policies cimport Decider, ForTheMean
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, YC_KEEPS, YC_ROLLS, Turn, outcome_t, yc_source
from yahtzee_cluster.kernels.uppers cimport Layout, lead

from libc.stdint cimport int64_t, uint16_t

cdef enum:
    LANES = 64  # processed together, so that their decisions stay in the L2 cache
    LANES_COMPARED = 16  # the same when comparing, with the values of all keeps


cdef class Flow:
    """One step of the propagation.

    The policy is that of `player` while `target` is within reach (or always, if its lanes are scores so far), and that
    of `decider` once the target has been reached or is out of reach (or always, with `by_mean`). `length` and `offset`
    are the length of the row of each place, and its position among the rows of its own set.

    With `comparing`, each decision while the target is within reach is compared with that of the other of the two
    policies: how often they differ, and the cost of the difference by the other policy's objective (the probability of
    the target if the decider's policy is followed, the mean otherwise), assuming that the other policy is followed
    afterwards.
    """

    cdef readonly Turn turn
    cdef Decider decider
    cdef Player player
    cdef Layout layout
    cdef Py_ssize_t target
    cdef const int64_t[::1] lengths
    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] n_scores
    cdef bint by_mean
    cdef bint comparing
    cdef uint16_t[::1] decided
    cdef uint16_t[::1] decided_by_mean
    cdef double[::1] weights
    cdef double[::1] arrived
    cdef double[::1] ones
    cdef double[::1] arrived_by_mean
    cdef double[::1] rolls
    cdef double[::1] weighed
    cdef double[::1] weighed_by_mean

    def __cinit__(self, Decider decider not None, length, offset, Player player=None, Py_ssize_t target=0,
                  bint by_mean=False, bint comparing=False):
        if player is not None and decider.turn is not player.turn:
            raise KernelArgumentError("decider: expected one with the same turn")
        if comparing and not isinstance(player, Scores):
            raise KernelArgumentError("player: expected one of scores to compare with")
        if comparing and not isinstance(decider, ForTheMean):
            raise KernelArgumentError("decider: expected one for the mean to compare with")
        if target < 0:
            raise KernelArgumentError(f"target: expected at least 0, found {target}")
        self.turn = decider.turn
        self.decider = decider
        self.player = player
        self.layout = decider.layout
        self.target = target
        lengths = check("length", length, np.int64, (self.layout.n_places,)).copy()
        offsets = check("offset", offset, np.int64, (self.layout.n_places,)).copy()
        ends = offsets + lengths
        if lengths.min() < 1 or offsets.min() < 0 or (ends < offsets).any():
            raise KernelArgumentError("length, offset: expected rows with room for a score")
        self.lengths = lengths
        self.offsets = offsets
        self.n_scores = np.maximum.reduceat(ends, np.asarray(self.layout.place)[:, 0])
        self.decided = np.empty(3 * YC_ROLLS * LANES, np.uint16)
        self.decided_by_mean = np.empty(3 * YC_ROLLS, np.uint16)
        self.weights = np.empty(LANES)
        self.arrived = np.empty(self.turn.n_outcomes * LANES)
        self.ones = np.ones(np.max(self.layout.n_lanes))
        self.arrived_by_mean = np.empty(self.turn.n_outcomes * np.max(self.layout.n_lanes))
        self.by_mean = by_mean
        self.comparing = comparing
        if comparing:
            self.rolls = np.empty(3 * YC_ROLLS * LANES_COMPARED)
            self.weighed = np.empty(3 * 2 * YC_KEEPS * LANES_COMPARED)
            self.weighed_by_mean = np.empty(2 * 2 * YC_KEEPS * np.max(self.layout.n_lanes))

    def step(self, Py_ssize_t free, successors, games, out, met, compared=None, costliest=None):
        """Propagate the distribution `games` over the anchors with these free categories by one turn.

        The result is added to `out[c]`, where c is the category filled; the probability of outcome o is added to
        `met[w, o]`, where w is 1 if it wins the upper bonus and 0 if not. `successors` are the player's values.

        When comparing, `compared[stage]` accumulates the expected number of decisions, the number of those that differ,
        and their cost. `costliest[n]` describes the position with the n-th highest cost: cost, place, need, stage,
        roll, the decision, and the decision of the other policy.
        """
        cdef Turn turn = self.turn
        if not 0 < free <= turn.all_free:
            raise KernelArgumentError(f"free: expected 1 to {turn.all_free}, found {free}")
        cdef const double[::1] rows = check("games", games, np.float64, (self.n_scores[free],))
        cdef double[:, ::1] meets = check_output("met", met, (2, turn.n_outcomes))
        cdef double[::1] left
        cdef const double *reads[YC_CATEGORIES]
        cdef double *outs[YC_CATEGORIES]
        cdef Py_ssize_t lost = 0
        cdef int c, chip, lane
        cdef double[:, ::1] comparison = None
        cdef double[:, ::1] costs = None
        if self.comparing:
            comparison = check_output("compared", compared, (3, 3))
            costs = check_output("costliest", costliest, (None, 7))
            if costs.shape[0] == 0:
                raise KernelArgumentError("costliest: expected room for at least one position")
        if self.player is not None:
            self.player.read(free, successors, reads)
        for c in range(turn.tables.n_categories):
            outs[c] = NULL
            if free >> c & 1:
                left = check_output(f"out[{c}]", out[c], (self.n_scores[free ^ (1 << c)],))
                outs[c] = &left[0]
        turn.begin()
        try:
            with nogil:
                for chip in range(2):
                    if self.layout.place[free, chip] < 0:
                        continue
                    self.decider.decide(free, chip)
                    turn.run.spread(&turn.program, &turn.tables, &self.ones[0], &turn.scratch,
                                    self.layout.n_lanes[free], &self.decider.decided[0], self.layout.n_lanes[free],
                                    &self.arrived_by_mean[0], NULL)
                    if self.comparing:
                        turn.run.keep_values(&turn.program, &turn.criteria, &turn.scratch, 0, self.layout.n_lanes[free],
                                             &self.weighed_by_mean[0])
                    if self.player is not None:
                        self.player.open_card(turn, free, chip)
                    for lane in range(self.layout.n_lanes[free]):
                        if self.player is not None:
                            self.decider.copy_lane(free, lane, &self.decided_by_mean[0])
                        lost += self.play(turn, free, chip, lane, &rows[0], reads, outs, &meets[0, 0], comparison,
                                          costs)
        finally:
            turn.end()
        if lost:
            raise KernelArgumentError("length: expected room for all that games can score")

    cdef Py_ssize_t play(self, Turn turn, Py_ssize_t free, int chip, int lane, const double *rows,
                         const double **reads, double **outs, double *meets, double[:, ::1] comparison,
                         double[:, ::1] costs) noexcept nogil:
        """Propagate the row of one anchor. Returns the number of values that lie beyond the rows they belong to."""
        cdef Py_ssize_t at = self.layout.place[free, chip] + lane
        cdef const double *row = rows + self.offsets[at]
        cdef Py_ssize_t first = 0, last = self.lengths[at], low, high, n, i, lost = 0
        trim(row, &first, &last)
        if first == last:
            return 0
        if self.player is not None and self.player.by_score:
            return self.play_by_score(turn, free, chip, lane, row, first, last, reads, outs, meets)
        low = high = last  # from `low` on the target is within reach, from `high` on it has been reached
        if self.player is not None:
            low = min(max(first, self.target - self.player.lengths[at]), last)
            high = min(max(low, self.target), last)
        lost += self.play_by_mean(turn, free, chip, lane, row, first, low, outs, meets)
        lost += self.play_by_mean(turn, free, chip, lane, row, high, last, outs, meets)
        if low == high:
            return lost
        self.player.open_lane(turn, free, chip, lane, reads)
        while high > low:  # lane 0 needs the least, and has scored the most
            n = min(high - low, LANES_COMPARED if self.comparing else LANES)
            for i in range(n):
                self.weights[i] = row[high - 1 - i]
            if self.comparing or not self.by_mean:
                self.player.decide(turn, self.target - high, n, &self.decided[0])
            if self.comparing and self.by_mean:
                turn.run.keep_values(&turn.program, &turn.criteria, &turn.scratch, self.target - high, n,
                                     &self.weighed[0])
            turn.run.spread(&turn.program, &turn.tables, &self.weights[0], &turn.scratch, n,
                            &self.decided_by_mean[0] if self.by_mean else &self.decided[0], 1 if self.by_mean else n,
                            &self.arrived[0], &self.rolls[0] if self.comparing else NULL)
            if self.comparing:
                self.compare(turn, free, chip, lane, self.target - high, n, comparison, costs)
            lost += self.leave(turn, free, chip, lane, high - 1, -1, n, outs, meets)
            high -= n
        return lost

    cdef Py_ssize_t play_by_score(self, Turn turn, Py_ssize_t free, int chip, int lane, const double *row,
                                  Py_ssize_t first, Py_ssize_t last, const double **reads, double **outs,
                                  double *meets) noexcept nogil:
        """Propagate scores from `first` to `last` under a player whose lanes are scores so far."""
        cdef Py_ssize_t n, lost = 0
        self.player.open_lane(turn, free, chip, lane, reads)
        while first < last:
            n = min(last - first, LANES)
            self.player.decide(turn, first, n, &self.decided[0])
            turn.run.spread(&turn.program, &turn.tables, row + first, &turn.scratch, n, &self.decided[0], n,
                            &self.arrived[0], NULL)
            lost += self.leave(turn, free, chip, lane, first, 1, n, outs, meets)
            first += n
        return lost

    cdef Py_ssize_t play_by_mean(self, Turn turn, Py_ssize_t free, int chip, int lane, const double *row,
                                 Py_ssize_t first, Py_ssize_t last, double **outs, double *meets) noexcept nogil:
        """Propagate scores from `first` to `last` under the decider, whose decisions are the same for all scores."""
        cdef Py_ssize_t i, at, n = last - first, to = 0, lost = 0
        cdef double share, sum_ = 0.0
        cdef outcome_t *outcome
        cdef bint wins
        cdef int slot, o
        if n <= 0:
            return 0
        row += first
        for i in range(n):
            sum_ += row[i]
        for slot in range(turn.program.n_slots):
            o = turn.program.outcome[slot]
            share = self.arrived_by_mean[o * self.layout.n_lanes[free] + lane]
            if share == 0.0:
                continue
            outcome = &turn.outcomes[o]
            wins = lead(self.layout, outcome, free, chip, lane, &to)
            at = first + outcome.points + (self.layout.bonus if wins else 0)
            if at + n > self.lengths[to]:
                lost += 1
                continue
            turn.run.pour(row, share, n, outs[outcome.category] + self.offsets[to] + at)
            meets[wins * turn.n_outcomes + o] += share * sum_
        return lost

    cdef Py_ssize_t leave(self, Turn turn, Py_ssize_t free, int chip, int lane, Py_ssize_t score, int step,
                          Py_ssize_t n, double **outs, double *meets) noexcept nogil:
        """Add the probabilities of outcomes to the rows they lead to, for n scores from `score` on, by `step`."""
        cdef Py_ssize_t i, at, to = 0, lost = 0
        cdef double chance, sum_
        cdef double *out
        cdef outcome_t *outcome
        cdef bint wins
        cdef int slot, o
        for slot in range(turn.program.n_slots):
            o = turn.program.outcome[slot]
            outcome = &turn.outcomes[o]
            wins = lead(self.layout, outcome, free, chip, lane, &to)
            at = score + outcome.points + (self.layout.bonus if wins else 0)
            out = outs[outcome.category] + self.offsets[to]
            sum_ = 0.0
            for i in range(n):
                chance = self.arrived[o * n + i]
                if chance != 0.0:
                    sum_ += chance
                    if at < self.lengths[to]:
                        out[at] += chance
                    else:
                        lost += 1
                at += step
            meets[wins * turn.n_outcomes + o] += sum_
        return lost

    cdef void compare(self, Turn turn, Py_ssize_t free, int chip, int lane, Py_ssize_t base, Py_ssize_t n,
                      double[:, ::1] comparison, double[:, ::1] costs) noexcept nogil:
        """Compare the decisions in n lanes from `base` on with those of the other policy."""
        cdef Py_ssize_t i, at
        cdef int stage, roll, mine, other
        cdef double chance, cost
        for stage in range(3):
            for roll in range(YC_ROLLS):
                at = stage * YC_ROLLS + roll
                for i in range(n):
                    chance = self.rolls[at * n + i]
                    if chance == 0.0:
                        continue
                    mine = self.decided_by_mean[at] if self.by_mean else self.decided[at * n + i]
                    other = self.decided[at * n + i] if self.by_mean else self.decided_by_mean[at]
                    comparison[stage, 0] += chance
                    if mine == other:
                        continue
                    cost = chance * (self.judged(turn, free, chip, lane, base, i, n, stage, roll, other)
                                     - self.judged(turn, free, chip, lane, base, i, n, stage, roll, mine))
                    comparison[stage, 1] += chance
                    comparison[stage, 2] += cost
                    if cost > costs[costs.shape[0] - 1, 0]:
                        keep_costliest(costs, cost, self.layout.place[free, chip] + lane, base + i + 1, stage, roll,
                                       mine, other)

    cdef double judged(self, Turn turn, Py_ssize_t free, int chip, int lane, Py_ssize_t base, Py_ssize_t i,
                       Py_ssize_t n, int stage, int roll, int decision) noexcept nogil:
        """The value of a decision by the objective of the other policy, if that policy is followed afterwards."""
        cdef Py_ssize_t n_lanes = self.layout.n_lanes[free], at, to = 0
        cdef int o
        cdef yc_source *source
        if stage < 2 and self.by_mean:
            return self.weighed[(stage * YC_KEEPS + decision) * n + i]
        if stage < 2:
            return self.weighed_by_mean[(stage * YC_KEEPS + decision) * n_lanes + lane]
        o = turn.tables.outcome_of[turn.program.row[roll] * YC_CATEGORIES + decision]
        source = &turn.criteria.sources[0][o]
        if self.by_mean:
            at = base + i + source.shift
            return source.below if at < 0 else source.row[at] if at < source.length else source.above
        lead(self.layout, &turn.outcomes[o], free, chip, lane, &to)
        return (<ForTheMean>self.decider).mean[to] + turn.criteria.sources[1][o].add


cdef void keep_costliest(double[:, ::1] costs, double cost, double place, double need, double stage, double roll,
                         double mine, double other) noexcept nogil:
    """Insert a position into the list of the costliest, which is in descending order."""
    cdef Py_ssize_t n = costs.shape[0] - 1
    cdef int column
    while n > 0 and costs[n - 1, 0] < cost:
        for column in range(7):
            costs[n, column] = costs[n - 1, column]
        n -= 1
    costs[n, 0] = cost
    costs[n, 1] = place
    costs[n, 2] = need
    costs[n, 3] = stage
    costs[n, 4] = roll
    costs[n, 5] = mine
    costs[n, 6] = other


cdef void trim(const double *row, Py_ssize_t *first, Py_ssize_t *last) noexcept nogil:
    """Narrow the range to exclude zeros at both ends."""
    while first[0] < last[0] and row[first[0]] == 0.0:
        first[0] += 1
    while first[0] < last[0] and row[last[0] - 1] == 0.0:
        last[0] -= 1
