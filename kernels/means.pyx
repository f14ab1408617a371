# cython: language_level=3
"""The mean of a policy by worth in a single pass: worth decides, and what that brings is carried along."""

import numpy as np

from yahtzee_cluster.kernels.turn import check, check_output
from yahtzee_cluster.kernels.turn cimport Turn
from yahtzee_cluster.kernels.uppers cimport ByWorth, Layout, paid_by

from cpython.exc cimport PyErr_CheckSignals

cdef enum:
    SETS_BETWEEN_SIGNALS = 256


def mean(ByWorth decider not None, payoffs, double crossing, out):
    """Compute the expected payoff of the rest of the game in one currency, [place], as `uppers.worth` does.

    Lanes of totals below 0 are left out, and get 0.
    """
    cdef Turn turn = decider.turn
    cdef Layout layout = decider.layout
    cdef const double[::1] pays = check("payoffs", payoffs, np.float64, (turn.n_outcomes,))
    cdef double[::1] values = check_output("out", out, (layout.n_places,))
    cdef Py_ssize_t free, first
    cdef int chip
    values[:] = 0.0
    turn.begin()
    try:
        with nogil:
            for free in range(1, turn.all_free + 1):
                if free % SETS_BETWEEN_SIGNALS == 0:
                    with gil:
                        PyErr_CheckSignals()
                first = layout.first[free]
                for chip in range(2):
                    if layout.place[free, chip] >= 0:
                        decider.look_up(free, chip)
                        paid_by(turn, layout, free, chip, &pays[0], crossing, &values[0], 1)
                        turn.run.carry(&turn.program, &turn.criteria, &turn.scratch, first,
                                       layout.n_lanes[free] - first, &values[layout.place[free, chip] + first])
    finally:
        turn.end()
