# cython: language_level=3
"""Rows of probabilities, one lane for each need, for all anchors of one set of free categories.

A row holds the needs 1, 2, … up to its length; left of it stands probability 1, right of it 0.
"""

import numpy as np

from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.turn import check, check_output
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, YC_KEEPS, YC_ROLLS, Turn, yc_source
from yahtzee_cluster.kernels.uppers cimport Decider, Layout, lead, transition

from libc.math cimport sqrt


cdef class Needs:
    """The highest probabilities.

    `length` and `offset` say for every place how long its row is, and where it starts among the rows of its own set.
    """

    def __cinit__(self, Turn turn not None, anchors, length, offset, *_):
        self.n_rows = 1
        self.below = 1.0
        self.turn = turn
        self.layout = Layout(turn, anchors)
        lengths = check("length", length, np.int32, (self.layout.n_places,)).copy()
        offsets = check("offset", offset, np.int64, (self.layout.n_places,)).copy()
        ends = offsets + lengths
        if lengths.min() < 0 or offsets.min() < 0 or (ends < offsets).any():
            raise KernelArgumentError("length, offset: expected none below 0")
        self.lengths = lengths
        self.offsets = offsets
        self.n_values = np.maximum.reduceat(ends, np.asarray(self.layout.place)[:, 0])

    def solve(self, Py_ssize_t free, successors, out):
        """Fill `out` with the rows of all anchors with these free categories, laid end to end.

        `successors[c]` holds the rows of the set without category c; nobody looks at it where c is not free.
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
        """Where the rows of the sets without one of the free categories lie, after a look at their lengths."""
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
        """Fill in the rows of one scorecard."""
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
        """Prepare whatever holds for all anchors of a scorecard."""
        turn.prepare(free, chip, True)
        turn.criteria.n = 1

    cdef void open_lane(self, Turn turn, Py_ssize_t free, int chip, int lane, const double **reads) noexcept nogil:
        """Prepare whatever holds for one anchor."""
        self.look_up(turn, free, chip, lane, reads)

    cdef void run(self, Turn turn, Py_ssize_t n, double **outs) noexcept nogil:
        """Fill in n needs of an anchor."""
        turn.run.best(&turn.program, &turn.criteria, &turn.scratch, n, outs)

    cdef void look_up(self, Turn turn, Py_ssize_t free, int chip, int lane, const double **reads) noexcept nogil:
        """Where every outcome of a free category leads from one anchor."""
        cdef Py_ssize_t to = 0
        cdef int o, c, paid
        for o in range(turn.n_outcomes):
            c = turn.outcomes[o].category
            if not free >> c & 1:
                continue
            paid = transition(self.layout, &turn.outcomes[o], free, chip, lane, &to)
            turn.criteria.sources[0][o] = yc_source(reads[c] + self.offsets[to], paid if self.by_score else -paid,
                                                    self.lengths[to], self.below, self.above, 0.0, 0.0)


cdef class Followed(Needs):
    """The probabilities under a strategy that decides without regard to the need."""

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
    """The values of a strategy that decides by its lanes; what it decides, too. Lane 0 is the need of 1, and so on, or
    if `by_score` the score of 0.
    """

    cdef void decide(self, Turn turn, Py_ssize_t first, Py_ssize_t n, uint16_t *out) noexcept nogil:
        """What is decided in n lanes from `first` on: [stage][roll][lane]; no zeros may be merged."""
        turn.run.choose(&turn.program, &turn.tables, &turn.criteria, &turn.scratch, first, n, out)


cdef class Utility(Player):
    """What playing on is worth to who wants the final score to be worth most: one lane for each score so far.

    `falls` says that more points may be worth less; `above` is what stands right of a row, where no game comes to.
    """

    def __cinit__(self, Turn turn not None, anchors, length, offset, bint falls, double above):
        self.by_score = True
        self.falls = falls
        self.below = 0.0
        self.above = above

    cdef void open_card(self, Turn turn, Py_ssize_t free, int chip) noexcept nogil:
        turn.prepare(free, chip, not self.falls)
        turn.criteria.n = 1


cdef class Scores(Player):
    """The highest probabilities, and the score of who plays for them.

    Of three rows for each anchor, one after the other for the whole set, the second has the mean of what is still
    scored, the third the second moment.
    Among equally probable plays the highest mean decides, then the largest second moment. Whoever has reached the need,
    or cannot any more, plays for the highest mean, whose moments are `mean` and `second`.
    """

    def __cinit__(self, Turn turn not None, anchors, length, offset, mean, second):
        self.n_rows = 3
        self.mean = check("mean", mean, np.float64, (self.layout.n_places,))
        self.second = check("second", second, np.float64, (self.layout.n_places,))

    cdef void open_card(self, Turn turn, Py_ssize_t free, int chip) noexcept nogil:
        turn.prepare(free, chip, False)  # fewer points may well leave a higher mean to who needs them for another goal
        turn.criteria.n = 3

    cdef void open_lane(self, Turn turn, Py_ssize_t free, int chip, int lane, const double **reads) noexcept nogil:
        cdef const double *row
        cdef Py_ssize_t n_values, to = 0
        cdef int o, c
        cdef double paid
        cdef yc_source *source
        self.look_up(turn, free, chip, lane, reads)
        for o in range(turn.n_outcomes):
            c = turn.outcomes[o].category
            if not free >> c & 1:
                continue
            lead(self.layout, &turn.outcomes[o], free, chip, lane, &to)
            source = &turn.criteria.sources[0][o]
            paid = -source.shift
            n_values = self.n_values[free ^ (1 << c)]
            row = source.row + n_values
            turn.criteria.sources[1][o] = yc_source(row, source.shift, source.length, self.mean[to], self.mean[to], 0.0,
                                                    paid)
            turn.criteria.sources[2][o] = yc_source(row + n_values, source.shift, source.length, self.second[to],
                                                    self.second[to], 2.0 * paid, paid * paid)


cdef class Approximated(Player):
    """The probabilities under a strategy that takes whatever is still scored for normally distributed.

    Mean and variance are those of the decider's strategy, from the position on that a keep or a box leads to. Of all
    positions it goes for the one in which the need lies the most deviations below the mean, with half a point for the
    step; what has been reached is sure. Where positions tie, it goes for the best of them.
    """

    def __cinit__(self, Turn turn not None, anchors, length, offset, Decider decider not None):
        if decider.turn is not turn:
            raise KernelArgumentError("decider: expected one with the same turn")
        self.decider = decider
        self.weighed = np.empty((2, 2, YC_KEEPS, np.max(self.layout.n_lanes)))
        self.keeps = np.empty((2, 2, YC_KEEPS))
        self.outcomes = np.empty((3, turn.n_outcomes))
        cdef int stage
        for stage in range(2):
            self.guess.keep_start[stage] = &self.keeps[0, stage, 0]
            self.guess.keep_slope[stage] = &self.keeps[1, stage, 0]
        self.guess.outcome_start = &self.outcomes[0, 0]
        self.guess.outcome_slope = &self.outcomes[1, 0]
        self.guess.sure = &self.outcomes[2, 0]

    cdef void open_card(self, Turn turn, Py_ssize_t free, int chip) noexcept nogil:
        self.decider.look_up(free, chip)
        turn.run.weigh(&turn.program, &turn.criteria, &turn.scratch, 0, self.layout.n_lanes[free],
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
        turn.run.mistake(&turn.program, &turn.tables, &turn.criteria, &self.guess, &turn.scratch, 0, n, outs[0], NULL)

    cdef void decide(self, Turn turn, Py_ssize_t first, Py_ssize_t n, uint16_t *out) noexcept nogil:
        turn.run.mistake(&turn.program, &turn.tables, &turn.criteria, &self.guess, &turn.scratch, first, n, NULL, out)


cdef inline void measure(double mean, double second, double paid, double *start, double *slope) noexcept nogil:
    """By how many deviations lane 0, the need of 1, lies below the mean, and how that changes with every lane."""
    cdef double variance = second - mean * mean
    slope[0] = -1.0 / sqrt(max(variance, 1e-14 * second + 1e-18))
    start[0] = -(mean + paid - 0.5) * slope[0]
