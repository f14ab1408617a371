# cython: language_level=3
"""Whole scorecards, one lane for each upper total; anchors are numbered as in `yahtzee_cluster.game.anchors`."""

import numpy as np

from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.turn import check, check_output
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, YC_KEEPS, YC_ROLLS, Turn, outcome_t, yc_source

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t

cdef enum:
    SETS_BETWEEN_SIGNALS = 256


cdef class Layout:
    """The places of all anchors: private copies of the arrays, after a check that no transition leads out of them."""

    def __cinit__(self, Turn turn not None, anchors):
        cdef int n_categories = turn.tables.n_categories
        if anchors.rules != turn.moves.rules:
            raise KernelArgumentError("anchors: expected those of the rules that the turn was made for")
        n_sets = turn.all_free + 1
        place = check("place", anchors.place, np.int64, (n_sets, 2)).copy()
        n_lanes = check("n_lanes", anchors.n_lanes, np.int32, (n_sets,)).copy()
        here = place >= 0
        sizes = np.where(here, n_lanes[:, None], 0).astype(np.int64)
        starts = (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)
        end_to_end = np.array_equal(place, np.where(here, starts, -1)) and sizes.sum() == anchors.n_places
        if n_lanes.min() < 1 or not here[:, 0].all() or not end_to_end:
            raise KernelArgumentError("place: expected the lanes of all scorecards end to end")
        free = np.arange(n_sets)
        gains_chip = {outcome.category for outcome in turn.moves.outcomes if outcome.chip}
        for category in range(n_categories):
            before = free[free >> category & 1 == 1]
            chip_after = here[before, 1] | (category in gains_chip)
            if (chip_after & ~here[before ^ 1 << category, 1]).any():
                raise KernelArgumentError("place: expected a scorecard with chip wherever a play leads to one")
        self.place = place
        self.n_lanes = n_lanes
        # The first lane of a total that is not negative, where the bonus can be neither won nor out of reach yet.
        reserve = check("reserve", anchors.reserve, np.int32, (n_sets,))
        undecided = reserve[n_sets - 1] - reserve < anchors.threshold
        lanes = np.clip(reserve - anchors.threshold + 1, 0, n_lanes - 1)
        self.first = np.where(undecided, lanes, 0).astype(np.int32)
        self.most_gained = check("most_gained", anchors.most_gained, np.int32, (n_categories,)).copy()
        self.n_places = anchors.n_places
        self.bonus = anchors.bonus


def moments(Turn turn not None, anchors, value, second=None):
    """Compute the highest mean of the rest of the score from every place, and with `second` its second moment."""
    _solve(turn, anchors, value, second, False)


def most(Turn turn not None, anchors, value):
    """Compute the most that can still be scored from every place."""
    _solve(turn, anchors, value, None, True)


cdef _solve(Turn turn, anchors, value, second, bint luckiest):
    cdef Layout layout = Layout(turn, anchors)
    cdef const int64_t[:, ::1] place = layout.place
    cdef double[::1] values = check_output("value", value, (anchors.n_places,))
    cdef double[::1] seconds = None
    cdef double *beside = NULL
    cdef double *outs[2]
    cdef const double *below[YC_CATEGORIES]
    cdef const double *below_second[YC_CATEGORIES]
    cdef Py_ssize_t n_sets = place.shape[0]
    cdef Py_ssize_t free, start
    cdef int chip, c
    if second is not None:
        seconds = check_output("second", second, (anchors.n_places,))
        beside = &seconds[0]
        if np.may_share_memory(value, second):
            raise KernelArgumentError("second: expected memory of its own")
    turn.begin()
    turn.criteria.n = 1 if second is None else 2
    try:
        with nogil:
            for chip in range(2):
                if place[0, chip] >= 0:
                    values[place[0, chip]] = 0.0
                    if beside is not NULL:
                        beside[place[0, chip]] = 0.0
            for free in range(1, n_sets):
                if free % SETS_BETWEEN_SIGNALS == 0:
                    with gil:
                        PyErr_CheckSignals()
                for chip in range(2):
                    if place[free, chip] < 0:
                        continue
                    for c in range(turn.tables.n_categories):
                        if free >> c & 1:
                            start = place[free ^ (1 << c), 0]
                            below[c] = &values[start]
                            below_second[c] = &beside[start] if beside is not NULL else NULL
                    _sources(turn, layout, free, chip, below, below_second)
                    turn.prepare(free, chip, True)
                    outs[0] = &values[place[free, chip]]
                    outs[1] = &beside[place[free, chip]] if beside is not NULL else NULL
                    if luckiest:
                        turn.run.most(&turn.program, &turn.criteria, &turn.scratch, layout.n_lanes[free], outs[0])
                    else:
                        turn.run.best(&turn.program, &turn.criteria, &turn.scratch, layout.n_lanes[free], outs)
    finally:
        turn.end()


