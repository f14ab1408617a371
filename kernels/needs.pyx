# cython: language_level=3
"""Rows of values, one lane for each need or score so far, for all anchors of one set of free categories.

A row of probabilities holds the needs 1, 2, … up to its length; left of it the probability is 1, right of it 0.
"""

import numpy as np

from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.turn import check, check_output
from yahtzee_cluster.kernels.policies cimport Decider, ForTheMean
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, YC_KEEPS, YC_ROLLS, Turn, yc_source
from yahtzee_cluster.kernels.uppers cimport Layout, lead, transition

from libc.math cimport sqrt


cdef class Needs:
    """The highest probability of every need.

    `length` and `offset` are the length of the row of each place, and its position among the rows of its own set.
    `first` is by how much the needs of each row begin later than at 1; left of such a row, too, the value is 1.
    """

    def __cinit__(self, Turn turn not None, anchors, length, offset, *_, first=None):
        self.n_rows = 1
        self.below = 1.0
        self.turn = turn
        self.layout = Layout(turn, anchors)
        lengths = check("length", length, np.int32, (self.layout.n_places,)).copy()
        offsets = check("offset", offset, np.int64, (self.layout.n_places,)).copy()
        ends = offsets + lengths
        if lengths.min() < 0 or offsets.min() < 0 or (ends < offsets).any():
            raise KernelArgumentError("length, offset: expected none below 0")
        firsts = np.zeros_like(lengths) if first is None else check("first", first, np.int32, lengths.shape).copy()
        if firsts.min() < 0:
            raise KernelArgumentError("first: expected none below 0")
        self.lengths = lengths
        self.offsets = offsets
        self.firsts = firsts
        self.n_values = np.maximum.reduceat(ends, np.asarray(self.layout.place)[:, 0])

    def solve(self, Py_ssize_t free, successors, out):
        """Fill `out` with the rows of all anchors with these free categories, laid end to end.

        `successors[c]` holds the rows of the set without category c; it is ignored if c is not free.
        """
        cdef Turn turn = self.turn
        if not 0 < free <= turn.all_free:
            raise KernelArgumentError(f"free: expected 1 to {turn.all_free}, found {free}")
        cdef double[::1] rows = check_output("out", out, (self.n_rows * self.n_values[free],))
        cdef const double *reads[YC_CATEGORIES]
        cdef int chip
        self.read(free, successors, reads)
        if rows.shape[0] == 0:
            return
        turn.begin()
        try:
            with nogil:
                for chip in range(2):
                    if self.layout.place[free, chip] >= 0:
                        self.fill(turn, free, chip, reads, &rows[0])
        finally:
            turn.end()

    cdef int read(self, Py_ssize_t free, successors, const double **reads) except -1:
        """Check the rows of the sets without one of the free categories, and set pointers to them."""
        cdef const double[::1] successor
        cdef Py_ssize_t size
        cdef int c
        for c in range(self.turn.tables.n_categories):
            reads[c] = NULL
            if free >> c & 1:
                size = self.n_rows * self.n_values[free ^ (1 << c)]
                successor = check(f"successors[{c}]", successors[c], np.float64, (size,))
                if size:
                    reads[c] = &successor[0]
        return 0

    cdef void fill(self, Turn turn, Py_ssize_t free, int chip, const double **reads, double *rows) noexcept nogil:
        """Compute the rows of one scorecard."""
        cdef double *outs[3]
        cdef Py_ssize_t at
        cdef int lane, row
        self.open_card(turn, free, chip)
        for lane in range(self.layout.n_lanes[free]):
            at = self.layout.place[free, chip] + lane
            if self.lengths[at] > 0:
                self.open_lane(turn, free, chip, lane, reads)
                for row in range(self.n_rows):
                    outs[row] = &rows[row * self.n_values[free] + self.offsets[at]]
                self.run(turn, self.lengths[at], outs)

    cdef void open_card(self, Turn turn, Py_ssize_t free, int chip) noexcept nogil:
        """Prepare what all anchors of a scorecard have in common."""
        turn.prepare(free, chip, True)
        turn.criteria.n = 1

    cdef void open_lane(self, Turn turn, Py_ssize_t free, int chip, int lane, const double **reads) noexcept nogil:
        """Prepare the sources of one anchor."""
        self.look_up(turn, free, chip, lane, reads)

    cdef void run(self, Turn turn, Py_ssize_t n, double **outs) noexcept nogil:
        """Compute the first n lanes of an anchor."""
        turn.run.best(&turn.program, &turn.criteria, &turn.scratch, n, outs)

    cdef void look_up(self, Turn turn, Py_ssize_t free, int chip, int lane, const double **reads) noexcept nogil:
        """Set the source of every outcome of a free category, for one anchor."""
        cdef Py_ssize_t to = 0, first = self.firsts[self.layout.place[free, chip] + lane], shift
        cdef int o, c, paid
        for o in range(turn.n_outcomes):
            c = turn.outcomes[o].category
            if not free >> c & 1:
                continue
            paid = transition(self.layout, &turn.outcomes[o], free, chip, lane, &to)
            shift = paid if self.by_score else first - self.firsts[to] - paid
            turn.criteria.sources[0][o] = yc_source(reads[c] + self.offsets[to], shift, self.lengths[to], self.below,
                                                    self.above, 0.0, 0.0)


