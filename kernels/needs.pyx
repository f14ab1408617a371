# cython: language_level=3
"""Rows of probabilities, one lane for each need: MaxProb for all anchors of one set of free categories.

A row holds the needs 1, 2, … up to its length; left of it stands probability 1, right of it 0.
"""

import numpy as np

from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.turn import check
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, Turn, outcome_t, yc_source

from libc.stdint cimport int32_t, int64_t


def solve(Turn turn not None, Py_ssize_t free, anchors, length, offset, successors, out):
    """Fill `out` with the rows of all anchors with these free categories, laid end to end.

    `length` and `offset` say for every place how long its row is and where it starts among the rows of its own set;
    `successors[c]` holds the rows of the set without category c.
    """
    cdef Py_ssize_t n_sets = turn.all_free + 1
    if not 0 < free < n_sets:
        raise KernelArgumentError(f"free: expected 1 to {turn.all_free}, found {free}")
    cdef int n_categories = turn.tables.n_categories
    cdef const int64_t[:, ::1] place = check("place", anchors.place, np.int64, (n_sets, 2))
    cdef const int32_t[::1] n_lanes = check("n_lanes", anchors.n_lanes, np.int32, (n_sets,))
    cdef const int32_t[::1] most_gained = check("most_gained", anchors.most_gained, np.int32, (n_categories,))
    cdef const int32_t[::1] lengths = check("length", length, np.int32, (anchors.n_places,))
    cdef const int64_t[::1] offsets = check("offset", offset, np.int64, (anchors.n_places,))
    cdef double[::1] rows = check("out", out, np.float64, (_size(anchors, length, offset, free),))
    cdef const double[::1] successor
    cdef const double *reads[YC_CATEGORIES]
    cdef int bonus = anchors.bonus
    cdef int c, chip, lane
    cdef Py_ssize_t at
    for c in range(n_categories):
        reads[c] = NULL
        if free >> c & 1:
            size = _size(anchors, length, offset, free ^ (1 << c))
            successor = check(f"successors[{c}]", successors[c], np.float64, (size,))
            if size:
                reads[c] = &successor[0]
    with nogil:
        for chip in range(2):
            if place[free, chip] < 0:
                continue
            turn.prepare(free, chip, True)
            for lane in range(n_lanes[free]):
                at = place[free, chip] + lane
                if lengths[at] > 0:
                    _sources(turn, free, chip, lane, place, n_lanes, most_gained, bonus, lengths, offsets, reads)
                    turn.run.best(&turn.program, turn.sources, &turn.scratch, lengths[at], &rows[offsets[at]], NULL)


def _size(anchors, length, offset, free):
    """How many values the rows of one set of free categories hold together."""
    last = anchors.place[free].max() + anchors.n_lanes[free] - 1
    return int(offset[last]) + int(length[last])


cdef void _sources(Turn turn, Py_ssize_t free, int chip, int lane, const int64_t[:, ::1] place,
                   const int32_t[::1] n_lanes, const int32_t[::1] most_gained, int bonus,
                   const int32_t[::1] lengths, const int64_t[::1] offsets, const double **reads) noexcept nogil:
    """Where every outcome of a free category leads from one anchor."""
    cdef int o, most, next_lane, paid
    cdef Py_ssize_t left, to
    cdef outcome_t *outcome
    cdef yc_source *source
    for o in range(turn.n_outcomes):
        outcome = &turn.outcomes[o]
        if not free >> outcome.category & 1:
            continue
        left = free ^ (1 << outcome.category)
        most = most_gained[outcome.category]
        next_lane = lane + outcome.upper - most if most else lane
        paid = outcome.points
        if next_lane >= n_lanes[left]:
            next_lane = 0
            paid += bonus
        elif next_lane < 0:
            next_lane = 0
        to = place[left, chip or outcome.chip] + next_lane
        source = &turn.sources[o]
        source.row = reads[outcome.category] + offsets[to]
        source.length = lengths[to]
        source.shift = -paid
        source.below = 1.0
        source.above = 0.0
        source.add = 0.0
