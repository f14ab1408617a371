# cython: language_level=3
"""The operators of a turn, with checks of all arguments.

`values[o, i]` is the value of outcome `o` in lane `i`; results have one entry for each lane.
The kernels that solve whole tables call the same operators without these checks, on rows of the table.
"""

import os

import numpy as np

from libc.stdlib cimport calloc, free as release

from yahtzee_cluster.game.dice import FIVES, KEEPS, ROLLS
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
    if type(array) is not np.ndarray:
        if not isinstance(array, np.ndarray):
            raise KernelArgumentError(f"{name}: expected an array")
        array = np.asarray(array)  # a subclass may override the attributes checked below
    flags = array.flags
    if array.dtype != dtype or not (flags.c_contiguous and flags.aligned):
        raise KernelArgumentError(f"{name}: expected a C-contiguous array of {np.dtype(dtype).name}")
    if array.ndim != len(shape) or any([n is not None and n != array.shape[i] for i, n in enumerate(shape)]):
        wanted = ", ".join(["any" if n is None else str(n) for n in shape])
        raise KernelArgumentError(f"{name}: expected shape ({wanted}), found {array.shape}")
    return array


def check_output(name, array, shape):
    """Return the array if it passes `check` as float64 and is writeable."""
    array = check(name, array, np.float64, shape)
    if not array.flags.writeable:
        raise KernelArgumentError(f"{name}: expected an array that can be written to")
    return array


def _inside_table():
    """[roll, keep]: whether the keep is part of the roll."""
    counts = np.array([[keep.count(face) for face in range(1, 7)] for keep in KEEPS])
    rolls = counts[YC_FIRST_ROLL:]
    return (counts[None, :, :] <= rolls[:, None, :]).all(axis=2)


_INSIDE = _inside_table()

if len(ROLLS) != YC_ROLLS or len(KEEPS) != YC_KEEPS:
    raise ImportError("the kernels were built for another lattice; build them again")


def _require(fact, complaint):
    if not fact:
        raise KernelArgumentError(complaint)


def _tables(moves):
    """Private copies of the tables, after a check of every entry."""
    n_rows, n_sets = YC_ROLLS + YC_FACES * (YC_VARIANTS - 1), len(moves.legal)
    n_categories = n_sets.bit_length() - 1
    _require(n_sets == 1 << n_categories and 1 <= n_categories <= YC_CATEGORIES,
             f"legal: expected one row for every set of categories, found {n_sets}")
    _require(1 <= len(moves.outcomes) <= YC_MAX_OUTCOMES,
             f"outcomes: expected 1 to {YC_MAX_OUTCOMES}, found {len(moves.outcomes)}")
    outcome_of = check("outcome_of", moves.outcome_of, np.int16, (n_rows, YC_CATEGORIES)).copy()
    zero_of = check("zero_of", moves.zero_of, np.int16, (YC_CATEGORIES,)).copy()
    scoring = check("scoring", moves.scoring, np.uint16, (n_rows,)).copy()
    legal = check("legal", moves.legal, np.uint16, (n_sets, YC_FACES)).copy()
    joker = check("joker", moves.joker, np.uint8, (n_sets, YC_FACES)).copy()

    categories = np.array([outcome.category for outcome in moves.outcomes])
    points = np.array([outcome.points for outcome in moves.outcomes])
    used, zeros = outcome_of[:, :n_categories], zero_of[:n_categories]
    _require(((categories >= 0) & (categories < n_categories)).all(), "outcomes: expected categories of the rules")
    _require(used.min() >= 0 and used.max() < len(categories), "outcome_of: expected indices into outcomes")
    _require((categories[used] == np.arange(n_categories)).all(),
             "outcome_of: expected outcomes of the category they stand for")
    _require(zero_of.min() >= -1 and zeros.max() < len(categories), "zero_of: expected indices into outcomes, or -1")
    _require(all([o < 0 or (categories[o], points[o]) == (c, 0) for c, o in enumerate(zeros)]),
             "zero_of: expected outcomes that score zero in their category")
    _require(not (legal & ~np.arange(n_sets)[:, None]).any() and legal[1:].all(),
             "legal: expected some of the free categories")
    return outcome_of, zero_of, scoring, legal, joker, np.array(FIVES, np.int16)


cdef _answer(double[:, ::1] out):
    values = np.asarray(out)
    return values[0] if len(values) == 1 else tuple(values)


