# cython: language_level=3
"""The two-player race: the first player maximises a value, the second minimises it.

A set of free categories has those of the first player in its low bits, and those of the second above them. The player
with more free categories is to move, or the first if both have equally many.
A row holds the value for one anchor of each player, by the first player's lead; the rows of a set are laid end to end,
ordered by the anchor of the first player, then by that of the second.
A row covers only leads that are possible and undecided; left of it the second player has won, right of it the first.
"""

import numpy as np

from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.turn import check, check_output
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, Turn, yc_source
from yahtzee_cluster.kernels.uppers cimport Layout, transition

from libc.stdint cimport int32_t, int64_t


cdef class Race:
    """Solves whole blocks.

    `most[free]` is the most that can still be scored, `scored[free]` the most that can have been scored by then. With
    two `quantities`, the rows of a set are followed by as many rows with the probability that the first player wins
    outright, by which both players break ties.
    """

    cdef readonly Turn turn
    cdef Layout layout
    cdef const int32_t[::1] most
    cdef const int32_t[::1] scored
    cdef const int32_t[::1] n_places
    cdef int n_categories
    cdef int quantities

    def __cinit__(self, Turn turn not None, anchors, most, scored, int quantities=1):
        if quantities not in (1, 2):
            raise KernelArgumentError(f"quantities: expected 1 or 2, found {quantities}")
        self.turn = turn
        self.layout = Layout(turn, anchors)
        n_sets = turn.all_free + 1
        most = check("most", most, np.int32, (n_sets,)).copy()
        scored = check("scored", scored, np.int32, (n_sets,)).copy()
        if most.min() < 0 or scored.min() < 0 or most[0] != 0:
            raise KernelArgumentError("most, scored: expected none below 0, and nothing to score where nothing is free")
        self.most = most
        self.scored = scored
        place = np.asarray(self.layout.place)[:, 0]
        self.n_places = np.diff(np.append(place, self.layout.n_places)).astype(np.int32)
        self.n_categories = turn.tables.n_categories
        self.quantities = quantities

    def n_values(self, subsets):
        """The number of values of each set."""
        subsets = check("subsets", subsets, np.int64, (None,))
        cdef const int64_t[::1] sets = subsets
        cdef int64_t[::1] sizes = np.empty(len(subsets), np.int64)
        cdef Py_ssize_t i
        self._check_sets(subsets)
        for i in range(sets.shape[0]):
            sizes[i] = self.size(sets[i])
        return np.asarray(sizes)

    def solve(self, subsets, starts, out, below):
        """Compute the values of some sets, laid end to end in `out`.

        `below[e]` holds the subsets, starts and values of the sets without element e.
        """
        cdef Turn turn = self.turn
        cdef const int64_t[::1] sets = check("subsets", subsets, np.int64, (None,))
        self._check_sets(subsets)
        cdef const int64_t[::1] begins = check("starts", starts, np.int64, (len(subsets) + 1,))
        if not np.array_equal(np.diff(starts), self.n_values(subsets)) or starts[0] != 0:
            raise KernelArgumentError("starts: expected the sets end to end")
        cdef double[::1] values = check_output("out", out, (starts[len(subsets)],))
        cdef const int64_t[::1] their_sets, their_begins
        cdef const double[::1] their_values
        cdef const int64_t *set_of[2 * YC_CATEGORIES]
        cdef const int64_t *begin_of[2 * YC_CATEGORIES]
        cdef const double *value_of[2 * YC_CATEGORIES]
        cdef Py_ssize_t length_of[2 * YC_CATEGORIES]
        cdef int e
        keep = []  # references that keep the memory behind the pointers alive
        for e in range(2 * self.n_categories):
            length_of[e] = 0
            if below[e] is not None:
                there, where, what = below[e]
                their_sets = check(f"below[{e}]", there, np.int64, (None,))
                self._check_sets(there)
                their_begins = check(f"below[{e}]", where, np.int64, (len(there) + 1,))
                if not np.array_equal(np.diff(where), self.n_values(there)) or where[0] != 0:
                    raise KernelArgumentError(f"below[{e}]: expected the sets end to end")
                their_values = check(f"below[{e}]", what, np.float64, (where[len(there)],))
                if len(there):
                    keep.append((their_sets, their_begins, their_values))
                    set_of[e], begin_of[e], value_of[e] = &their_sets[0], &their_begins[0], &their_values[0]
                    length_of[e] = len(there)
        if not len(subsets):
            return
        # Sets in which the player to move has the same scorecard come one after the other.
        first = (subsets & turn.all_free)
        movers = np.where(np.bitwise_count(first) == np.bitwise_count(subsets >> self.n_categories), first,
                          subsets >> self.n_categories)
        cdef const int64_t[::1] order = np.argsort(movers, kind="stable").astype(np.int64)
        cdef Py_ssize_t i, n_lost = 0
        turn.begin()
        try:
            with nogil:
                for i in range(order.shape[0]):
                    n_lost += self.fill(turn, sets[order[i]], &values[begins[order[i]]], set_of, begin_of, value_of,
                                        length_of)
        finally:
            turn.end()
        if n_lost:
            raise KernelArgumentError("below: expected every set that a play leads to")

    def _check_sets(self, subsets):
        n, every = self.n_categories, self.turn.all_free
        rising = len(subsets) < 2 or (np.diff(subsets) > 0).all()
        if not rising or (len(subsets) and not 0 <= subsets.min() <= subsets.max() < 1 << 2 * n):
            raise KernelArgumentError("subsets: expected rising sets of both players' categories")
        more = np.bitwise_count(subsets >> n).astype(int) - np.bitwise_count(subsets & every)
        if not ((more == 0) | (more == 1)).all():
            raise KernelArgumentError("subsets: expected as many free categories for both, or one more for the second")

    cdef Py_ssize_t low(self, Py_ssize_t one, Py_ssize_t two) noexcept nogil:
        """The lowest lead of a row."""
        return max(-self.most[one], -self.scored[two])

    cdef Py_ssize_t length(self, Py_ssize_t one, Py_ssize_t two) noexcept nogil:
        """The number of leads in a row."""
        return min(self.most[two], self.scored[one]) - self.low(one, two) + 1

    cdef Py_ssize_t size(self, Py_ssize_t subset) noexcept nogil:
        cdef Py_ssize_t one = subset & self.turn.all_free, two = subset >> self.n_categories
        return self.quantities * self.n_places[one] * self.n_places[two] * self.length(one, two)

    cdef Py_ssize_t fill(self, Turn turn, Py_ssize_t subset, double *values, const int64_t **set_of,
                         const int64_t **begin_of, const double **value_of, const Py_ssize_t *length_of) noexcept nogil:
        """Compute the values of one set; returns 1 if a set that it depends on is missing, else 0."""
        cdef Py_ssize_t one = subset & turn.all_free, two = subset >> self.n_categories
        cdef bint second = popcount(two) > popcount(one)
        cdef Py_ssize_t mine = two if second else one, theirs = one if second else two
        cdef Py_ssize_t n_lanes = self.layout.n_lanes[mine], n_mine = self.n_places[mine]
        cdef Py_ssize_t n_theirs = self.n_places[theirs], length = self.length(one, two), low = self.low(one, two)
        cdef Py_ssize_t size = n_mine * n_theirs * length
        cdef const double *reads[YC_CATEGORIES]
        cdef Py_ssize_t low_of[YC_CATEGORIES]
        cdef Py_ssize_t long_of[YC_CATEGORIES]
        cdef double *outs[2]
        cdef Py_ssize_t at, i, j, left, row
        cdef int c, chip, lane, e
        if subset == 0:  # the lead is 0 and the race a tie
            for i in range(size):
                values[i] = 0.5
            if self.quantities == 2:
                for i in range(size, 2 * size):
                    values[i] = 0.0
            return 0
        for c in range(self.n_categories):
            if mine >> c & 1:
                e = c + self.n_categories if second else c
                left = subset ^ (<Py_ssize_t>1 << e)
                at = find(set_of[e], length_of[e], left)
                if at < 0:
                    return 1
                reads[c] = value_of[e] + begin_of[e][at]
                low_of[c] = self.low(left & turn.all_free, left >> self.n_categories)
                long_of[c] = self.length(left & turn.all_free, left >> self.n_categories)
        turn.criteria.n = self.quantities
        for chip in range(2):
            if self.layout.place[mine, chip] < 0:
                continue
            turn.prepare(mine, chip, self.quantities == 1)
            for lane in range(n_lanes):
                i = self.layout.place[mine, chip] + lane - self.layout.place[mine, 0]
                for j in range(n_theirs):
                    self.look_up(turn, mine, chip, lane, j, n_theirs, second, low, reads, low_of, long_of)
                    row = (j * n_mine + i if second else i * n_theirs + j) * length
                    outs[0] = values + row
                    outs[1] = values + size + row
                    if second:
                        turn.run.worst(&turn.program, &turn.criteria, &turn.scratch, length, outs)
                    else:
                        turn.run.best(&turn.program, &turn.criteria, &turn.scratch, length, outs)
        return 0

    cdef void look_up(self, Turn turn, Py_ssize_t mine, int chip, int lane, Py_ssize_t j, Py_ssize_t n_theirs,
                      bint second, Py_ssize_t low, const double **reads, const Py_ssize_t *low_of,
                      const Py_ssize_t *long_of) noexcept nogil:
        """Set the source of every outcome of a free category, from one anchor of the player to move and the other
        player's anchor number j.
        """
        cdef Py_ssize_t to = 0, left, paid, n_left, row, shift
        cdef const double *values
        cdef int o, c
        for o in range(turn.n_outcomes):
            c = turn.outcomes[o].category
            if not mine >> c & 1:
                continue
            paid = transition(self.layout, &turn.outcomes[o], mine, chip, lane, &to)
            left = mine ^ (<Py_ssize_t>1 << c)
            to -= self.layout.place[left, 0]
            n_left = self.n_places[left]
            row = j * n_left + to if second else to * n_theirs + j
            values = reads[c] + row * long_of[c]
            shift = low - low_of[c] + (-paid if second else paid)
            turn.criteria.sources[0][o] = yc_source(values, shift, long_of[c], 0.0, 1.0, 0.0, 0.0)
            if self.quantities == 2:
                turn.criteria.sources[1][o] = yc_source(values + n_left * n_theirs * long_of[c], shift, long_of[c], 0.0,
                                                        1.0, 0.0, 0.0)


cdef inline int popcount(Py_ssize_t subset) noexcept nogil:
    cdef int n = 0
    while subset:
        subset &= subset - 1
        n += 1
    return n


cdef Py_ssize_t find(const int64_t *subsets, Py_ssize_t n, Py_ssize_t wanted) noexcept nogil:
    """The index of a set in an ascending list by binary search, or -1."""
    cdef Py_ssize_t first = 0, last = n, middle
    while first < last:
        middle = (first + last) >> 1
        if subsets[middle] < wanted:
            first = middle + 1
        else:
            last = middle
    return first if first < n and subsets[first] == wanted else -1
