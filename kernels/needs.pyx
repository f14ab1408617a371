# cython: language_level=3
"""Rows of probabilities, one lane for each need: MaxProb for all anchors of one set of free categories.

A row holds the needs 1, 2, … up to its length; left of it stands probability 1, right of it 0.
"""

import numpy as np

from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.turn import check, check_output
from yahtzee_cluster.kernels.uppers import check_layout
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, Turn, outcome_t, yc_source

from libc.stdint cimport int32_t, int64_t


cdef class Needs:
    """Where the rows of all anchors lie, and the turn that fills them in.

    `length` and `offset` say for every place how long its row is, and where it starts among the rows of its own set.
    """

    cdef readonly Turn turn
    cdef const int64_t[:, ::1] place
    cdef const int32_t[::1] n_lanes
    cdef const int32_t[::1] most_gained
    cdef const int32_t[::1] lengths
    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] n_values
    cdef int bonus

    def __cinit__(self, Turn turn not None, anchors, length, offset):
        place, self.n_lanes, self.most_gained = check_layout(turn, anchors)
        lengths = check("length", length, np.int32, (anchors.n_places,)).copy()
        offsets = check("offset", offset, np.int64, (anchors.n_places,)).copy()
        ends = offsets + lengths
        if lengths.min() < 0 or offsets.min() < 0 or (ends < offsets).any():
            raise KernelArgumentError("length, offset: expected none below 0")
        self.turn = turn
        self.place = place
        self.lengths = lengths
        self.offsets = offsets
        self.n_values = np.maximum.reduceat(ends, place[:, 0])
        self.bonus = anchors.bonus

    def solve(self, Py_ssize_t free, successors, out):
        """Fill `out` with the rows of all anchors with these free categories, laid end to end.

        `successors[c]` holds the rows of the set without category c; nobody looks at it where c is not free.
        """
        cdef Turn turn = self.turn
        if not 0 < free <= turn.all_free:
            raise KernelArgumentError(f"free: expected 1 to {turn.all_free}, found {free}")
        cdef double[::1] rows = check_output("out", out, (self.n_values[free],))
        cdef const double[::1] successor
        cdef const double *reads[YC_CATEGORIES]
        cdef double *outs[1]
        cdef int c, chip, lane
        cdef Py_ssize_t at, size
        for c in range(turn.tables.n_categories):
            reads[c] = NULL
            if free >> c & 1:
                size = self.n_values[free ^ (1 << c)]
                successor = check(f"successors[{c}]", successors[c], np.float64, (size,))
                if size:
                    reads[c] = &successor[0]
        turn.begin()
        turn.criteria.n = 1
        try:
            with nogil:
                for chip in range(2):
                    if self.place[free, chip] < 0:
                        continue
                    turn.prepare(free, chip, True)
                    for lane in range(self.n_lanes[free]):
                        at = self.place[free, chip] + lane
                        if self.lengths[at] > 0:
                            _sources(self, free, chip, lane, reads)
                            outs[0] = &rows[self.offsets[at]]
                            turn.run.best(&turn.program, &turn.criteria, &turn.scratch, self.lengths[at], outs)
        finally:
            turn.end()


cdef void _sources(Needs self, Py_ssize_t free, int chip, int lane, const double **reads) noexcept nogil:
    """Where every outcome of a free category leads from one anchor."""
    cdef int o, most, next_lane, paid
    cdef Py_ssize_t left, to
    cdef outcome_t *outcome
    for o in range(self.turn.n_outcomes):
        outcome = &self.turn.outcomes[o]
        if not free >> outcome.category & 1:
            continue
        left = free ^ (1 << outcome.category)
        most = self.most_gained[outcome.category]
        next_lane = lane + outcome.upper - most if most else lane
        paid = outcome.points
        if next_lane >= self.n_lanes[left]:
            next_lane = 0
            paid += self.bonus
        elif next_lane < 0:
            next_lane = 0
        to = self.place[left, chip or outcome.chip] + next_lane
        self.turn.criteria.sources[0][o] = yc_source(reads[outcome.category] + self.offsets[to], -paid,
                                                     self.lengths[to], 1.0, 0.0, 0.0, 0.0)