cdef class Followed(Needs):
    """The probabilities under the decider's policy, which does not depend on the need."""

    def __cinit__(self, Turn turn not None, anchors, length, offset, Decider decider not None):
        if decider.turn is not turn:
            raise KernelArgumentError("decider: expected one with the same turn")
        self.decider = decider
        self.decided = np.empty(3 * YC_ROLLS, np.uint16)

    cdef void open_card(self, Turn turn, Py_ssize_t free, int chip) noexcept nogil:
        self.decider.decide(free, chip)
        turn.criteria.n = 1

    cdef void open_lane(self, Turn turn, Py_ssize_t free, int chip, int lane, const double **reads) noexcept nogil:
        self.decider.copy_lane(free, lane, &self.decided[0])
        self.look_up(turn, free, chip, lane, reads)

    cdef void run(self, Turn turn, Py_ssize_t n, double **outs) noexcept nogil:
        turn.run.follow(&turn.program, &turn.tables, &turn.criteria, &turn.scratch, n, &self.decided[0], 1, outs)


cdef class Player(Needs):
    """The values and decisions of a policy that depends on the lane. Lane 0 is need 1, or score 0 if `by_score`."""

    cdef void decide(self, Turn turn, Py_ssize_t first, Py_ssize_t n, uint16_t *out) noexcept nogil:
        """Store the decisions in n lanes from `first` on, [stage][roll][lane]; zeros must not have been merged."""
        turn.run.choose(&turn.program, &turn.tables, &turn.criteria, &turn.scratch, first, n, out)


cdef class Utility(Player):
    """The highest expected utility of the final score, one lane for each score so far.

    `falls` says that the utility is not monotonic; `above` is read right of a row, at scores that no game reaches.
    For decisions, `mean` and `second` are the moments of the policy of the highest mean: ties in utility go to the
    highest mean if that policy is followed after the turn, then to the largest second moment.
    """

    def __cinit__(self, Turn turn not None, anchors, length, offset, bint falls, double above, mean=None, second=None):
        self.by_score = True
        self.falls = falls
        self.below = 0.0
        self.above = above
        self.breaks_ties = mean is not None
        if self.breaks_ties:
            self.mean = check("mean", mean, np.float64, (self.layout.n_places,))
            self.second = check("second", second, np.float64, (self.layout.n_places,))

    cdef void open_card(self, Turn turn, Py_ssize_t free, int chip) noexcept nogil:
        turn.prepare(free, chip, not (self.falls or self.breaks_ties))
        turn.criteria.n = 3 if self.breaks_ties else 1

    cdef void open_lane(self, Turn turn, Py_ssize_t free, int chip, int lane, const double **reads) noexcept nogil:
        cdef Py_ssize_t to = 0
        cdef int o
        self.look_up(turn, free, chip, lane, reads)
        if not self.breaks_ties:
            return
        for o in range(turn.n_outcomes):
            if free >> turn.outcomes[o].category & 1:
                lead(self.layout, &turn.outcomes[o], free, chip, lane, &to)
                add_moments(turn, o, NULL, NULL, 0, turn.criteria.sources[0][o].shift, self.mean[to], self.second[to])


cdef class Scores(Player):
    """The highest probability of every need, and the moments of the rest of the score under this policy.

    A set has the rows of probabilities of all its anchors, then the rows of means, then those of second moments.
    Ties in probability go to the highest mean, then to the largest second moment. Once the need has been reached or is
    out of reach, the policy is that of the highest mean, whose moments are `mean` and `second`.
    """

    def __cinit__(self, Turn turn not None, anchors, length, offset, mean, second):
        self.n_rows = 3
        self.mean = check("mean", mean, np.float64, (self.layout.n_places,))
        self.second = check("second", second, np.float64, (self.layout.n_places,))

    cdef void open_card(self, Turn turn, Py_ssize_t free, int chip) noexcept nogil:
        turn.prepare(free, chip, False)  # with ties in probability, fewer points may leave a higher mean
        turn.criteria.n = 3

    cdef void open_lane(self, Turn turn, Py_ssize_t free, int chip, int lane, const double **reads) noexcept nogil:
        cdef Py_ssize_t n_values, to = 0
        cdef int o, c
        cdef yc_source *source
        self.look_up(turn, free, chip, lane, reads)
        for o in range(turn.n_outcomes):
            c = turn.outcomes[o].category
            if not free >> c & 1:
                continue
            lead(self.layout, &turn.outcomes[o], free, chip, lane, &to)
            source = &turn.criteria.sources[0][o]
            n_values = self.n_values[free ^ (1 << c)]
            add_moments(turn, o, source.row + n_values, source.row + 2 * n_values, source.length, -source.shift,
                        self.mean[to], self.second[to])


