# cython: language_level=3
"""Whole scorecards, one lane for each upper total: the numbering is that of `yahtzee_cluster.anchors`."""

import numpy as np

from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.turn import check, check_output
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, Turn, outcome_t, yc_source

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t

cdef enum:
    SETS_BETWEEN_SIGNALS = 256


def moments(Turn turn not None, anchors, value, second=None):
    """Fill in the best mean of what is still scored from every place, and beside it its second moment."""
    _solve(turn, anchors, value, second, False)


def most(Turn turn not None, anchors, value):
    """Fill in the most that can still be scored from every place."""
    _solve(turn, anchors, value, None, True)


def check_layout(Turn turn not None, anchors):
    """Copies of where all anchors lie, after making sure that no play leads out of them: place, lanes, most gained."""
    cdef int n_categories = turn.tables.n_categories
    if anchors.rules != turn.moves.rules:
        raise KernelArgumentError("anchors: expected those of the rules that the turn was made for")
    n_sets = turn.all_free + 1
    place = check("place", anchors.place, np.int64, (n_sets, 2)).copy()
    n_lanes = check("n_lanes", anchors.n_lanes, np.int32, (n_sets,)).copy()
    most_gained = check("most_gained", anchors.most_gained, np.int32, (n_categories,)).copy()
    here = place >= 0
    sizes = np.where(here, n_lanes[:, None], 0).astype(np.int64)
    starts = (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)
    end_to_end = np.array_equal(place, np.where(here, starts, -1)) and sizes.sum() == anchors.n_places
    if n_lanes.min() < 1 or not here[:, 0].all() or not end_to_end:
        raise KernelArgumentError("place: expected the lanes of all scorecards end to end")
    free = np.arange(n_sets)
    gains_chip = {outcome.category for outcome in turn.moves.outcomes if outcome.chip}
    for category in range(n_categories):
        before = free[free >> category & 1 == 1]
        chip_after = here[before, 1] | (category in gains_chip)
        if (chip_after & ~here[before ^ 1 << category, 1]).any():
            raise KernelArgumentError("place: expected a scorecard with chip wherever a play leads to one")
    return place, n_lanes, most_gained


cdef _solve(Turn turn, anchors, value, second, bint luckiest):
    cdef const int64_t[:, ::1] place
    cdef const int32_t[::1] n_lanes
    cdef const int32_t[::1] most_gained
    place, n_lanes, most_gained = check_layout(turn, anchors)
    cdef double[::1] values = check_output("value", value, (anchors.n_places,))
    cdef double[::1] seconds = None
    cdef double *beside = NULL
    cdef double *outs[2]
    cdef double bonus = anchors.bonus
    cdef const double *below[YC_CATEGORIES]
    cdef const double *below_second[YC_CATEGORIES]
    cdef Py_ssize_t n_sets = place.shape[0]
    cdef Py_ssize_t free, start
    cdef int chip, c
    if second is not None:
        seconds = check_output("second", second, (anchors.n_places,))
        beside = &seconds[0]
        if np.may_share_memory(value, second):
            raise KernelArgumentError("second: expected memory of its own")
    turn.begin()
    turn.criteria.n = 1 if second is None else 2
    try:
        with nogil:
            for chip in range(2):
                if place[0, chip] >= 0:
                    values[place[0, chip]] = 0.0
                    if beside is not NULL:
                        beside[place[0, chip]] = 0.0
            for free in range(1, n_sets):
                if free % SETS_BETWEEN_SIGNALS == 0:
                    with gil:
                        PyErr_CheckSignals()
                for chip in range(2):
                    if place[free, chip] < 0:
                        continue
                    for c in range(turn.tables.n_categories):
                        if free >> c & 1:
                            start = place[free ^ (1 << c), 0]
                            below[c] = &values[start]
                            below_second[c] = &beside[start] if beside is not NULL else NULL
                    _sources(turn, free, chip, place, n_lanes, most_gained, bonus, below, below_second)
                    turn.prepare(free, chip, True)
                    outs[0] = &values[place[free, chip]]
                    outs[1] = &beside[place[free, chip]] if beside is not NULL else NULL
                    if luckiest:
                        turn.run.most(&turn.program, &turn.criteria, &turn.scratch, n_lanes[free], outs[0])
                    else:
                        turn.run.best(&turn.program, &turn.criteria, &turn.scratch, n_lanes[free], outs)
    finally:
        turn.end()


