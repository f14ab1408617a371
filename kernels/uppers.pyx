# cython: language_level=3
"""Whole scorecards, one lane for each upper total: the numbering is that of `yahtzee_cluster.anchors`."""

import numpy as np

from yahtzee_cluster.kernels.turn import check
from yahtzee_cluster.kernels.turn cimport Turn, outcome_t, yc_source

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


cdef _solve(Turn turn, anchors, value, second, bint luckiest):
    cdef Py_ssize_t n_sets = turn.all_free + 1
    cdef const int64_t[:, ::1] place = check("place", anchors.place, np.int64, (n_sets, 2))
    cdef const int32_t[::1] n_lanes = check("n_lanes", anchors.n_lanes, np.int32, (n_sets,))
    cdef const int32_t[::1] most_gained = check("most_gained", anchors.most_gained, np.int32,
                                                (turn.tables.n_categories,))
    cdef double[::1] values = check("value", value, np.float64, (anchors.n_places,))
    cdef double[::1] seconds = None
    cdef double *beside = NULL
    cdef double *out
    cdef double *second_out
    cdef double bonus = anchors.bonus
    cdef Py_ssize_t free
    cdef int chip
    if second is not None:
        seconds = check("second", second, np.float64, (anchors.n_places,))
        beside = &seconds[0]
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
                _sources(turn, free, chip, place, n_lanes, most_gained, bonus, &values[0], beside)
                turn.prepare(free, chip, True)
                out = &values[place[free, chip]]
                second_out = &beside[place[free, chip]] if beside is not NULL else NULL
                if luckiest:
                    turn.run.most(&turn.program, turn.sources, &turn.scratch, n_lanes[free], out)
                else:
                    turn.run.best(&turn.program, turn.sources, &turn.scratch, n_lanes[free], out, second_out)


cdef void _sources(Turn turn, Py_ssize_t free, int chip, const int64_t[:, ::1] place, const int32_t[::1] n_lanes,
                   const int32_t[::1] most_gained, double bonus, const double *values,
                   const double *seconds) noexcept nogil:
    """Where every outcome of a free category leads, and what it pays on the way."""
    cdef int o, most
    cdef Py_ssize_t left, start
    cdef double closed
    cdef double points
    cdef outcome_t *outcome
    cdef yc_source *source
    for o in range(turn.n_outcomes):
        outcome = &turn.outcomes[o]
        if not free >> outcome.category & 1:
            continue
        left = free ^ (1 << outcome.category)
        start = place[left, chip or outcome.chip]
        most = most_gained[outcome.category]
        closed = values[start]
        points = outcome.points
        source = &turn.sources[o]
        source.row = values + start
        source.length = n_lanes[left]
        source.shift = outcome.upper - most if most else 0
        source.below = closed
        source.above = closed + bonus
        source.add = points
        if seconds is not NULL:
            source.second = seconds + start
            source.second_below = seconds[start]
            source.second_above = seconds[start] + 2.0 * bonus * closed + bonus * bonus
            source.slope = 2.0 * points
            source.second_add = points * points