cdef class Turn:
    """One turn under one rule set, with work space for one thread."""

    def __cinit__(self, moves, isa=None):
        cdef int i
        (self.outcome_of, self.zero_of, self.scoring, self.legal, self.joker, self.fives) = _tables(moves)
        self.moves = moves
        self.n_outcomes = len(moves.outcomes)
        self.all_free = self.legal.shape[0] - 1
        self.tables = yc_moves((<object>self.all_free).bit_length(), self.n_outcomes, &self.outcome_of[0, 0],
                               &self.zero_of[0], &self.scoring[0], &self.legal[0, 0], &self.joker[0, 0],
                               &self.fives[0])
        self.run = find_isa(isa or os.environ.get(ISA_VARIABLE, ""))
        self.isa = self.run.name.decode()
        self.outcomes = <outcome_t *>calloc(self.n_outcomes, sizeof(outcome_t))
        self.criteria.sources[0] = <yc_source *>calloc(YC_MOST_CRITERIA * self.n_outcomes, sizeof(yc_source))
        cdef size_t each = (YC_KEEPS + self.n_outcomes) * YC_WIDEST
        self.memory = calloc((YC_MOST_CRITERIA + 1) * each + YC_WIDEST, sizeof(double))
        if self.outcomes is NULL or self.criteria.sources[0] is NULL or self.memory is NULL:
            raise MemoryError
        cdef size_t vector = YC_WIDEST * sizeof(double)
        cdef double *aligned = <double *>((<size_t>self.memory + vector - 1) // vector * vector)
        for i in range(YC_MOST_CRITERIA + 1):
            self.scratch.value[i] = aligned + i * each
            self.scratch.slots[i] = self.scratch.value[i] + YC_KEEPS * YC_WIDEST
        for i in range(1, YC_MOST_CRITERIA):
            self.criteria.sources[i] = self.criteria.sources[0] + i * self.n_outcomes
        for i, outcome in enumerate(moves.outcomes):
            self.outcomes[i] = outcome_t(outcome.category, outcome.points, outcome.upper, outcome.chip)

    def __dealloc__(self):
        release(self.outcomes)
        release(self.criteria.sources[0])
        release(self.memory)

    cdef void prepare(self, unsigned int free, int chip, int merge_zeros) noexcept nogil:
        """Look up the outcomes of every roll in this state of the scorecard."""
        yc_prepare(&self.tables, free, chip, merge_zeros, self.run.width * sizeof(double), &self.program)

    cdef int begin(self) except -1:
        """Acquire the work space, which only one thread may use at a time."""
        if self.busy:
            raise KernelArgumentError("this Turn is at work in another thread; every thread needs one of its own")
        self.busy = True
        return 0

    cdef void end(self) noexcept:
        self.busy = False

    cdef Py_ssize_t open(self, Py_ssize_t free, bint chip, values, bint merge_zeros) except -1:
        """Acquire the work space, and prepare a scorecard with the rows of `values` as sources; `end` must follow."""
        cdef const double[:, ::1] rows
        cdef Py_ssize_t n = 0
        cdef int c, o
        rules = self.moves.rules
        if not 0 < free <= self.all_free:
            raise KernelArgumentError(f"free: expected 1 to {self.all_free}, found {free}")
        if chip and (not rules.has_chip or free & rules.yahtzee_box):
            raise KernelArgumentError("chip: expected False while the Yahtzee box is free, or without a use for it")
        if len(values) > YC_MOST_CRITERIA:
            raise KernelArgumentError(f"values: expected at most {YC_MOST_CRITERIA} criteria, found {len(values)}")
        for c, array in enumerate(values):
            check("values", array, np.float64, (self.n_outcomes, n if c else None))
            n = np.asarray(array).shape[1]
        if values and n == 0:
            raise KernelArgumentError("values: expected at least one lane")
        self.begin()
        self.criteria.n = len(values)
        for c in range(self.criteria.n):
            rows = values[c]
            for o in range(self.n_outcomes):
                self.criteria.sources[c][o] = yc_source(&rows[o, 0], 0, n, 0.0, 0.0, 0.0, 0.0)
        self.prepare(free, chip, merge_zeros)
        used = [self.program.outcome[slot] for slot in range(self.program.n_slots)]
        if not all([np.isfinite(np.asarray(array)[used]).all() for array in values]):
            self.end()
            raise KernelArgumentError("values: expected finite numbers for all outcomes in reach")
        return n

    def best(self, free, chip, *values, merge_zeros=False):
        """The value of the optimal policy in every lane, by each criterion.

        The first criterion decides; each further one breaks ties in those before it. Values tie if they are within
        1e-12 of the best, relatively. `merge_zeros` saves time where more points are never worse.
        """
        cdef Py_ssize_t n = self.open(free, chip, values, merge_zeros)
        cdef double[:, ::1] out
        cdef double *outs[YC_MOST_CRITERIA]
        try:
            out = self._room(n, outs)
            with nogil:
                self.run.best(&self.program, &self.criteria, &self.scratch, n, outs)
        finally:
            self.end()
        return _answer(out)

    def keep_values(self, free, chip, *values):
        """The value of every keep under the optimal policy: criterion × [first or second keep] × keep × lane.

        These are the intermediate values of `best`. The value of keeping all dice is that of the roll.
        """
        cdef Py_ssize_t n = self.open(free, chip, values, False)
        cdef double[:, :, :, ::1] out
        try:
            out = np.empty((self.criteria.n, 2, YC_KEEPS, n))
            with nogil:
                self.run.keep_values(&self.program, &self.criteria, &self.scratch, 0, n, &out[0, 0, 0, 0])
        finally:
            self.end()
        return np.asarray(out)

    def choose(self, free, chip, *values):
        """The decisions of the optimal policy: [first keep, second keep, category] × roll × lane.

        Ties in all criteria go to the keep with the greatest index (most dice, then highest faces) and to the first
        category.
        """
        cdef Py_ssize_t n = self.open(free, chip, values, False)
        cdef uint16_t[:, :, ::1] out
        try:
            out = np.empty((3, YC_ROLLS, n), np.uint16)
            with nogil:
                self.run.choose(&self.program, &self.tables, &self.criteria, &self.scratch, 0, n, &out[0, 0, 0])
        finally:
            self.end()
        return np.asarray(out)

    def follow(self, free, chip, decisions, *values):
        """The value of given decisions in every lane, by each criterion.

        `decisions` are laid out as `choose` returns them, for every lane or with a single lane that holds for all.
        """
        cdef const uint16_t[:, :, ::1] decided = check("decisions", decisions, np.uint16, (3, YC_ROLLS, None))
        cdef Py_ssize_t n_decided = decided.shape[2]
        cdef Py_ssize_t n = self.open(free, chip, values, False)
        cdef double[:, ::1] out
        cdef double *outs[YC_MOST_CRITERIA]
        try:
            self._check_decisions(np.asarray(decisions), n)
            out = self._room(n, outs)
            with nogil:
                self.run.follow(&self.program, &self.tables, &self.criteria, &self.scratch, n, &decided[0, 0, 0],
                                n_decided, outs)
        finally:
            self.end()
        return _answer(out)

    def spread(self, free, chip, decisions, weights):
        """The distribution over outcomes under given decisions, times the weight of each lane: [outcome, lane].

        This is the adjoint of `follow`: the sum over outcomes of result times value equals, in every lane, the weight
        times the value that `follow` returns.
        """
        cdef const uint16_t[:, :, ::1] decided = check("decisions", decisions, np.uint16, (3, YC_ROLLS, None))
        cdef const double[::1] given = check("weights", weights, np.float64, (None,))
        cdef Py_ssize_t n_decided = decided.shape[2]
        cdef Py_ssize_t n = given.shape[0]
        cdef double[:, ::1] out
        if n == 0:
            raise KernelArgumentError("weights: expected at least one lane")
        self.open(free, chip, (), False)
        try:
            self._check_decisions(np.asarray(decisions), n)
            out = np.zeros((self.n_outcomes, n))
            with nogil:
                self.run.spread(&self.program, &self.tables, &given[0], &self.scratch, n, &decided[0, 0, 0], n_decided,
                                &out[0, 0], NULL)
        finally:
            self.end()
        return np.asarray(out)

    def most(self, free, chip, values):
        """The value of the best outcome of any roll, in every lane."""
        cdef Py_ssize_t n = self.open(free, chip, (values,), False)
        cdef double[::1] out
        try:
            out = np.empty(n)
            with nogil:
                self.run.most(&self.program, &self.criteria, &self.scratch, n, &out[0])
        finally:
            self.end()
        return np.asarray(out)

    def rerolls(self, int times):
        """Compute only the two rerolls of a turn, on one vector, this many times: a lower bound for benchmarks."""
        self.begin()
        with nogil:
            self.run.rerolls(&self.scratch, times)
        self.end()

    @property
    def width(self):
        """The number of lanes in a vector."""
        return self.run.width

    cdef double[:, ::1] _room(self, Py_ssize_t n, double **outs):
        """An array for the results by all criteria; sets `outs` to its rows."""
        cdef double[:, ::1] out = np.empty((self.criteria.n, n))
        cdef int c
        for c in range(self.criteria.n):
            outs[c] = &out[c, 0]
        return out

    def _check_decisions(self, decisions, n):
        if decisions.shape[2] not in (1, n):
            raise KernelArgumentError(f"decisions: expected 1 or {n} lanes, found {decisions.shape[2]}")
        legal = np.array([self.program.legal[roll] for roll in range(YC_ROLLS)])
        keeps, categories = decisions[:2], decisions[2]
        if keeps.max() >= YC_KEEPS or not _INSIDE[np.arange(YC_ROLLS)[None, :, None], keeps].all():
            raise KernelArgumentError("decisions: expected keeps that are part of their roll")
        if categories.max() >= YC_CATEGORIES or not (legal[:, None] >> categories & 1).all():
            raise KernelArgumentError("decisions: expected categories that are open to their roll")
