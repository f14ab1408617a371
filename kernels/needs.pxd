# Declarations for other kernels: rows by need.

from libc.stdint cimport int32_t, int64_t, uint16_t

from yahtzee_cluster.kernels.policies cimport Decider, ForTheMean
from yahtzee_cluster.kernels.turn cimport Turn, yc_heuristic
from yahtzee_cluster.kernels.uppers cimport Layout


cdef class Needs:
    cdef readonly Turn turn
    cdef Layout layout
    cdef const int32_t[::1] lengths
    cdef const int64_t[::1] offsets
    cdef const int32_t[::1] firsts
    cdef const int64_t[::1] n_values
    cdef int n_rows
    cdef bint by_score
    cdef double below
    cdef double above

    cdef int read(self, Py_ssize_t free, successors, const double **reads) except -1
    cdef void fill(self, Turn turn, Py_ssize_t free, int chip, const double **reads, double *rows) noexcept nogil
    cdef void look_up(self, Turn turn, Py_ssize_t free, int chip, int lane, const double **reads) noexcept nogil
    cdef void open_card(self, Turn turn, Py_ssize_t free, int chip) noexcept nogil
    cdef void open_lane(self, Turn turn, Py_ssize_t free, int chip, int lane, const double **reads) noexcept nogil
    cdef void run(self, Turn turn, Py_ssize_t n, double **outs) noexcept nogil


cdef class Followed(Needs):
    cdef Decider decider
    cdef uint16_t[::1] decided


cdef class Player(Needs):
    cdef void decide(self, Turn turn, Py_ssize_t first, Py_ssize_t n, uint16_t *out) noexcept nogil


cdef class Utility(Player):
    cdef bint falls
    cdef bint breaks_ties
    cdef const double[::1] mean
    cdef const double[::1] second


cdef class Scores(Player):
    cdef const double[::1] mean
    cdef const double[::1] second


cdef class Approximated(Player):
    cdef ForTheMean decider
    cdef double[:, :, :, ::1] weighed
    cdef double[:, :, ::1] keeps
    cdef double[:, ::1] outcomes
    cdef yc_heuristic heuristic
