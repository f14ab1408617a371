# Declarations for other kernels: policies that decide by the anchor alone.

from libc.stdint cimport uint16_t

from yahtzee_cluster.kernels.turn cimport Turn
from yahtzee_cluster.kernels.uppers cimport Layout


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


cdef void pay(Turn turn, Layout layout, Py_ssize_t free, int chip, const double *pays, double crossing,
              const double *values, int criterion) noexcept nogil
