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
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, YC_MAX_OUTCOMES, Turn, yc_source
from yahtzee_cluster.kernels.uppers cimport Layout, transition

from libc.stdint cimport int32_t, int64_t


def reach(Turn turn not None, anchors, Py_ssize_t start):
    """The least and the most that can have been scored at every place since play began at the place `start`.

    Both are -1 at places that play does not come to.
    """
    cdef Layout layout = Layout(turn, anchors)
    if not 0 <= start < layout.n_places:
        raise KernelArgumentError(f"start: expected 0 to {layout.n_places - 1}, found {start}")
    cdef int32_t[::1] least = np.full(layout.n_places, -1, np.int32)
    cdef int32_t[::1] scored = np.full(layout.n_places, -1, np.int32)
    cdef Py_ssize_t free, place, to = 0
    cdef int chip, lane, slot, paid
    least[start] = scored[start] = 0
    turn.begin()
    try:
        with nogil:
            for free in range(turn.all_free, 0, -1):
                for chip in range(2):
                    if layout.place[free, chip] < 0:
                        continue
                    turn.prepare(free, chip, True)
                    for lane in range(layout.n_lanes[free]):
                        place = layout.place[free, chip] + lane
                        if scored[place] < 0:
                            continue
                        for slot in range(turn.program.n_slots):
                            paid = transition(layout, &turn.outcomes[turn.program.outcome[slot]], free, chip, lane, &to)
                            if least[to] < 0 or least[place] + paid < least[to]:
                                least[to] = least[place] + paid
                            scored[to] = max(scored[to], scored[place] + paid)
    finally:
        turn.end()
    return np.asarray(least), np.asarray(scored)


cdef class Side:
    """The anchors of one player that have rows, and what bounds the leads in these rows.

    `places` are the places of these anchors, in increasing order. At each of them, at most `most` points can still be
    scored, and from `least` to `scored` can have been scored since the race began. There is no turn for a player who
    has no free category.
    """

    cdef Turn turn
    cdef Layout layout
    cdef const int32_t[::1] number  # [place]: the number of an anchor among those with rows, or -1
    cdef const int64_t[::1] first  # [free]: the number of the first anchor of a set; at the end, that of all anchors
    cdef const int32_t[::1] most  # [number], like `least` and `scored`
    cdef const int32_t[::1] least
    cdef const int32_t[::1] scored
    cdef Py_ssize_t all_free
    cdef int n_categories
    cdef bint alike  # whether all anchors of a set have the same bounds

    def __cinit__(self, Turn turn, anchors, places, most, least, scored):
        self.turn = turn
        self.n_categories, self.all_free, n_places, starts = 0, 0, 1, [0]
        if turn is not None:
            self.layout = Layout(turn, anchors)
            self.n_categories, self.all_free = turn.tables.n_categories, turn.all_free
            n_places, starts = self.layout.n_places, np.asarray(self.layout.place)[:, 0]
        places = check("places", places, np.int64, (None,))
        if not len(places) or not 0 <= places.min() <= places.max() < n_places or (np.diff(places) <= 0).any():
            raise KernelArgumentError("places: expected places in increasing order")
        number = np.full(n_places, -1, np.int32)
        number[places] = np.arange(len(places))
        self.number = number
        first = np.append(np.searchsorted(places, starts), len(places)).astype(np.int64)
        bounds = [
            check(name, array, np.int32, (len(places),)).copy()
            for name, array in (("most", most), ("least", least), ("scored", scored))
        ]
        if min([array.min() for array in bounds]) < 0 or bounds[0][:first[1]].any():
            raise KernelArgumentError(
                "most, least, scored: expected none below 0, and nothing to score where nothing is free"
            )
        leader = np.repeat(first[:len(starts)], np.diff(first))
        self.alike = all([(array == array[leader]).all() for array in bounds])
        self.first = first
        self.most, self.least, self.scored = bounds

    cdef Py_ssize_t n_rows(self, Py_ssize_t free) noexcept nogil:
        return self.first[free + 1] - self.first[free]