cdef void _sources(Turn turn, Layout layout, Py_ssize_t free, int chip, const double **values,
                   const double **seconds) noexcept nogil:
    """Set the sources of every outcome of a free category, for mean and second moment.

    `values[c]` points to the values of the set without category c, `seconds[c]` to its second moments, or is NULL.
    """
    cdef int o
    cdef Py_ssize_t left, start, shift
    cdef double closed, points, bonus = layout.bonus
    cdef const double *row
    cdef const double *second
    cdef outcome_t *outcome
    for o in range(turn.n_outcomes):
        outcome = &turn.outcomes[o]
        if not free >> outcome.category & 1:
            continue
        left = free ^ (1 << outcome.category)
        start = layout.place[left, chip or outcome.chip] - layout.place[left, 0]
        shift = added_lanes(layout, outcome)
        row = values[outcome.category] + start
        closed = row[0]
        points = outcome.points
        turn.criteria.sources[0][o] = yc_source(row, shift, layout.n_lanes[left], closed, closed + bonus, 0.0, points)
        if seconds[outcome.category] is not NULL:
            second = seconds[outcome.category] + start
            turn.criteria.sources[1][o] = yc_source(second, shift, layout.n_lanes[left], second[0],
                                                    second[0] + 2.0 * bonus * closed + bonus * bonus, 2.0 * points,
                                                    points * points)


cdef class Moments:
    """Mean and second moment for one set of free categories at a time.

    The values of a set are the means of all its places, in their order, and then the second moments.
    """

    cdef readonly Turn turn
    cdef Layout layout
    cdef const int64_t[::1] n_places

    def __cinit__(self, Turn turn not None, anchors):
        self.turn = turn
        self.layout = Layout(turn, anchors)
        self.n_places = np.diff(np.append(np.asarray(self.layout.place)[:, 0], self.layout.n_places))

    def solve(self, Py_ssize_t free, successors, out):
        """Compute the values of one set; `successors[c]` holds those of the set without category c, if c is free."""
        cdef Turn turn = self.turn
        cdef const int64_t[:, ::1] place = self.layout.place
        if not 0 < free <= turn.all_free:
            raise KernelArgumentError(f"free: expected 1 to {turn.all_free}, found {free}")
        cdef double[::1] values = check_output("out", out, (2 * self.n_places[free],))
        cdef const double[::1] successor
        cdef const double *below[YC_CATEGORIES]
        cdef const double *below_second[YC_CATEGORIES]
        cdef Py_ssize_t size, start
        cdef double *outs[2]
        cdef int c, chip
        for c in range(turn.tables.n_categories):
            below[c] = below_second[c] = NULL
            if free >> c & 1:
                size = self.n_places[free ^ (1 << c)]
                successor = check(f"successors[{c}]", successors[c], np.float64, (2 * size,))
                below[c] = &successor[0]
                below_second[c] = below[c] + size
        turn.begin()
        turn.criteria.n = 2
        try:
            with nogil:
                for chip in range(2):
                    if place[free, chip] < 0:
                        continue
                    _sources(turn, self.layout, free, chip, below, below_second)
                    turn.prepare(free, chip, True)
                    start = place[free, chip] - place[free, 0]
                    outs[0] = &values[start]
                    outs[1] = &values[self.n_places[free] + start]
                    turn.run.best(&turn.program, &turn.criteria, &turn.scratch, self.layout.n_lanes[free], outs)
        finally:
            turn.end()


