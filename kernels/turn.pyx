# cython: language_level=3
"""The turn's operators, behind a face that checks everything it is handed.

`values[o, i]` is what outcome `o` is worth in lane `i`; the answers have one entry for each lane.
The kernels that solve whole scorecards use the same operators without this face, on rows that lie elsewhere.
"""

import os

import numpy as np

from libc.stdlib cimport calloc, free as release
from libc.string cimport memset

from yahtzee_cluster.dice import FIVES, KEEPS, ROLLS
from yahtzee_cluster.errors import KernelArgumentError, UsageError

ISA_VARIABLE = "YAHTZEE_CLUSTER_ISA"


def instruction_sets():
    """The names of the instruction sets that run on this machine, fastest first."""
    names = []
    cdef int i = 0
    while yc_isas[i] is not NULL:
        if yc_isas[i].runs_here():
            names.append(yc_isas[i].name.decode())
        i += 1
    return names


cdef const yc_isa *find_isa(str name) except NULL:
    cdef int i = 0
    while yc_isas[i] is not NULL:
        if yc_isas[i].runs_here() and (not name or yc_isas[i].name.decode() == name):
            return yc_isas[i]
        i += 1
    raise UsageError(f"no instruction set {name!r} here; this machine has {', '.join(instruction_sets())}")


