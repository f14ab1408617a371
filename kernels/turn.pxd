# Declarations for other kernels: the turn.

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, uint8_t, uint16_t


cdef extern from "turn.h" nogil:
    enum:
        YC_ROLLS
        YC_FIRST_ROLL
        YC_KEEPS
        YC_FACES
        YC_CATEGORIES
        YC_WIDEST
        YC_VARIANTS
        YC_MAX_OUTCOMES
        YC_MOST_CRITERIA

    ctypedef struct yc_moves:
        int n_categories, n_outcomes
        const int16_t *outcome_of
        const int16_t *zero_of
        const uint16_t *scoring
        const uint16_t *legal
        const uint8_t *joker
        const int16_t *fives

    ctypedef struct yc_source:
        const double *row
        ptrdiff_t shift, length
        double below, above, slope, add

    ctypedef struct yc_criteria:
        int n
        yc_source *sources[YC_MOST_CRITERIA]

    ctypedef struct yc_heuristic:
        const double *keep_start[2]
        const double *keep_slope[2]
        const double *outcome_start
        const double *outcome_slope
        const double *sure

    ctypedef struct yc_program:
        int n_slots
        uint16_t outcome[YC_MAX_OUTCOMES]
        uint16_t row[YC_ROLLS]
        uint16_t legal[YC_ROLLS]

    ctypedef struct yc_scratch:
        double *value[YC_MOST_CRITERIA + 1]
        double *slots[YC_MOST_CRITERIA + 1]

    ctypedef struct yc_isa:
        const char *name
        int width
        int (*runs_here)() noexcept nogil
        void (*best)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t, double *const *) noexcept nogil
        void (*worst)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t, double *const *) noexcept nogil
        void (*keep_values)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t, ptrdiff_t,
                            double *) noexcept nogil
        void (*choose)(const yc_program *, const yc_moves *, const yc_criteria *, yc_scratch *, ptrdiff_t, ptrdiff_t,
                       uint16_t *) noexcept nogil
        void (*follow)(const yc_program *, const yc_moves *, const yc_criteria *, yc_scratch *, ptrdiff_t,
                       const uint16_t *, ptrdiff_t, double *const *) noexcept nogil
        void (*keep_for)(const yc_program *, const yc_moves *, const yc_criteria *, yc_scratch *, ptrdiff_t, uint16_t *,
                         double *) noexcept nogil
        void (*spread)(const yc_program *, const yc_moves *, const double *, yc_scratch *, ptrdiff_t,
                       const uint16_t *, ptrdiff_t, double *, double *) noexcept nogil
        void (*heuristic)(const yc_program *, const yc_moves *, const yc_criteria *, const yc_heuristic *, yc_scratch *,
                          ptrdiff_t, ptrdiff_t, double *, uint16_t *) noexcept nogil
        void (*pour)(const double *, double, ptrdiff_t, double *) noexcept nogil
        void (*carry)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t, ptrdiff_t,
                      double *) noexcept nogil
        void (*most)(const yc_program *, const yc_criteria *, yc_scratch *, ptrdiff_t, double *) noexcept nogil
        void (*rerolls)(yc_scratch *, int) noexcept nogil

    const yc_isa *const *yc_isas
    void yc_prepare(const yc_moves *, unsigned int, int, int, size_t, yc_program *)


cdef struct outcome_t:
    int category, points, upper, chip


cdef class Turn:
    cdef readonly object moves
    cdef readonly str isa
    cdef readonly int n_outcomes
    cdef readonly Py_ssize_t all_free
    cdef bint busy
    cdef const int16_t[:, ::1] outcome_of
    cdef const int16_t[::1] zero_of
    cdef const uint16_t[::1] scoring
    cdef const uint16_t[:, ::1] legal
    cdef const uint8_t[:, ::1] joker
    cdef const int16_t[::1] fives
    cdef yc_moves tables
    cdef const yc_isa *run
    cdef yc_program program
    cdef yc_scratch scratch
    cdef void *memory
    cdef outcome_t *outcomes
    cdef yc_criteria criteria

    cdef int begin(self) except -1
    cdef void end(self) noexcept
    cdef Py_ssize_t open(self, Py_ssize_t free, bint chip, values, bint merge_zeros) except -1
    cdef double[:, ::1] _room(self, Py_ssize_t n, double **outs)
    cdef void prepare(self, unsigned int free, int chip, int merge_zeros) noexcept nogil