cdef class Decider:
    """Decisions of a policy that depend on the anchor alone, for all upper totals of a scorecard at once."""

    def __cinit__(self, Turn turn not None, anchors, *values):
        self.turn = turn
        self.layout = Layout(turn, anchors)
        self.decided = np.empty(3 * YC_ROLLS * np.max(self.layout.n_lanes), np.uint16)

    cdef void look_up(self, Py_ssize_t free, int chip) noexcept nogil:
        """Prepare the turn of a scorecard, with the criteria that decide."""

    cdef void decide(self, Py_ssize_t free, int chip) noexcept nogil:
        """Store the decisions of all lanes in `decided`, [stage][roll][lane], and leave the turn prepared."""
        self.look_up(free, chip)
        self.turn.run.choose(&self.turn.program, &self.turn.tables, &self.turn.criteria, &self.turn.scratch, 0,
                             self.layout.n_lanes[free], &self.decided[0])

    cdef void copy_lane(self, Py_ssize_t free, int lane, uint16_t *out) noexcept nogil:
        """Copy the decisions of one lane, [stage][roll], from those stored last."""
        cdef int i
        for i in range(3 * YC_ROLLS):
            out[i] = self.decided[i * self.layout.n_lanes[free] + lane]

    def decisions(self, Py_ssize_t free, bint chip):
        """The decisions for a scorecard: [first keep, second keep, category] × roll × lane."""
        if not 0 < free <= self.turn.all_free or self.layout.place[free, chip] < 0:
            raise KernelArgumentError(f"free, chip: no such scorecard: {free}, {chip}")
        self.turn.begin()
        try:
            self.decide(free, chip)
        finally:
            self.turn.end()
        n_lanes = self.layout.n_lanes[free]
        return np.array(self.decided[:3 * YC_ROLLS * n_lanes]).reshape(3, YC_ROLLS, n_lanes)


cdef class ForTheMean(Decider):
    """Decisions of the policy with the highest mean; ties go to the larger second moment, as in `moments`."""

    def __cinit__(self, Turn turn not None, anchors, mean, second):
        self.mean = check("mean", mean, np.float64, (anchors.n_places,))
        self.second = check("second", second, np.float64, (anchors.n_places,))

    cdef void look_up(self, Py_ssize_t free, int chip) noexcept nogil:
        """Prepare the turn of a scorecard, with mean and second moment as criteria."""
        cdef const double *means[YC_CATEGORIES]
        cdef const double *seconds[YC_CATEGORIES]
        cdef Py_ssize_t start
        cdef int c
        for c in range(self.turn.tables.n_categories):
            if free >> c & 1:
                start = self.layout.place[free ^ (1 << c), 0]
                means[c] = &self.mean[start]
                seconds[c] = &self.second[start]
        _sources(self.turn, self.layout, free, chip, means, seconds)
        self.turn.prepare(free, chip, False)
        self.turn.criteria.n = 2


cdef class ByWorth(Decider):
    """Decisions that maximise the points of a turn plus a given worth of the anchor after it.

    Ties go to the keep with the greatest index (most dice, then highest faces) and to the first category.
    """

    def __cinit__(self, Turn turn not None, anchors, worth):
        self.worth = check("worth", worth, np.float64, (anchors.n_places,))
        if not np.isfinite(worth).all():
            raise KernelArgumentError("worth: expected finite numbers")

    cdef void look_up(self, Py_ssize_t free, int chip) noexcept nogil:
        """Prepare the turn of a scorecard, with points and worth as the only criterion."""
        cdef const double *worths[YC_CATEGORIES]
        cdef const double *nothing[YC_CATEGORIES]
        cdef int c
        for c in range(self.turn.tables.n_categories):
            if free >> c & 1:
                worths[c] = &self.worth[self.layout.place[free ^ (1 << c), 0]]
                nothing[c] = NULL
        _sources(self.turn, self.layout, free, chip, worths, nothing)
        self.turn.prepare(free, chip, False)
        self.turn.criteria.n = 1


cdef _payoffs(Decider decider, payoffs, crossing):
    """Check what each outcome pays in several currencies, [currency, outcome], and what the upper bonus pays."""
    payoffs = check("payoffs", payoffs, np.float64, (None, decider.turn.n_outcomes))
    return payoffs, check("crossing", crossing, np.float64, (len(payoffs),))


cdef void paid_by(Turn turn, Layout layout, Py_ssize_t free, int chip, const double *pays, double crossing,
                  const double *values, int criterion) noexcept nogil:
    """Set the source of every outcome of a free category, for one currency."""
    cdef outcome_t *outcome
    cdef const double *row
    cdef Py_ssize_t left, shift
    cdef int o
    for o in range(turn.n_outcomes):
        outcome = &turn.outcomes[o]
        if free >> outcome.category & 1:
            left = free ^ (1 << outcome.category)
            shift = added_lanes(layout, outcome)
            row = values + layout.place[left, chip or outcome.chip]
            turn.criteria.sources[criterion][o] = yc_source(row, shift, layout.n_lanes[left], row[0], row[0] + crossing,
                                                            0.0, pays[o])