cdef void add_moments(Turn turn, int o, const double *means, const double *seconds, Py_ssize_t length, double paid,
                      double mean, double second) noexcept nogil:
    """Set the moments of the points from this turn on as second and third criterion of an outcome.

    They are read where the first criterion is; beside a row, they are `mean` and `second`.
    """
    cdef Py_ssize_t shift = turn.criteria.sources[0][o].shift
    turn.criteria.sources[1][o] = yc_source(means, shift, length, mean, mean, 0.0, paid)
    turn.criteria.sources[2][o] = yc_source(seconds, shift, length, second, second, 2.0 * paid, paid * paid)


cdef class Approximated(Player):
    """The probabilities under a policy that approximates the rest of the score by a normal distribution.

    Its mean and variance are those of the decider's policy, after each keep or category. The policy takes the keep or
    category whose mean lies the most standard deviations above the need, with a continuity correction of half a point;
    a need that is certain to be reached comes first. Ties go to the highest exact probability.
    """

    def __cinit__(self, Turn turn not None, anchors, length, offset, ForTheMean decider not None):
        if decider.turn is not turn:
            raise KernelArgumentError("decider: expected one with the same turn")
        self.decider = decider
        self.weighed = np.empty((2, 2, YC_KEEPS, np.max(self.layout.n_lanes)))
        self.keeps = np.empty((2, 2, YC_KEEPS))
        self.outcomes = np.empty((3, turn.n_outcomes))
        cdef int stage
        for stage in range(2):
            self.heuristic.keep_start[stage] = &self.keeps[0, stage, 0]
            self.heuristic.keep_slope[stage] = &self.keeps[1, stage, 0]
        self.heuristic.outcome_start = &self.outcomes[0, 0]
        self.heuristic.outcome_slope = &self.outcomes[1, 0]
        self.heuristic.sure = &self.outcomes[2, 0]

    cdef void open_card(self, Turn turn, Py_ssize_t free, int chip) noexcept nogil:
        self.decider.look_up(free, chip)
        turn.run.keep_values(&turn.program, &turn.criteria, &turn.scratch, 0, self.layout.n_lanes[free],
                             &self.weighed[0, 0, 0, 0])
        turn.criteria.n = 1

    cdef void open_lane(self, Turn turn, Py_ssize_t free, int chip, int lane, const double **reads) noexcept nogil:
        cdef Py_ssize_t n_lanes = self.layout.n_lanes[free], i, to = 0
        cdef const double *mean = &self.weighed[0, 0, 0, 0] + lane
        cdef const double *second = mean + 2 * YC_KEEPS * n_lanes
        cdef int o
        cdef double paid
        for i in range(2 * YC_KEEPS):
            measure(mean[i * n_lanes], second[i * n_lanes], 0.0, &self.keeps[0, 0, 0] + i, &self.keeps[1, 0, 0] + i)
        self.look_up(turn, free, chip, lane, reads)
        for o in range(turn.n_outcomes):
            if free >> turn.outcomes[o].category & 1:
                lead(self.layout, &turn.outcomes[o], free, chip, lane, &to)
                paid = -turn.criteria.sources[0][o].shift
                measure(self.decider.mean[to], self.decider.second[to], paid, &self.outcomes[0, o],
                        &self.outcomes[1, o])
                self.outcomes[2, o] = paid - 1.0

    cdef void run(self, Turn turn, Py_ssize_t n, double **outs) noexcept nogil:
        turn.run.heuristic(&turn.program, &turn.tables, &turn.criteria, &self.heuristic, &turn.scratch, 0, n,
                           outs[0], NULL)

    cdef void decide(self, Turn turn, Py_ssize_t first, Py_ssize_t n, uint16_t *out) noexcept nogil:
        turn.run.heuristic(&turn.program, &turn.tables, &turn.criteria, &self.heuristic, &turn.scratch, first, n,
                           NULL, out)


cdef inline void measure(double mean, double second, double paid, double *start, double *slope) noexcept nogil:
    """By how many standard deviations need 1 (lane 0) lies below the mean, and the change from lane to lane."""
    cdef double variance = second - mean * mean
    slope[0] = -1.0 / sqrt(max(variance, 1e-14 * second + 1e-18))
    start[0] = -(mean + paid - 0.5) * slope[0]