def check(name, array, dtype, shape):
    """Return the array if it is C-contiguous and of this type and shape; a None in the shape fits any length."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype or not array.flags.c_contiguous:
        raise KernelArgumentError(f"{name}: expected a C-contiguous array of {np.dtype(dtype).name}")
    wanted = tuple([array.shape[i] if i < array.ndim and n is None else n for i, n in enumerate(shape)])
    if array.shape != wanted:
        raise KernelArgumentError(f"{name}: expected shape {shape}, found {array.shape}")
    return array


def _inside_table():
    """[roll, keep]: whether the keep is part of the roll."""
    counts = np.array([[keep.count(face) for face in range(1, 7)] for keep in KEEPS])
    rolls = counts[YC_FIRST_ROLL:]
    return (counts[None, :, :] <= rolls[:, None, :]).all(axis=2)


_INSIDE = _inside_table()
_FIVES = np.array(FIVES, np.int16)

if len(ROLLS) != YC_ROLLS or len(KEEPS) != YC_KEEPS:
    raise ImportError("the kernels were built for another lattice; build them again")


cdef _answer(double[:, ::1] out, second):
    values = np.asarray(out)
    return values[0] if second is None else (values[0], values[1])


cdef class Turn:
    """One turn under one rule set, with the work space of one thread."""

    def __cinit__(self, moves, isa=None):
        cdef const int16_t[:, ::1] outcome_of
        cdef const int16_t[::1] zero_of
        cdef const uint16_t[::1] scoring
        cdef const uint16_t[:, ::1] legal
        cdef const uint8_t[:, ::1] joker
        cdef const int16_t[::1] fives = _FIVES
        cdef int n_rows = YC_ROLLS + YC_FACES * (YC_VARIANTS - 1)
        cdef int i
        n_sets = len(moves.legal)
        outcome_of = check("outcome_of", moves.outcome_of, np.int16, (n_rows, YC_CATEGORIES))
        zero_of = check("zero_of", moves.zero_of, np.int16, (YC_CATEGORIES,))
        scoring = check("scoring", moves.scoring, np.uint16, (n_rows,))
        legal = check("legal", moves.legal, np.uint16, (n_sets, YC_FACES))
        joker = check("joker", moves.joker, np.uint8, (n_sets, YC_FACES))
        n_categories = n_sets.bit_length() - 1
        if n_sets != 1 << n_categories or not 1 <= n_categories <= YC_CATEGORIES:
            raise KernelArgumentError(f"legal: expected one row for every set of categories, found {n_sets}")
        if not 1 <= len(moves.outcomes) <= YC_MAX_OUTCOMES:
            raise KernelArgumentError(f"outcomes: expected 1 to {YC_MAX_OUTCOMES}, found {len(moves.outcomes)}")
        used = moves.outcome_of[:, :n_categories]
        if used.min() < 0 or used.max() >= len(moves.outcomes):
            raise KernelArgumentError("outcome_of: expected indices into outcomes")
        categories = np.array([outcome.category for outcome in moves.outcomes])
        if np.any(categories[used] != np.arange(n_categories)):
            raise KernelArgumentError("outcome_of: expected outcomes of the category they stand for")
        if moves.zero_of.min() < -1 or moves.zero_of.max() >= len(moves.outcomes):
            raise KernelArgumentError("zero_of: expected indices into outcomes, or -1")
        if np.any(moves.legal & ~np.arange(n_sets)[:, None]) or np.any(moves.legal[1:] == 0):
            raise KernelArgumentError("legal: expected some of the free categories")

        self.moves = moves
        self.n_outcomes = len(moves.outcomes)
        self.all_free = n_sets - 1
        self.tables = yc_moves(n_categories, self.n_outcomes, &outcome_of[0, 0], &zero_of[0],
                               &scoring[0], &legal[0, 0], &joker[0, 0], &fives[0])
        self.run = find_isa(isa or os.environ.get(ISA_VARIABLE, ""))
        self.isa = self.run.name.decode()
        self.outcomes = <outcome_t *>calloc(self.n_outcomes, sizeof(outcome_t))
        self.sources = <yc_source *>calloc(self.n_outcomes, sizeof(yc_source))
        self.memory = calloc((2 * YC_KEEPS + 2 * self.n_outcomes + 1) * YC_WIDEST, sizeof(double))
        if self.outcomes is NULL or self.sources is NULL or self.memory is NULL:
            raise MemoryError
        cdef size_t vector = YC_WIDEST * sizeof(double)
        cdef double *aligned = <double *>((<size_t>self.memory + vector - 1) // vector * vector)
        self.scratch.value = aligned
        self.scratch.second = self.scratch.value + YC_KEEPS * YC_WIDEST
        self.scratch.slots = self.scratch.second + YC_KEEPS * YC_WIDEST
        self.scratch.second_slots = self.scratch.slots + self.n_outcomes * YC_WIDEST
        for i, outcome in enumerate(moves.outcomes):
            self.outcomes[i] = outcome_t(outcome.category, outcome.points, outcome.upper, outcome.chip)

    def __dealloc__(self):
        release(self.outcomes)
        release(self.sources)
        release(self.memory)

    cdef void prepare(self, unsigned int free, int chip, int merge_zeros) noexcept nogil:
        """Look up what every roll may do in this state of the scorecard."""
        yc_prepare(&self.tables, free, chip, merge_zeros, self.run.width * sizeof(double), &self.program)

    cdef Py_ssize_t open(self, unsigned int free, bint chip, values, second, bint merge_zeros) except -1:
        """Prepare for a scorecard, and let every outcome read its own row of `values`."""
        cdef const double[:, ::1] rows = check("values", values, np.float64, (self.n_outcomes, None))
        cdef const double[:, ::1] beside = None
        cdef Py_ssize_t n = rows.shape[1]
        cdef int o
        if not 0 < free <= self.all_free:
            raise KernelArgumentError(f"free: expected 1 to {self.all_free}, found {free}")
        if n == 0:
            raise KernelArgumentError("values: expected at least one lane")
        if second is not None:
            beside = check("second", second, np.float64, (self.n_outcomes, n))
        memset(self.sources, 0, self.n_outcomes * sizeof(yc_source))
        for o in range(self.n_outcomes):
            self.sources[o].row = &rows[o, 0]
            self.sources[o].length = n
            if second is not None:
                self.sources[o].second = &beside[o, 0]
        self.prepare(free, chip, merge_zeros)
        return n

    def best(self, free, chip, values, second=None, *, merge_zeros=False):
        """The value of playing best in every lane; with `second`, also the greatest second value that goes with it.

        A play counts as best when it comes within 1e-12 of the best, relatively.
        `merge_zeros` saves time where more points are never worse.
        """
        cdef Py_ssize_t n = self.open(free, chip, values, second, merge_zeros)
        cdef double[:, ::1] out = np.empty((1 if second is None else 2, n))
        cdef double *second_out = NULL if second is None else &out[1, 0]
        with nogil:
            self.run.best(&self.program, self.sources, &self.scratch, n, &out[0, 0], second_out)
        return _answer(out, second)

    def choose(self, free, chip, values):
        """What the best play decides: [first keep, second keep, category] × roll × lane.

        Among equals the keep with the greatest index (most dice, then highest faces) and the first category win.
        """
        cdef Py_ssize_t n = self.open(free, chip, values, None, False)
        cdef uint16_t[:, :, ::1] out = np.empty((3, YC_ROLLS, n), np.uint16)
        with nogil:
            self.run.choose(&self.program, &self.tables, self.sources, &self.scratch, n, &out[0, 0, 0])
        return np.asarray(out)

    def follow(self, free, chip, values, decisions, second=None):
        """The value of playing as decided, in every lane; with `second`, also the second value of playing so.

        `decisions` are laid out as `choose` returns them, for every lane, or for one that all the others copy.
        """
        cdef Py_ssize_t n = self.open(free, chip, values, second, False)
        cdef const uint16_t[:, :, ::1] decided = check("decisions", decisions, np.uint16, (3, YC_ROLLS, None))
        cdef Py_ssize_t n_decided = decided.shape[2]
        if n_decided not in (1, n):
            raise KernelArgumentError(f"decisions: expected 1 or {n} lanes, found {n_decided}")
        self._check_legal(decisions)
        cdef double[:, ::1] out = np.empty((1 if second is None else 2, n))
        cdef double *second_out = NULL if second is None else &out[1, 0]
        with nogil:
            self.run.follow(&self.program, &self.tables, self.sources, &self.scratch, n, &decided[0, 0, 0], n_decided,
                            &out[0, 0], second_out)
        return _answer(out, second)

    def most(self, free, chip, values):
        """The most that the luckiest roll brings, in every lane."""
        cdef Py_ssize_t n = self.open(free, chip, values, None, False)
        cdef double[::1] out = np.empty(n)
        with nogil:
            self.run.most(&self.program, self.sources, &self.scratch, n, &out[0])
        return np.asarray(out)

    def rerolls(self, int times):
        """Do the two rerolls of a turn so many times on one vector and nothing else: the floor under every turn."""
        with nogil:
            self.run.rerolls(&self.scratch, times)

    @property
    def width(self):
        """How many lanes one vector has."""
        return self.run.width

    def _check_legal(self, decisions):
        legal = np.array([self.program.legal[roll] for roll in range(YC_ROLLS)])
        keeps, categories = decisions[:2], decisions[2]
        if keeps.max() >= YC_KEEPS or not _INSIDE[np.arange(YC_ROLLS)[None, :, None], keeps].all():
            raise KernelArgumentError("decisions: expected keeps that are part of their roll")
        if categories.max() >= YC_CATEGORIES or not (legal[:, None] >> categories & 1).all():
            raise KernelArgumentError("decisions: expected categories that are open to their roll")
