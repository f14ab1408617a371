# cython: language_level=3
"""Whole scorecards, one lane for each upper total; anchors are numbered as in `yahtzee_cluster.game.anchors`."""

import numpy as np

from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.turn import check, check_output
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, Turn, outcome_t, yc_source

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t

cdef enum:
    SETS_BETWEEN_SIGNALS = 256


cdef class Layout:
    """The places of all anchors: private copies of the arrays, after a check that no transition leads out of them."""

    def __cinit__(self, Turn turn not None, anchors):
        cdef int n_categories = turn.tables.n_categories
        if anchors.rules != turn.moves.rules:
            raise KernelArgumentError("anchors: expected those of the rules that the turn was made for")
        n_sets = turn.all_free + 1
        place = check("place", anchors.place, np.int64, (n_sets, 2)).copy()
        n_lanes = check("n_lanes", anchors.n_lanes, np.int32, (n_sets,)).copy()
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
        self.place = place
        self.n_lanes = n_lanes
        # The first lane of a total that is not negative, where the bonus can be neither won nor out of reach yet.
        reserve = check("reserve", anchors.reserve, np.int32, (n_sets,))
        undecided = reserve[n_sets - 1] - reserve < anchors.threshold
        lanes = np.clip(reserve - anchors.threshold + 1, 0, n_lanes - 1)
        self.first = np.where(undecided, lanes, 0).astype(np.int32)
        self.most_gained = check("most_gained", anchors.most_gained, np.int32, (n_categories,)).copy()
        self.n_places = anchors.n_places
        self.bonus = anchors.bonus


def moments(Turn turn not None, anchors, value, second=None):
    """Compute the highest mean of the rest of the score from every place, and with `second` its second moment."""
    _solve(turn, anchors, value, second, False)


def most(Turn turn not None, anchors, value):
    """Compute the most that can still be scored from every place."""
    _solve(turn, anchors, value, None, True)


cdef _solve(Turn turn, anchors, value, second, bint luckiest):
    cdef Layout layout = Layout(turn, anchors)
    cdef const int64_t[:, ::1] place = layout.place
    cdef double[::1] values = check_output("value", value, (anchors.n_places,))
    cdef double[::1] seconds = None
    cdef double *beside = NULL
    cdef double *outs[2]
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
                    set_sources(turn, layout, free, chip, below, below_second)
                    turn.prepare(free, chip, True)
                    outs[0] = &values[place[free, chip]]
                    outs[1] = &beside[place[free, chip]] if beside is not NULL else NULL
                    if luckiest:
                        turn.run.most(&turn.program, &turn.criteria, &turn.scratch, layout.n_lanes[free], outs[0])
                    else:
                        turn.run.best(&turn.program, &turn.criteria, &turn.scratch, layout.n_lanes[free], outs)
    finally:
        turn.end()


cdef void set_sources(Turn turn, Layout layout, Py_ssize_t free, int chip, const double **values,
                      const double **seconds) noexcept nogil:
    """Set the sources of every outcome of a free category, for mean and second moment.

    `values[c]` points to the values of the set without category c, `seconds[c]` to its second moments, or is NULL.
    """
    cdef int o
    cdef Py_ssize_t left, start, shift
    cdef double closed, points, bonus = layout.bonus
    cdef const double *row
    cdef const double *second
    cdef outcome_t *outcome
    for o in range(turn.n_outcomes):
        outcome = &turn.outcomes[o]
        if not free >> outcome.category & 1:
            continue
        left = free ^ (1 << outcome.category)
        start = layout.place[left, chip or outcome.chip] - layout.place[left, 0]
        shift = added_lanes(layout, outcome)
        row = values[outcome.category] + start
        closed = row[0]
        points = outcome.points
        turn.criteria.sources[0][o] = yc_source(row, shift, layout.n_lanes[left], closed, closed + bonus, 0.0, points)
        if seconds[outcome.category] is not NULL:
            second = seconds[outcome.category] + start
            turn.criteria.sources[1][o] = yc_source(second, shift, layout.n_lanes[left], second[0],
                                                    second[0] + 2.0 * bonus * closed + bonus * bonus, 2.0 * points,
                                                    points * points)


cdef class Moments:
    """Mean and second moment for one set of free categories at a time.

    The values of a set are the means of all its places, in their order, and then the second moments.
    """

    cdef readonly Turn turn
    cdef Layout layout
    cdef const int64_t[::1] n_places

    def __cinit__(self, Turn turn not None, anchors):
        self.turn = turn
        self.layout = Layout(turn, anchors)
        self.n_places = np.diff(np.append(np.asarray(self.layout.place)[:, 0], self.layout.n_places))

    def solve(self, Py_ssize_t free, successors, out):
        """Compute the values of one set; `successors[c]` holds those of the set without category c, if c is free."""
        cdef Turn turn = self.turn
        cdef const int64_t[:, ::1] place = self.layout.place
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
                    if place[free, chip] < 0:
                        continue
                    set_sources(turn, self.layout, free, chip, below, below_second)
                    turn.prepare(free, chip, True)
                    start = place[free, chip] - place[free, 0]
                    outs[0] = &values[start]
                    outs[1] = &values[self.n_places[free] + start]
                    turn.run.best(&turn.program, &turn.criteria, &turn.scratch, self.layout.n_lanes[free], outs)
        finally:
            turn.end()