def worth(Decider decider not None, payoffs, crossing, out):
    """Compute the expected payoff of the rest of the game in each of several currencies: [currency, place]."""
    _play_on(decider, payoffs, crossing, out, False)


def most_among_ties(Decider decider not None, payoffs, crossing, out):
    """Compute the highest expected payoff in each currency under any policy with the highest mean: [currency, place].

    Ties in the mean go to the play with the highest payoff in that currency.
    """
    _play_on(decider, payoffs, crossing, out, True)


cdef _play_on(Decider decider, payoffs, crossing, out, bint among_ties):
    cdef const double[:, ::1] pays
    cdef const double[::1] crossing_pays
    pays, crossing_pays = _payoffs(decider, payoffs, crossing)
    cdef Layout layout = decider.layout
    cdef Turn turn = decider.turn
    cdef double[:, ::1] values = check_output("out", out, (pays.shape[0], layout.n_places))
    cdef double[::1] means = np.empty(np.max(layout.n_lanes))
    cdef double *outs[2]
    cdef Py_ssize_t free, n_lanes
    cdef int chip, q, criterion = 1 if among_ties else 0  # among ties, the mean decides first
    values[:, :layout.place[1, 0]] = 0.0
    outs[0] = &means[0]
    turn.begin()
    try:
        with nogil:
            for free in range(1, turn.all_free + 1):
                if free % SETS_BETWEEN_SIGNALS == 0:
                    with gil:
                        PyErr_CheckSignals()
                n_lanes = layout.n_lanes[free]
                for chip in range(2):
                    if layout.place[free, chip] < 0:
                        continue
                    if among_ties:
                        decider.look_up(free, chip)
                    else:
                        decider.decide(free, chip)
                    turn.criteria.n = criterion + 1
                    for q in range(pays.shape[0]):
                        paid_by(turn, layout, free, chip, &pays[q, 0], crossing_pays[q], &values[q, 0], criterion)
                        outs[criterion] = &values[q, layout.place[free, chip]]
                        if among_ties:
                            turn.run.best(&turn.program, &turn.criteria, &turn.scratch, n_lanes, outs)
                        else:
                            turn.run.follow(&turn.program, &turn.tables, &turn.criteria, &turn.scratch, n_lanes,
                                            &decider.decided[0], n_lanes, outs)
    finally:
        turn.end()


def trace(Decider decider not None, payoffs, crossing, worth, reach, met, product):
    """Propagate the state distribution forward, from the probabilities of the initial places in `reach`.

    Adds the probability of every other place to `reach`. Stores the probability of every outcome in `met`, without and
    with winning the upper bonus, and in `product` the expected sum over all plays of what a play pays in one currency
    times the expected payoff of the rest of the game (`worth`) in another.
    """
    cdef const double[:, ::1] pays
    cdef const double[::1] crossing_pays
    pays, crossing_pays = _payoffs(decider, payoffs, crossing)
    cdef Layout layout = decider.layout
    cdef Turn turn = decider.turn
    cdef Py_ssize_t n_currencies = pays.shape[0]
    cdef const double[:, ::1] values = check("worth", worth, np.float64, (n_currencies, layout.n_places))
    cdef double[::1] chances = check_output("reach", reach, (layout.n_places,))
    cdef double[:, ::1] meets = check_output("met", met, (2, turn.n_outcomes))
    cdef double[:, ::1] products = check_output("product", product, (n_currencies, n_currencies))
    cdef double[::1] arrived = np.empty(turn.n_outcomes * np.max(layout.n_lanes))
    cdef Py_ssize_t free, n_lanes, lane, p, q, to = 0
    cdef double chance, paid
    cdef int chip, slot, o
    cdef bint wins
    meets[:] = 0.0
    products[:] = 0.0
    turn.begin()
    try:
        with nogil:
            for free in range(turn.all_free, 0, -1):
                if free % SETS_BETWEEN_SIGNALS == 0:
                    with gil:
                        PyErr_CheckSignals()
                n_lanes = layout.n_lanes[free]
                for chip in range(2):
                    if layout.place[free, chip] < 0:
                        continue
                    decider.decide(free, chip)
                    turn.run.spread(&turn.program, &turn.tables, &chances[layout.place[free, chip]], &turn.scratch,
                                    n_lanes, &decider.decided[0], n_lanes, &arrived[0], NULL)
                    for slot in range(turn.program.n_slots):
                        o = turn.program.outcome[slot]
                        for lane in range(n_lanes):
                            chance = arrived[o * n_lanes + lane]
                            if chance == 0.0:
                                continue
                            wins = lead(layout, &turn.outcomes[o], free, chip, lane, &to)
                            chances[to] += chance
                            meets[wins, o] += chance
                            for p in range(n_currencies):
                                paid = pays[p, o] + (crossing_pays[p] if wins else 0.0)
                                if paid != 0.0:
                                    for q in range(n_currencies):
                                        products[p, q] += chance * paid * values[q, to]
    finally:
        turn.end()