cdef void _sources(Turn turn, Py_ssize_t free, int chip, const int64_t[:, ::1] place, const int32_t[::1] n_lanes,
                   const int32_t[::1] most_gained, double bonus, const double **values,
                   const double **seconds) noexcept nogil:
    """Where every outcome of a free category leads, and what it pays on the way.

    `values[c]` is where the values of the set without category c start, `seconds[c]` where the second moments do, or
    NULL.
    """
    cdef int o, most
    cdef Py_ssize_t left, start, shift
    cdef double closed, points
    cdef const double *row
    cdef const double *second
    cdef outcome_t *outcome
    for o in range(turn.n_outcomes):
        outcome = &turn.outcomes[o]
        if not free >> outcome.category & 1:
            continue
        left = free ^ (1 << outcome.category)
        start = place[left, chip or outcome.chip] - place[left, 0]
        most = most_gained[outcome.category]
        shift = outcome.upper - most if most else 0
        row = values[outcome.category] + start
        closed = row[0]
        points = outcome.points
        turn.criteria.sources[0][o] = yc_source(row, shift, n_lanes[left], closed, closed + bonus, 0.0, points)
        if seconds[outcome.category] is not NULL:
            second = seconds[outcome.category] + start
            turn.criteria.sources[1][o] = yc_source(second, shift, n_lanes[left], second[0],
                                                    second[0] + 2.0 * bonus * closed + bonus * bonus, 2.0 * points,
                                                    points * points)


cdef class Moments:
    """Mean and second moment for one set of free categories at a time.

    The values of a set are the means of all its places, in their order, and then the second moments.
    """

    cdef readonly Turn turn
    cdef const int64_t[:, ::1] place
    cdef const int32_t[::1] n_lanes
    cdef const int32_t[::1] most_gained
    cdef const int64_t[::1] n_places
    cdef double bonus

    def __cinit__(self, Turn turn not None, anchors):
        place, self.n_lanes, self.most_gained = check_layout(turn, anchors)
        self.turn = turn
        self.place = place
        self.n_places = np.diff(np.append(place[:, 0], anchors.n_places))
        self.bonus = anchors.bonus

    def solve(self, Py_ssize_t free, successors, out):
        """Fill `out` for one set; `successors[c]` holds the values of the set without category c, if that is free."""
        cdef Turn turn = self.turn
        if not 0 < free <= turn.all_free:
            raise KernelArgumentError(f"free: expected 1 to {turn.all_free}, found {free}")
        cdef double[::1] values = check_output("out", out, (2 * self.n_places[free],))
        cdef const double[::1] successor
        cdef const double *below[YC_CATEGORIES]
        cdef const double *below_second[YC_CATEGORIES]
        cdef Py_ssize_t size, start
        cdef double *outs[2]
        cdef int c, chip
        for c in range(turn.tables.n_categories):
            below[c] = below_second[c] = NULL
            if free >> c & 1:
                size = self.n_places[free ^ (1 << c)]
                successor = check(f"successors[{c}]", successors[c], np.float64, (2 * size,))
                below[c] = &successor[0]
                below_second[c] = below[c] + size
        turn.begin()
        turn.criteria.n = 2
        try:
            with nogil:
                for chip in range(2):
                    if self.place[free, chip] < 0:
                        continue
                    _sources(turn, free, chip, self.place, self.n_lanes, self.most_gained, self.bonus, below,
                             below_second)
                    turn.prepare(free, chip, True)
                    start = self.place[free, chip] - self.place[free, 0]
                    outs[0] = &values[start]
                    outs[1] = &values[self.n_places[free] + start]
                    turn.run.best(&turn.program, &turn.criteria, &turn.scratch, self.n_lanes[free], outs)
        finally:
            turn.end()
