# cython: language_level=3
"""Rollouts: single turns with simulated dice, for many games at a time, and values for policies that choose by them.

A throw is a number below 6^5 that encodes the faces of five dice in order; a reroll of fewer dice uses the first ones.
"""

import math

import numpy as np

from yahtzee_cluster.game.dice import KEEPS, ROLLS
from yahtzee_cluster.errors import KernelArgumentError
from yahtzee_cluster.kernels.needs cimport Player
from yahtzee_cluster.kernels.turn import check, check_output
from yahtzee_cluster.kernels.turn cimport YC_CATEGORIES, YC_KEEPS, YC_ROLLS, Turn

from libc.math cimport sqrt
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t

cdef enum:
    N_THROWS = 7776
    LANES = 64  # decided together, so that their decisions stay in the L2 cache
    STEPS = 256  # table entries of the normal distribution for each standard deviation
    FARTHEST = 8  # standard deviations that the table covers on either side; beyond them the probability is 0 or 1
    NODES = 8  # of the Gauss-Hermite quadrature

cdef double SMALLEST = 1e-9  # lower bound of a standard deviation: avoids division by zero, and a tie still counts half


def _codes(n_dice):
    """[throw]: the code of the first dice of a throw. Codes add up: each face has a digit to base 6, its count."""
    throws = np.arange(N_THROWS)
    return sum([6 ** (throws // 6**die % 6) for die in range(n_dice)], np.zeros(N_THROWS, int))


_CODE = {keep: sum([6 ** (face - 1) for face in keep]) for keep in KEEPS}
_ROLL_OF = np.zeros(5 * 6**5 + 1, np.uint8)
_ROLL_OF[[_CODE[roll] for roll in ROLLS]] = np.arange(len(ROLLS))
cdef const uint8_t[::1] roll_of = _ROLL_OF
cdef const int32_t[::1] code_of = np.array([_CODE[keep] for keep in KEEPS], np.int32)
cdef const int32_t[:, ::1] thrown = np.array([_codes(5 - n) for n in range(6)], np.int32)  # [dice kept, throw]
cdef const uint8_t[::1] n_kept = np.array([len(keep) for keep in KEEPS], np.uint8)

cdef const double[::1] normal = np.array(
    [math.erfc(-(i / STEPS - FARTHEST) / math.sqrt(2)) / 2 for i in range(2 * FARTHEST * STEPS + 2)])
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(NODES)
cdef const double[::1] nodes = _NODES
cdef const double[::1] weights = _WEIGHTS / _WEIGHTS.sum()


cdef inline int play(Turn turn, const uint16_t *decided, Py_ssize_t n, const uint16_t *throws) noexcept nogil:
    """The outcome of one game's turn, or -1 if a decision is not legal; `decided` is its lane among n."""
    cdef int roll = roll_of[thrown[0, throws[0]]], keep, category, stage
    for stage in range(2):
        keep = decided[(stage * YC_ROLLS + roll) * n]
        if keep >= YC_KEEPS:
            return -1
        roll = roll_of[code_of[keep] + thrown[n_kept[keep], throws[stage + 1]]]
    category = decided[(2 * YC_ROLLS + roll) * n]
    if category >= YC_CATEGORIES or not turn.program.legal[roll] >> category & 1:
        return -1
    return turn.tables.outcome_of[turn.program.row[roll] * YC_CATEGORIES + category]


cdef _check_games(games, throws, outcomes):
    """Check that every game has three throws, and that its outcome can be stored."""
    n_games = len(games)
    if check("throws", throws, np.uint16, (n_games, 3)).max(initial=0) >= N_THROWS:
        raise KernelArgumentError(f"throws: expected numbers below {N_THROWS}")
    if not check("outcomes", outcomes, np.int16, (n_games,)).flags.writeable:
        raise KernelArgumentError("outcomes: expected an array that can be written to")


def throw(Turn turn not None, Py_ssize_t free, bint chip, decisions, columns, throws, outcomes):
    """Roll out a turn of many games with the same scorecard under given decisions, and store each game's outcome.

    `decisions` are laid out as `Turn.choose` returns them; `columns` has the lane of each game.
    """
    cdef const uint16_t[:, :, ::1] decided = check("decisions", decisions, np.uint16, (3, YC_ROLLS, None))
    cdef const int64_t[::1] lanes = check("columns", columns, np.int64, (None,))
    _check_games(columns, throws, outcomes)
    cdef const uint16_t[:, ::1] faces = throws
    cdef int16_t[::1] out = outcomes
    cdef Py_ssize_t i, n = decided.shape[2], n_games = lanes.shape[0]
    if n_games == 0:
        return
    if not 0 <= columns.min() <= columns.max() < n:
        raise KernelArgumentError("columns: expected lanes of the decisions")
    turn.open(free, chip, (), False)
    try:
        with nogil:
            for i in range(n_games):
                out[i] = play(turn, &decided[0, 0, lanes[i]], n, &faces[i, 0])
    finally:
        turn.end()
    if outcomes.min() < 0:
        raise KernelArgumentError("decisions: expected keeps, and categories that are open to their roll")


def throw_by(Player player not None, Py_ssize_t free, bint chip, successors, lanes, needs, throws, outcomes):
    """Roll out a turn of many games with the same scorecard under a player's policy, and store each game's outcome.

    `successors` are the player's values. `lanes` has the lane of each game's anchor, `needs` its need or, if the
    player's lanes are scores, its score so far; games are in ascending order of both.
    """
    cdef Turn turn = player.turn
    cdef const int64_t[::1] anchors = check("lanes", lanes, np.int64, (None,))
    cdef const int64_t[::1] wanted = check("needs", needs, np.int64, (len(lanes),))
    _check_games(lanes, throws, outcomes)
    cdef const uint16_t[:, ::1] faces = throws
    cdef int16_t[::1] out = outcomes
    cdef uint16_t[::1] decided = np.empty(3 * YC_ROLLS * LANES, np.uint16)
    cdef const double *reads[YC_CATEGORIES]
    cdef Py_ssize_t n_games = anchors.shape[0], first = 0, last, i, at, n, base = 0 if player.by_score else 1
    cdef int64_t lane = -1
    if not 0 < free <= turn.all_free or player.layout.place[free, chip] < 0:
        raise KernelArgumentError(f"free, chip: no such scorecard: {free}, {chip}")
    if n_games == 0:
        return
    place = player.layout.place[free, chip] + lanes
    if not 0 <= lanes.min() <= lanes.max() < player.layout.n_lanes[free]:
        raise KernelArgumentError("lanes: expected anchors of the scorecard")
    if not ((needs >= base) & (needs < base + np.asarray(player.lengths)[place])).all():
        raise KernelArgumentError("needs: expected what the rows have room for")
    if (np.diff(lanes) < 0).any() or ((np.diff(lanes) == 0) & (np.diff(needs) < 0)).any():
        raise KernelArgumentError("lanes, needs: expected the games in rising order")
    player.read(free, successors, reads)
    turn.begin()
    try:
        with nogil:
            player.open_card(turn, free, chip)
            while first < n_games:
                if anchors[first] != lane:
                    lane = anchors[first]
                    player.open_lane(turn, free, chip, lane, reads)
                # Games whose needs fit into one vector are decided together.
                last = first + 1
                while last < n_games and anchors[last] == lane and wanted[last] - wanted[first] < turn.run.width:
                    last += 1
                n = wanted[last - 1] - wanted[first] + 1
                player.decide(turn, wanted[first] - base, n, &decided[0])
                for i in range(first, last):
                    at = wanted[i] - wanted[first]
                    out[i] = play(turn, &decided[at], n, &faces[i, 0])
                first = last
    finally:
        turn.end()


def chances(mean, deviation, lanes, scores, rival_mean, rival_deviation, which, chance, reached):
    """The probability of beating all rivals after each outcome of a turn, and the expected final score.

    `mean` and `deviation` are those of all points from now on, [n, lane], if outcome `which[n]` is taken; `scores` has
    the score so far of each game, `rival_mean` and `rival_deviation` the moments of the rivals' final scores,
    [game, rival]. All scores are approximated by normal distributions. A tie counts half.
    The results are stored in `chance` and `reached`, [outcome, game].
    """
    cdef const double[:, ::1] means = check("mean", mean, np.float64, (None, None))
    cdef const double[:, ::1] deviations = check("deviation", deviation, np.float64, mean.shape)
    cdef const int64_t[::1] lane_of = check("lanes", lanes, np.int64, (None,))
    cdef const int64_t[::1] so_far = check("scores", scores, np.int64, (len(lanes),))
    cdef const double[:, ::1] theirs = check("rival_mean", rival_mean, np.float64, (len(lanes), None))
    cdef const double[:, ::1] their_deviations = check("rival_deviation", rival_deviation, np.float64, rival_mean.shape)
    cdef const int64_t[::1] outcomes = check("which", which, np.int64, (len(mean),))
    cdef double[:, ::1] won = check_output("chance", chance, (None, len(lanes)))
    cdef double[:, ::1] at_the_end = check_output("reached", reached, chance.shape)
    cdef Py_ssize_t n, o, i, n_games = lane_of.shape[0], n_rivals = theirs.shape[1]
    cdef double at, spread
    if n_games == 0:
        return
    if not 0 <= lanes.min() <= lanes.max() < mean.shape[1]:
        raise KernelArgumentError("lanes: expected lanes of the means")
    if not 0 <= which.min() <= which.max() < len(chance):
        raise KernelArgumentError("which: expected outcomes that there is room for")
    if n_rivals == 0:
        raise KernelArgumentError("rival_mean: expected at least one rival")
    if not (np.isfinite(mean).all() and np.isfinite(rival_mean).all()):
        raise KernelArgumentError("mean, rival_mean: expected finite numbers")
    if not ((deviation >= 0).all() and (rival_deviation >= 0).all()):
        raise KernelArgumentError("deviation, rival_deviation: expected none below 0")
    with nogil:
        for n in range(means.shape[0]):
            o = outcomes[n]
            for i in range(n_games):
                at = so_far[i] + means[n, lane_of[i]]
                spread = deviations[n, lane_of[i]]
                at_the_end[o, i] = at
                if n_rivals == 1:
                    spread = spread * spread + their_deviations[i, 0] * their_deviations[i, 0]
                    won[o, i] = below((at - theirs[i, 0]) / max(sqrt(spread), SMALLEST))
                else:
                    won[o, i] = ahead_of_all(at, spread, theirs, their_deviations, i)


def leads_of(values, first, step, lowest, length, size, leads, lanes, number, paid, which, out):
    """Look up the values of a two-player race after outcomes that leave the same categories.

    `out` is [criterion, outcome, game]. Outcome `which[n]` leads from a lane to anchor `number[n, lane]` and adds
    `paid[n, lane]` to the lead.
    For each game, the row of anchor k starts at `first + k * step` in `values`, and has `length` entries for the leads
    from `lowest` on; the values of the next criterion follow after `size` entries.
    """
    cdef const double[::1] read = check("values", values, np.float64, (None,))
    n_games = len(check("first", first, np.int64, (None,)))
    for name, column in (("step", step), ("lowest", lowest), ("length", length), ("size", size), ("leads", leads),
                         ("lanes", lanes)):
        check(name, column, np.int64, (n_games,))
    check("number", number, np.int64, (None, None))
    check("paid", paid, np.int64, number.shape)
    check("which", which, np.int64, (len(number),))
    cdef double[:, :, ::1] found = check_output("out", out, (None, None, n_games))
    if n_games == 0 or not len(which):
        return
    if not (0 <= lanes.min() <= lanes.max() < number.shape[1] and 0 <= which.min() <= which.max() < out.shape[1]):
        raise KernelArgumentError("lanes, which: expected lanes and outcomes that there are")
    last = first + number.max() * step + length + (len(out) - 1) * size
    if min(first.min(), step.min(), size.min(), number.min()) < 0 or last.max() > len(values):
        raise KernelArgumentError("first, step, length, size: expected rows among the values")
    cdef const int64_t[::1] starts = first, steps = step, lows = lowest, lengths = length, sizes = size
    cdef const int64_t[::1] ahead = leads, lane_of = lanes, outcomes = which
    cdef const int64_t[:, ::1] anchors = number, points = paid
    cdef Py_ssize_t n, i, q, lane, at
    cdef int64_t lead
    with nogil:
        for n in range(outcomes.shape[0]):
            for i in range(ahead.shape[0]):
                lane = lane_of[i]
                lead = ahead[i] + points[n, lane]
                at = lead - lows[i]
                for q in range(found.shape[0]):
                    if 0 <= at < lengths[i]:
                        found[q, outcomes[n], i] = read[starts[i] + anchors[n, lane] * steps[i] + q * sizes[i] + at]
                    else:
                        found[q, outcomes[n], i] = lead > 0


cdef inline double below(double deviations) noexcept nogil:
    """The standard normal distribution function, by linear interpolation in a table."""
    cdef double at = (deviations + FARTHEST) * STEPS
    cdef Py_ssize_t i
    if not at > 0.0:
        return 0.0
    if at >= 2 * FARTHEST * STEPS:
        return 1.0
    i = <Py_ssize_t>at
    return normal[i] + (at - i) * (normal[i + 1] - normal[i])


cdef double ahead_of_all(double mean, double deviation, const double[:, ::1] theirs,
                         const double[:, ::1] their_deviations, Py_ssize_t game) noexcept nogil:
    """The probability that a normally distributed score exceeds those of all rivals, by Gauss-Hermite quadrature."""
    cdef double chance = 0.0, product, at
    cdef Py_ssize_t node, j
    for node in range(NODES):
        at = mean + deviation * nodes[node]
        product = weights[node]
        for j in range(theirs.shape[1]):
            product *= below((at - theirs[game, j]) / max(their_deviations[game, j], SMALLEST))
        chance += product
    return chance
