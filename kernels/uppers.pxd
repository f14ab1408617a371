# Declarations for other kernels: whole scorecards, and the transitions between anchors.

from libc.stdint cimport int32_t, int64_t, uint16_t

from yahtzee_cluster.kernels.turn cimport Turn, outcome_t


cdef class Layout:
    cdef const int64_t[:, ::1] place
    cdef const int32_t[::1] n_lanes
    cdef const int32_t[::1] first
    cdef const int32_t[::1] most_gained
    cdef Py_ssize_t n_places
    cdef int bonus


cdef inline int added_lanes(Layout layout, const outcome_t *outcome) noexcept nogil:
    """By how many lanes an outcome shifts the lanes of its scorecard."""
    cdef int most = layout.most_gained[outcome.category]
    return outcome.upper - most if most else 0


cdef inline bint lead(Layout layout, const outcome_t *outcome, Py_ssize_t free, int chip, int lane,
                      Py_ssize_t *to) noexcept nogil:
    """Set `to` to the place that an outcome leads to, and return whether it wins the upper bonus."""
    cdef Py_ssize_t left = free ^ (1 << outcome.category)
    cdef int next_lane = lane + added_lanes(layout, outcome)
    cdef bint wins = next_lane >= layout.n_lanes[left]
    if wins or next_lane < 0:
        next_lane = 0
    to[0] = layout.place[left, chip or outcome.chip] + next_lane
    return wins


cdef inline int transition(Layout layout, const outcome_t *outcome, Py_ssize_t free, int chip, int lane,
                           Py_ssize_t *to) noexcept nogil:
    """Set `to` to the place that an outcome leads to, and return the points it pays, upper bonus included."""
    return outcome.points + layout.bonus * lead(layout, outcome, free, chip, lane, to)


cdef class Decider:
    cdef readonly Turn turn
    cdef readonly Layout layout
    cdef uint16_t[::1] decided

    cdef void look_up(self, Py_ssize_t free, int chip) noexcept nogil
    cdef void decide(self, Py_ssize_t free, int chip) noexcept nogil
    cdef void copy_lane(self, Py_ssize_t free, int lane, uint16_t *out) noexcept nogil


cdef class ForTheMean(Decider):
    cdef const double[::1] mean
    cdef const double[::1] second


cdef class ByWorth(Decider):
    cdef const double[::1] worth


cdef void paid_by(Turn turn, Layout layout, Py_ssize_t free, int chip, const double *pays, double crossing,
                  const double *values, int criterion) noexcept nogil