def losses(Decider decider not None, ForTheMean judge not None, reach, by_turn, by_keep, by_box):
    """What the decisions of a policy cost, against the highest mean, over whole games.

    `reach` has the probability of every place. Adds the expected loss of all decisions to `by_turn`, [number of free
    categories − 1, stage]; that of keeps to `by_keep`, [stage, keep, best keep]; and that of categories to `by_box`,
    [category, best category].
    """
    if decider.turn is not judge.turn:
        raise KernelArgumentError("judge: expected one with the same turn")
    cdef Layout layout = decider.layout
    cdef Turn turn = decider.turn
    cdef int n_categories = turn.tables.n_categories
    cdef Py_ssize_t most_lanes = np.max(layout.n_lanes)
    cdef const double[::1] chances = check("reach", reach, np.float64, (layout.n_places,))
    cdef double[:, ::1] turns = check_output("by_turn", by_turn, (n_categories, 3))
    cdef double[:, :, ::1] keeps = check_output("by_keep", by_keep, (2, YC_KEEPS, YC_KEEPS))
    cdef double[:, ::1] boxes = check_output("by_box", by_box, (n_categories, n_categories))
    cdef double[::1] arrived = np.empty(turn.n_outcomes * most_lanes)
    cdef double[::1] rolls = np.empty(3 * YC_ROLLS * most_lanes)
    cdef double[::1] weighed = np.empty(2 * YC_KEEPS * most_lanes)
    cdef Py_ssize_t free, n_lanes, start, lane, at
    cdef int chip, n_free, stage, roll, mine, best
    cdef double chance, cost
    turn.begin()
    try:
        with nogil:
            for free in range(turn.all_free, 0, -1):
                if free % SETS_BETWEEN_SIGNALS == 0:
                    with gil:
                        PyErr_CheckSignals()
                n_lanes = layout.n_lanes[free]
                n_free = popcount(free)
                for chip in range(2):
                    start = layout.place[free, chip]
                    if start < 0 or not any_positive(&chances[start], n_lanes):
                        continue
                    decider.decide(free, chip)
                    turn.run.spread(&turn.program, &turn.tables, &chances[start], &turn.scratch, n_lanes,
                                    &decider.decided[0], n_lanes, &arrived[0], &rolls[0])
                    judge.decide(free, chip)
                    turn.criteria.n = 1
                    turn.run.keep_values(&turn.program, &turn.criteria, &turn.scratch, 0, n_lanes, &weighed[0])
                    for stage in range(3):
                        for roll in range(YC_ROLLS):
                            for lane in range(n_lanes):
                                at = (stage * YC_ROLLS + roll) * n_lanes + lane
                                chance = rolls[at]
                                mine, best = decider.decided[at], judge.decided[at]
                                if chance == 0.0 or mine == best:
                                    continue
                                if stage < 2:
                                    cost = chance * (weighed[(stage * YC_KEEPS + best) * n_lanes + lane]
                                                     - weighed[(stage * YC_KEEPS + mine) * n_lanes + lane])
                                    keeps[stage, mine, best] += cost
                                else:
                                    cost = chance * (scored(turn, layout, judge.mean, free, chip, lane, roll, best)
                                                     - scored(turn, layout, judge.mean, free, chip, lane, roll, mine))
                                    boxes[mine, best] += cost
                                turns[n_free - 1, stage] += cost
    finally:
        turn.end()


cdef inline double scored(Turn turn, Layout layout, const double[::1] mean, Py_ssize_t free, int chip, int lane,
                          int roll, int category) noexcept nogil:
    """Points and the mean of the rest after scoring a roll in a category."""
    cdef Py_ssize_t to = 0
    cdef int o = turn.tables.outcome_of[turn.program.row[roll] * YC_CATEGORIES + category]
    cdef int points = transition(layout, &turn.outcomes[o], free, chip, lane, &to)
    return points + mean[to]


cdef inline bint any_positive(const double *values, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if values[i] > 0.0:
            return True
    return False


cdef inline int popcount(Py_ssize_t bits) noexcept nogil:
    cdef int n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n
