# cython: language_level=3
"""Decisions by lists of rules, of which the first that matches wins."""

import numpy as np

from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.turn import _INSIDE, check
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, YC_FACES, YC_KEEPS, YC_ROLLS, YC_VARIANTS, outcome_t
from yahtzee_cluster.kernels.policies cimport Decider, pay
from yahtzee_cluster.kernels.uppers cimport added_lanes

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint8_t, uint16_t, uint64_t
from libc.string cimport memset

cdef enum:
    ROWS = YC_ROLLS + YC_FACES * (YC_VARIANTS - 1)  # as in `Moves`
    WORDS = (ROWS + 63) >> 6
    SETS_BETWEEN_SIGNALS = 256

NO_KEEP = YC_KEEPS
"""Instead of a keep: the rule does not match this roll."""

cdef extern from *:
    """
    #define lowest_of(word) __builtin_ctzll(word)
    """
    int lowest_of(uint64_t) noexcept nogil


def _bits(matches):
    """[rule, row] as bit masks of whole words."""
    wide = np.zeros((len(matches), 64 * WORDS), np.uint8)
    wide[:, :matches.shape[1]] = matches
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint64)


cdef class ByRules(Decider):
    """Decisions by rules for keeping and for scoring; the first that matches wins.

    A rule for keeping has `keep`, [rule, first or second keep, roll], with NO_KEEP where it does not match, and
    `keep_applies`, [rule, free, chip]. Where no rule matches, all dice are rolled again.
    A rule for scoring has its `box`, the rows of `Moves` that it matches, [rule, row], where it `applies`, and whether
    it asks for the upper bonus: it then matches only where this play wins the bonus. It never matches where its box is
    used or not open to the roll. Every box needs a rule without any condition, so that something always matches.
    Without rules for keeping (`keep` is None), keeps are optimal for what the rules for scoring bring: `value` holds
    the mean of the rest of the score at every place, and is None otherwise.
    """

    cdef const uint16_t[:, :, ::1] keep
    cdef const uint64_t[:, :, ::1] keeps_at
    cdef const uint8_t[:, :, ::1] keep_applies
    cdef const uint8_t[::1] box
    cdef const uint64_t[:, ::1] rows
    cdef const uint8_t[:, :, ::1] applies
    cdef const uint8_t[::1] for_bonus
    cdef const double[::1] points
    cdef double[::1] values
    cdef readonly object value

    def __cinit__(self, turn, anchors, keep, keep_applies, box, rows, applies, for_bonus):
        cdef int n_categories = self.turn.tables.n_categories
        n_sets = self.turn.all_free + 1
        self.box = check("box", box, np.uint8, (None,)).copy()
        n = len(box)
        self.rows = _bits(check("rows", rows, np.bool_, (n, ROWS)))
        self.applies = check("applies", applies, np.bool_, (n, n_sets, 2)).view(np.uint8).copy()
        self.for_bonus = check("for_bonus", for_bonus, np.bool_, (n,)).view(np.uint8).copy()
        if n == 0 or box.max() >= n_categories:
            raise KernelArgumentError("box: expected categories of the rules")
        always = box[rows.all(axis=1) & applies.all(axis=(1, 2)) & ~for_bonus]
        if set(always.tolist()) != set(range(n_categories)):
            raise KernelArgumentError("box: expected a rule without conditions for every category")
        if keep is None:
            self.points = np.array([float(outcome.points) for outcome in self.turn.moves.outcomes])
            self.values = np.zeros(anchors.n_places)
            self._solve()
            self.value = np.asarray(self.values)
            self.value.flags.writeable = False
            return
        self.keep = check("keep", keep, np.uint16, (None, 2, YC_ROLLS)).copy()
        self.keep_applies = check("keep_applies", keep_applies, np.bool_, (len(keep), n_sets, 2)).view(np.uint8).copy()
        matches = keep != NO_KEEP
        self.keeps_at = _bits(matches.reshape(-1, YC_ROLLS)).reshape(len(keep), 2, WORDS)
        rolls = np.broadcast_to(np.arange(YC_ROLLS), keep.shape)
        if keep.max(initial=0) > NO_KEEP or not _INSIDE[rolls[matches], keep[matches]].all():
            raise KernelArgumentError("keep: expected keeps that are part of their roll")

    cdef _solve(self):
        """Compute the mean of the rest of the score, from the last turn to the first."""
        cdef Py_ssize_t free, chip
        self.turn.begin()
        try:
            with nogil:
                for free in range(1, self.turn.all_free + 1):
                    if free % SETS_BETWEEN_SIGNALS == 0:
                        with gil:
                            PyErr_CheckSignals()
                    for chip in range(2):
                        if self.layout.place[free, chip] >= 0:
                            self._look_ahead(free, chip)
                            self.turn.run.keep_for(&self.turn.program, &self.turn.tables, &self.turn.criteria,
                                                   &self.turn.scratch, self.layout.n_lanes[free], &self.decided[0],
                                                   &self.values[self.layout.place[free, chip]])
        finally:
            self.turn.end()

    cdef void _look_ahead(self, Py_ssize_t free, int chip) noexcept nogil:
        """Decide the boxes, with points and the mean of the rest as the only criterion."""
        self.turn.prepare(free, chip, False)
        self._score(free, chip)
        pay(self.turn, self.layout, free, chip, &self.points[0], self.layout.bonus, &self.values[0], 0)
        self.turn.criteria.n = 1

    cdef void decide(self, Py_ssize_t free, int chip) noexcept nogil:
        """Store the decisions of all lanes in `decided`, [stage][roll][lane], and leave the turn prepared."""
        if self.value is None:
            self.turn.prepare(free, chip, False)
            self._keep(free, chip)
            self._score(free, chip)
        else:
            self._look_ahead(free, chip)
            self.turn.run.keep_for(&self.turn.program, &self.turn.tables, &self.turn.criteria, &self.turn.scratch,
                                   self.layout.n_lanes[free], &self.decided[0], NULL)

    cdef void _keep(self, Py_ssize_t free, int chip) noexcept nogil:
        """Decide what to keep, of every roll and for both rerolls."""
        cdef uint64_t left[2][WORDS]
        cdef uint64_t hits
        cdef Py_ssize_t n_lanes = self.layout.n_lanes[free]
        cdef int rule, stage, word, roll
        memset(left, 255, sizeof(left))
        memset(&self.decided[0], 0, 2 * YC_ROLLS * n_lanes * sizeof(uint16_t))
        for rule in range(self.keep_applies.shape[0]):
            if not self.keep_applies[rule, free, chip]:
                continue
            for stage in range(2):
                for word in range(WORDS):
                    hits = left[stage][word] & self.keeps_at[rule, stage, word]
                    left[stage][word] &= ~hits
                    while hits:
                        roll = 64 * word + lowest_of(hits)
                        hits &= hits - 1
                        fill(&self.decided[(stage * YC_ROLLS + roll) * n_lanes], self.keep[rule, stage, roll], 0,
                             n_lanes)

    cdef void _score(self, Py_ssize_t free, int chip) noexcept nogil:
        """Decide where to score every roll."""
        cdef uint64_t left[WORDS]
        cdef uint64_t hits
        cdef uint16_t open_above[ROWS]  # the lanes of a row from this one on are decided
        cdef uint16_t roll_of[ROWS]
        cdef Py_ssize_t n_lanes = self.layout.n_lanes[free]
        cdef Py_ssize_t first
        cdef int rule, word, row, roll, box
        memset(left, 0, sizeof(left))
        for roll in range(YC_ROLLS):
            row = self.turn.program.row[roll]
            left[row // 64] |= <uint64_t>1 << (row % 64)
            roll_of[row] = roll
            open_above[row] = n_lanes
        for rule in range(self.box.shape[0]):
            box = self.box[rule]
            if not (free >> box & 1 and self.applies[rule, free, chip]):
                continue
            for word in range(WORDS):
                hits = left[word] & self.rows[rule, word]
                while hits:
                    row = 64 * word + lowest_of(hits)
                    hits &= hits - 1
                    roll = roll_of[row]
                    if not self.turn.program.legal[roll] >> box & 1:
                        continue
                    first = self._winning(free, row, box) if self.for_bonus[rule] else 0
                    if first >= open_above[row]:
                        continue
                    fill(&self.decided[(2 * YC_ROLLS + roll) * n_lanes], box, first, open_above[row])
                    open_above[row] = first
                    if first == 0:
                        left[word] &= ~(<uint64_t>1 << (row % 64))

    cdef Py_ssize_t _winning(self, Py_ssize_t free, int row, int box) noexcept nogil:
        """The first lane in which scoring a row in a box wins the upper bonus; the number of lanes if none."""
        cdef outcome_t *outcome = &self.turn.outcomes[self.turn.tables.outcome_of[row * YC_CATEGORIES + box]]
        return self.layout.n_lanes[free ^ (1 << box)] - added_lanes(self.layout, outcome)


cdef inline void fill(uint16_t *row, uint16_t value, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    cdef Py_ssize_t lane
    for lane in range(first, last):
        row[lane] = value