cdef class Race:
    """Solves whole blocks.

    `lead` is that of the first player when the race begins. With two `quantities`, the rows of a set are followed by as
    many rows with the probability that the first player wins outright, by which both players break ties.
    """

    cdef Side one
    cdef Side two
    cdef Py_ssize_t lead
    cdef int quantities
    cdef Py_ssize_t most_rows

    def __cinit__(self, Side one not None, Side two not None, Py_ssize_t lead=0, int quantities=1):
        if quantities not in (1, 2):
            raise KernelArgumentError(f"quantities: expected 1 or 2, found {quantities}")
        self.one, self.two, self.lead, self.quantities = one, two, lead, quantities
        self.most_rows = np.diff(one.first).max() * np.diff(two.first).max()

    def n_values(self, subsets):
        """The number of values of each set."""
        cdef const int64_t[::1] sets = check("subsets", subsets, np.int64, (None,))
        cdef int64_t[::1] sizes = np.empty(len(subsets), np.int64)
        cdef Py_ssize_t i
        self._check_sets(subsets)
        with nogil:
            for i in range(sets.shape[0]):
                sizes[i] = self.quantities * self.n_entries(sets[i])
        return np.asarray(sizes)

    def solve(self, subsets, starts, out, below):
        """Compute the values of some sets in which the same player is to move, laid end to end in `out`.

        `below[e]` holds the subsets, starts and values of the sets without element e.
        """
        cdef const int64_t[::1] sets, begins
        cdef const double[::1] found
        cdef const int64_t *set_of[2 * YC_CATEGORIES]
        cdef const int64_t *begin_of[2 * YC_CATEGORIES]
        cdef const double *value_of[2 * YC_CATEGORIES]
        cdef Py_ssize_t length_of[2 * YC_CATEGORIES]
        cdef int e
        checked = {}  # by identity; also the references that keep the memory behind the pointers alive
        for e in range(self.one.n_categories + self.two.n_categories):
            length_of[e] = 0
            if below[e] is not None:
                if id(below[e]) not in checked:
                    self._check_block(f"below[{e}]", *below[e])
                    checked[id(below[e])] = below[e]
                sets, begins, found = below[e]
                length_of[e] = sets.shape[0]
                if length_of[e]:
                    set_of[e], begin_of[e] = &sets[0], &begins[0]
                    value_of[e] = &found[0] if found.shape[0] else NULL
        self._check_block("out", subsets, starts, check_output("out", out, (None,)))
        if not len(out):
            return
        one, two = subsets & self.one.all_free, subsets >> self.one.n_categories
        seconds = np.bitwise_count(two) > np.bitwise_count(one)
        if (seconds != seconds[0]).any():
            raise KernelArgumentError("subsets: expected the same player to move in all of them")
        if not subsets[0]:  # the race is over, and with a lead of 0 a tie
            out[:starts[1]].reshape(self.quantities, -1)[:] = np.array([[0.5], [0.0]])[:self.quantities]
        cdef bint second = seconds[0]
        cdef Side mover = self.two if second else self.one
        cdef Turn turn = mover.turn
        cdef double[::1] values = out
        # The start of every row: of the sets without each category, and of the set itself.
        cdef int64_t[:, ::1] rows = np.empty((YC_CATEGORIES + 1, self.most_rows + 1), np.int64)
        cdef Py_ssize_t i, k, missing = 0
        sets, begins = subsets, starts
        # Sets in which the player to move has the same scorecard come one after the other.
        order = np.argsort(two if second else one, kind="stable").astype(np.int64)
        cdef const int64_t[::1] todo = order[subsets[order] > 0]
        if not len(todo):
            return
        turn.begin()
        try:
            with nogil:
                for k in range(todo.shape[0]):
                    i = todo[k]
                    missing += self.fill(mover, turn, second, sets[i], &values[0] + begins[i], rows, set_of, begin_of,
                                         value_of, length_of)
        finally:
            turn.end()
        if missing:
            raise KernelArgumentError("below, places: expected every set and every anchor that a play leads to")

    def _check_block(self, name, subsets, starts, values):
        check("subsets", subsets, np.int64, (None,))
        self._check_sets(subsets)
        if (np.diff(subsets) <= 0).any():
            raise KernelArgumentError("subsets: expected rising sets of both players' categories")
        check(name, starts, np.int64, (len(subsets) + 1,))
        if starts[0] != 0 or not np.array_equal(np.diff(starts), self.n_values(subsets)):
            raise KernelArgumentError(f"{name}: expected the sets end to end")
        check(name, values, np.float64, (starts[len(subsets)],))

    def _check_sets(self, subsets):
        one, two = subsets & self.one.all_free, subsets >> self.one.n_categories
        more = np.bitwise_count(two).astype(int) - np.bitwise_count(one)
        if not ((two >= 0) & (two <= self.two.all_free)).all():
            raise KernelArgumentError("subsets: expected sets of both players' categories")
        if not ((more == 0) | (more == 1)).all():
            raise KernelArgumentError("subsets: expected as many free categories for both, or one more for the second")

    cdef Py_ssize_t low(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """The lowest lead of the row of two anchors."""
        return max(-self.one.most[i], self.lead + self.one.least[i] - self.two.scored[j])

    cdef Py_ssize_t length(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """The number of leads in the row of two anchors."""
        cdef Py_ssize_t high = min(self.two.most[j], self.lead + self.one.scored[i] - self.two.least[j])
        return max(0, high - self.low(i, j) + 1)

    cdef Py_ssize_t n_entries(self, Py_ssize_t subset) noexcept nogil:
        """The number of values of each quantity of a set."""
        cdef Py_ssize_t one = subset & self.one.all_free, two = subset >> self.one.n_categories, i, j, n = 0
        if not (self.one.n_rows(one) and self.two.n_rows(two)):
            return 0
        if self.one.alike and self.two.alike:
            return self.one.n_rows(one) * self.two.n_rows(two) * self.length(self.one.first[one], self.two.first[two])
        for i in range(self.one.first[one], self.one.first[one + 1]):
            for j in range(self.two.first[two], self.two.first[two + 1]):
                n += self.length(i, j)
        return n

    cdef void lay_out(self, Py_ssize_t subset, int64_t *starts) noexcept nogil:
        """Set the start of every row of a set, and at the end, the number of values of each quantity."""
        cdef Py_ssize_t one = subset & self.one.all_free, two = subset >> self.one.n_categories, i, j
        starts[0] = 0
        for i in range(self.one.first[one], self.one.first[one + 1]):
            for j in range(self.two.first[two], self.two.first[two + 1]):
                starts[1] = starts[0] + self.length(i, j)
                starts += 1

    cdef Py_ssize_t row(self, Py_ssize_t subset, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """The number of the row of two anchors in their set."""
        cdef Py_ssize_t one = subset & self.one.all_free, two = subset >> self.one.n_categories
        return (i - self.one.first[one]) * self.two.n_rows(two) + j - self.two.first[two]

    cdef int fill(self, Side mover, Turn turn, bint second, Py_ssize_t subset, double *values, int64_t[:, ::1] rows,
                  const int64_t **set_of, const int64_t **begin_of, const double **value_of,
                  const Py_ssize_t *length_of) noexcept nogil:
        """Compute the values of one set; returns 1 if a set or an anchor that it depends on is missing, else 0."""
        cdef Py_ssize_t one = subset & self.one.all_free, two = subset >> self.one.n_categories
        cdef Py_ssize_t mine = two if second else one, size = self.n_entries(subset)
        cdef Py_ssize_t first = self.one.first[one] if second else self.two.first[two]
        cdef Py_ssize_t last = self.one.first[one + 1] if second else self.two.first[two + 1]
        cdef Py_ssize_t i, j, at, left, n_leads
        cdef const double *reads[YC_CATEGORIES]
        cdef Py_ssize_t to[YC_MAX_OUTCOMES]
        cdef int paid[YC_MAX_OUTCOMES]
        cdef double *outs[2]
        cdef int c, chip, lane, slot, e
        for c in range(mover.n_categories):
            if mine >> c & 1:
                e = self.one.n_categories + c if second else c
                left = subset ^ (<Py_ssize_t>1 << e)
                at = find(set_of[e], length_of[e], left)
                if at < 0:
                    return 1
                reads[c] = value_of[e] + begin_of[e][at]
                self.lay_out(left, &rows[c, 0])
        self.lay_out(subset, &rows[YC_CATEGORIES, 0])
        turn.criteria.n = self.quantities
        for chip in range(2):
            if mover.layout.place[mine, chip] < 0:
                continue
            turn.prepare(mine, chip, self.quantities == 1)
            for lane in range(mover.layout.n_lanes[mine]):
                i = mover.number[mover.layout.place[mine, chip] + lane]
                if i < 0:
                    continue
                for slot in range(turn.program.n_slots):
                    paid[slot] = transition(mover.layout, &turn.outcomes[turn.program.outcome[slot]], mine, chip, lane,
                                            &to[slot])
                    to[slot] = mover.number[to[slot]]
                    if to[slot] < 0:
                        return 1
                for j in range(first, last):
                    n_leads = self.length(j, i) if second else self.length(i, j)
                    if n_leads:
                        self.look_up(turn, subset, second, i, j, to, paid, reads, rows)
                        at = rows[YC_CATEGORIES, self.row(subset, j, i) if second else self.row(subset, i, j)]
                        outs[0], outs[1] = values + at, values + size + at
                        if second:
                            turn.run.worst(&turn.program, &turn.criteria, &turn.scratch, n_leads, outs)
                        else:
                            turn.run.best(&turn.program, &turn.criteria, &turn.scratch, n_leads, outs)
        return 0

    cdef void look_up(self, Turn turn, Py_ssize_t subset, bint second, Py_ssize_t i, Py_ssize_t j, const Py_ssize_t *to,
                      const int *paid, const double **reads, int64_t[:, ::1] rows) noexcept nogil:
        """Set the source of every outcome, from an anchor i of the player to move and an anchor j of the other player.

        The outcome of a slot leads to the anchor `to` and pays `paid`.
        """
        cdef Py_ssize_t low = self.low(j, i) if second else self.low(i, j), left, one, two, shift, length
        cdef const double *values
        cdef int slot, o, c
        for slot in range(turn.program.n_slots):
            o = turn.program.outcome[slot]
            c = turn.outcomes[o].category
            left = subset ^ (<Py_ssize_t>1 << (self.one.n_categories + c if second else c))
            one, two = j if second else to[slot], to[slot] if second else j
            values = reads[c] + rows[c, self.row(left, one, two)]
            shift = low - self.low(one, two) + (-paid[slot] if second else paid[slot])
            length = self.length(one, two)
            turn.criteria.sources[0][o] = yc_source(values, shift, length, 0.0, 1.0, 0.0, 0.0)
            if self.quantities == 2:
                values += rows[c, self.one.n_rows(left & self.one.all_free)
                               * self.two.n_rows(left >> self.one.n_categories)]
                turn.criteria.sources[1][o] = yc_source(values, shift, length, 0.0, 1.0, 0.0, 0.0)


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
