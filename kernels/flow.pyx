# cython: language_level=3
"""Games on their way from the first turn to the last: how likely every state is met, and every play.

The games of one set of free categories arrive in rows and leave to the sets with one category less.
Games that still play for a need lie in *open* rows, by what they still need, laid out as the rows of a `needs` table.
All others play for the highest mean from there on, and lie in *free* rows, by the score so far.
"""

import numpy as np

from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.turn import check, check_output
from yahtzee_cluster.kernels.needs cimport Scores
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, YC_KEEPS, YC_ROLLS, Turn, outcome_t, yc_source
from yahtzee_cluster.kernels.uppers cimport Decider, Layout

from libc.stdint cimport int64_t, uint16_t

cdef enum:
    LANES = 64  # looked at together: their decisions stay in a near cache
    LANES_COMPARED = 16  # and all that is compared


cdef class Flow:
    """One step of the way.

    `scores` decides for games that still play for `target`, the decider for those that do not any more;
    `width[free, chip]` is how long a free row is. `by_mean` lets the decider decide for all of them.

    With `comparing`, every decision of who plays is held against that of the other one, as long as the target is open:
    how often they differ, and what the difference costs by the measure of the other one (the probability of the target
    if the decider plays, the mean if it does not) if he played on from there.
    """

    cdef readonly Turn turn
    cdef Decider decider
    cdef Scores scores
    cdef Layout layout
    cdef Py_ssize_t target
    cdef const int64_t[:, ::1] width
    cdef const int64_t[::1] n_open
    cdef const int64_t[::1] n_free
    cdef bint by_mean
    cdef bint comparing
    cdef uint16_t[::1] decided
    cdef uint16_t[::1] decided_by_mean
    cdef double[::1] arrived
    cdef double[::1] rolls
    cdef double[::1] weighed
    cdef double[::1] weighed_by_mean

    def __cinit__(self, Scores scores not None, Decider decider not None, width, Py_ssize_t target, bint by_mean=False,
                  bint comparing=False):
        if decider.turn is not scores.turn:
            raise KernelArgumentError("decider: expected one with the same turn")
        if target < 0:
            raise KernelArgumentError(f"target: expected at least 0, found {target}")
        self.turn = scores.turn
        self.decider = decider
        self.scores = scores
        self.layout = scores.layout
        self.target = target
        width = check("width", width, np.int64, (self.turn.all_free + 1, 2)).copy()
        self.width = width
        self.n_open = self.scores.n_values
        if np.min(width) < 1:
            raise KernelArgumentError("width: expected at least 1")
        here = np.asarray(self.layout.place) >= 0
        self.n_free = (np.where(here, width, 0) * np.asarray(self.layout.n_lanes)[:, None]).sum(axis=1)
        self.decided = np.empty(3 * YC_ROLLS * LANES, np.uint16)
        self.decided_by_mean = np.empty(3 * YC_ROLLS, np.uint16)
        self.arrived = np.empty(self.turn.n_outcomes * LANES)
        self.by_mean = by_mean
        self.comparing = comparing
        if comparing:
            self.rolls = np.empty(3 * YC_ROLLS * LANES_COMPARED)
            self.weighed = np.empty(3 * 2 * YC_KEEPS * LANES_COMPARED)
            self.weighed_by_mean = np.empty(2 * 2 * YC_KEEPS * np.max(self.layout.n_lanes))

    def room(self, Py_ssize_t free):
        """How long the open rows of a set of free categories are together, and the free ones."""
        return self.n_open[free], self.n_free[free]

    def step(self, Py_ssize_t free, successors, still_open, played_free, open_out, free_out, met, compared=None,
             costliest=None):
        """Play one turn of all games with these free categories.

        They come from `still_open` and `played_free` and are added to `open_out[c]` and `free_out[c]`; to `met[w, o]`
        is added how likely outcome o is, without (w = 0) and with winning the upper bonus. Without games that are open,
        `still_open` is None, and nobody looks at `successors`, the rows that decide for them.

        When comparing, to `compared[stage]` is added how many decisions are taken, how many of them the other one would
        take otherwise, and what that costs; `costliest[n]` has what the n-th costliest position costs, its place, need,
        stage and roll, and what is decided and what the other one would decide, for as many as there is room for.
        """
        cdef Turn turn = self.turn
        if not 0 < free <= turn.all_free:
            raise KernelArgumentError(f"free: expected 1 to {turn.all_free}, found {free}")
        cdef const double[::1] opened = None
        cdef const double[::1] freed = check("played_free", played_free, np.float64, (self.n_free[free],))
        cdef double[:, ::1] meets = check_output("met", met, (2, turn.n_outcomes))
        cdef double[::1] rows
        cdef const double *reads[YC_CATEGORIES]
        cdef double *opens[YC_CATEGORIES]
        cdef double *frees[YC_CATEGORIES]
        cdef Py_ssize_t left, lost = 0
        cdef int c, chip, lane
        cdef bint has_open = still_open is not None
        cdef double[:, ::1] comparison = None
        cdef double[:, ::1] costs = None
        if self.comparing:
            comparison = check_output("compared", compared, (3, 3))
            costs = check_output("costliest", costliest, (None, 7))
            if costs.shape[0] == 0:
                raise KernelArgumentError("costliest: expected room for at least one position")
        if has_open:
            opened = check("still_open", still_open, np.float64, (self.n_open[free],))
            has_open = opened.shape[0] > 0
            self.scores.read(free, successors, reads)
        for c in range(turn.tables.n_categories):
            opens[c] = frees[c] = NULL
            if free >> c & 1:
                left = free ^ (1 << c)
                rows = check_output(f"free_out[{c}]", free_out[c], (self.n_free[left],))
                frees[c] = &rows[0]
                if has_open:
                    rows = check_output(f"open_out[{c}]", open_out[c], (self.n_open[left],))
                    if rows.shape[0]:
                        opens[c] = &rows[0]
        turn.begin()
        try:
            with nogil:
                for chip in range(2):
                    if self.layout.place[free, chip] < 0:
                        continue
                    self.decider.decide(free, chip)
                    if self.comparing:
                        turn.run.weigh(&turn.program, &turn.criteria, &turn.scratch, self.layout.n_lanes[free],
                                       &self.weighed_by_mean[0])
                    for lane in range(self.layout.n_lanes[free]):
                        self.decider.copy_lane(free, lane, &self.decided_by_mean[0])
                        lost += self.play_free(turn, free, chip, lane, &freed[0], frees, &meets[0, 0])
                        if has_open:
                            lost += self.play_open(turn, free, chip, lane, &opened[0], reads, opens, frees,
                                                   &meets[0, 0], comparison, costs)
        finally:
            turn.end()
        if lost:
            raise KernelArgumentError("width: expected room for all that games can score")

    cdef Py_ssize_t row_of(self, Py_ssize_t free, int chip, Py_ssize_t lane) noexcept nogil:
        """Where a free row starts."""
        cdef Py_ssize_t before = self.layout.n_lanes[free] * self.width[free, 0] if chip else 0
        return before + lane * self.width[free, chip]

    cdef Py_ssize_t play_free(self, Turn turn, Py_ssize_t free, int chip, int lane, const double *rows, double **frees,
                              double *meets) noexcept nogil:
        """Games that play for the highest mean: one decision for all scores. Says how many found no room."""
        cdef const double *row = rows + self.row_of(free, chip, lane)
        cdef Py_ssize_t base, n, i, first = 0, last = self.width[free, chip], to = 0, left, score, room, lost = 0
        cdef double chance, sum_
        cdef double *out
        cdef outcome_t *outcome
        cdef bint wins
        cdef int slot, o
        trim(row, &first, &last)
        if first == last:
            return 0
        base = first
        while base < last:
            n = min(last - base, LANES)
            turn.run.spread(&turn.program, &turn.tables, row + base, &turn.scratch, n, &self.decided_by_mean[0], 1,
                            &self.arrived[0], NULL)
            for slot in range(turn.program.n_slots):
                o = turn.program.outcome[slot]
                outcome = &turn.outcomes[o]
                wins = self.layout.lead(outcome, free, chip, lane, &to)
                left = free ^ (1 << outcome.category)
                score = base + outcome.points + (self.layout.bonus if wins else 0)
                room = self.width[left, chip or outcome.chip] - score
                out = frees[outcome.category] + self.row_at(left, chip or outcome.chip, to) + score
                sum_ = 0.0
                for i in range(n):
                    chance = self.arrived[o * n + i]
                    if i < room:
                        out[i] += chance
                    elif chance != 0.0:
                        lost += 1
                    sum_ += chance
                meets[wins * turn.n_outcomes + o] += sum_
            base += n
        return lost

    cdef Py_ssize_t row_at(self, Py_ssize_t free, int chip, Py_ssize_t place) noexcept nogil:
        return self.row_of(free, chip, place - self.layout.place[free, chip])

    cdef Py_ssize_t play_open(self, Turn turn, Py_ssize_t free, int chip, int lane, const double *rows,
                              const double **reads, double **opens, double **frees, double *meets,
                              double[:, ::1] comparison, double[:, ::1] costs) noexcept nogil:
        """Games that play for the target: every need has decisions of its own. Says how many found no room."""
        cdef Py_ssize_t at = self.layout.place[free, chip] + lane
        cdef const double *row = rows + self.scores.offsets[at]
        cdef Py_ssize_t base, n, i, left, need, score, room, shifted = 0, lost = 0, to = 0
        cdef Py_ssize_t first = 0, last = min(<Py_ssize_t>self.scores.lengths[at], self.target)
        cdef double chance, sum_
        cdef double *out
        cdef outcome_t *outcome
        cdef bint wins
        cdef int slot, o, k, paid
        trim(row, &first, &last)
        if first == last:
            return 0
        self.scores.look_up_scores(turn, free, chip, lane, reads)
        turn.criteria.n = 3
        base = first
        while base < last:
            n = min(last - base, LANES_COMPARED if self.comparing else LANES)
            for k in range(3):
                for o in range(turn.n_outcomes):
                    turn.criteria.sources[k][o].shift += base - shifted
            shifted = base
            if self.comparing or not self.by_mean:
                turn.run.choose(&turn.program, &turn.tables, &turn.criteria, &turn.scratch, n, &self.decided[0])
            if self.comparing and self.by_mean:
                turn.run.weigh(&turn.program, &turn.criteria, &turn.scratch, n, &self.weighed[0])
            turn.run.spread(&turn.program, &turn.tables, row + base, &turn.scratch, n,
                            &self.decided_by_mean[0] if self.by_mean else &self.decided[0], 1 if self.by_mean else n,
                            &self.arrived[0], &self.rolls[0] if self.comparing else NULL)
            if self.comparing:
                self.compare(turn, free, chip, lane, base, n, comparison, costs)
            for slot in range(turn.program.n_slots):
                o = turn.program.outcome[slot]
                outcome = &turn.outcomes[o]
                wins = self.layout.lead(outcome, free, chip, lane, &to)
                paid = outcome.points + (self.layout.bonus if wins else 0)
                left = free ^ (1 << outcome.category)
                room = self.width[left, chip or outcome.chip]
                out = frees[outcome.category] + self.row_at(left, chip or outcome.chip, to)
                sum_ = 0.0
                for i in range(n):
                    chance = self.arrived[o * n + i]
                    if chance == 0.0:
                        continue
                    sum_ += chance
                    need = base + i + 1 - paid
                    score = self.target - need
                    if 0 < need <= self.scores.lengths[to]:
                        opens[outcome.category][self.scores.offsets[to] + need - 1] += chance
                    elif score < room:
                        out[score] += chance
                    else:
                        lost += 1
                meets[wins * turn.n_outcomes + o] += sum_
            base += n
        return lost

    cdef void compare(self, Turn turn, Py_ssize_t free, int chip, int lane, Py_ssize_t base, Py_ssize_t n,
                      double[:, ::1] comparison, double[:, ::1] costs) noexcept nogil:
        """Hold the decisions of n lanes from `base` on against those of the other one."""
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
                    cost = chance * (self.judged(turn, free, chip, lane, i, n, stage, roll, other)
                                     - self.judged(turn, free, chip, lane, i, n, stage, roll, mine))
                    comparison[stage, 1] += chance
                    comparison[stage, 2] += cost
                    if cost > costs[costs.shape[0] - 1, 0]:
                        keep_costliest(costs, cost, self.layout.place[free, chip] + lane, base + i + 1, stage, roll,
                                       mine, other)

    cdef double judged(self, Turn turn, Py_ssize_t free, int chip, int lane, Py_ssize_t i, Py_ssize_t n, int stage,
                       int roll, int decision) noexcept nogil:
        """What a decision is worth to the one who does not play, if he played on."""
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
            at = i + source.shift
            return source.below if at < 0 else source.row[at] if at < source.length else source.above
        self.layout.lead(&turn.outcomes[o], free, chip, lane, &to)
        return self.decider.mean[to] + turn.criteria.sources[1][o].add


cdef void keep_costliest(double[:, ::1] costs, double cost, double place, double need, double stage, double roll,
                         double mine, double other) noexcept nogil:
    """Put a position where it belongs among the costliest."""
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
    """Leave out the zeros at both ends."""
    while first[0] < last[0] and row[first[0]] == 0.0:
        first[0] += 1
    while first[0] < last[0] and row[last[0] - 1] == 0.0:
        last[0] -= 1
