# What other kernels see of whole scorecards.

from libc.stdint cimport int32_t, int64_t, uint16_t

from yahtzee_cluster.kernels.turn cimport Turn, outcome_t


cdef class Layout:
    cdef const int64_t[:, ::1] place
    cdef const int32_t[::1] n_lanes
    cdef const int32_t[::1] most_gained
    cdef Py_ssize_t n_places
    cdef int bonus

    cdef bint lead(self, const outcome_t *outcome, Py_ssize_t free, int chip, int lane, Py_ssize_t *to) noexcept nogil


cdef class Decider:
    cdef readonly Turn turn
    cdef readonly Layout layout
    cdef const double[::1] mean
    cdef const double[::1] second
    cdef uint16_t[::1] decided

    cdef void look_up(self, Py_ssize_t free, int chip) noexcept nogil
    cdef void decide(self, Py_ssize_t free, int chip) noexcept nogil
    cdef void copy_lane(self, Py_ssize_t free, int lane, uint16_t *out) noexcept nogil
