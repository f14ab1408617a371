"""Simulated games of several players, many at a time.

All games are at the same turn of the same player, so a player has the same number of free categories in every game.
Games in which the player to move has the same scorecard are decided together.
The dice depend on the seed alone, not on the number of threads.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.dice import N_DICE, N_FACES
from yahtzee_cluster.game.moves import Moves, compile_moves
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.progress import Report, silent

N_ROLLS = 3
TOGETHER = 512
"""The most games that are decided together, so that their data stay in a cache of the processor."""

Integers = NDArray[np.int64]
Outcomes = NDArray[np.int16]


@dataclass(frozen=True)
class Cards:
    """The scorecards of all players: [player, game]."""

    anchors: Anchors
    moves: Moves
    free: Integers
    chip: Integers
    lane: Integers
    score: Integers

    @classmethod
    def empty(cls, anchors: Anchors, moves: Moves, n_players: int, n_games: int) -> Cards:
        """Before the first turn."""
        zeros = [np.zeros((n_players, n_games), np.int64) for _ in range(3)]
        free = np.full((n_players, n_games), anchors.rules.all_free, np.int64)
        lane = anchors.lane(anchors.rules.all_free, 0)
        return cls(anchors, moves, free, zeros[0], zeros[1] + lane, zeros[2])

    def places(self, player: int, games: Integers | slice = slice(None)) -> Integers:
        """The places of a player's anchors among all anchors, in all games or in some."""
        free, chip, lane = (column[player, games] for column in (self.free, self.chip, self.lane))
        return np.asarray(self.anchors.place[free, chip] + lane)

    def fill(self, player: int, outcomes: Outcomes) -> None:
        """Fill a box of a player in every game, as the outcomes say."""
        free, chip, lane, score = (column[player] for column in (self.free, self.chip, self.lane, self.score))
        left, with_chip, to, paid = self.anchors.lead(free, chip, lane, self.moves, outcomes)
        free[:], chip[:], lane[:] = left, with_chip, to
        score += paid


@dataclass(frozen=True)
class Group:
    """Games in which the player to move has the same scorecard, in the order of its lanes."""

    player: int
    free: int
    chip: bool
    games: Integers
    lanes: Integers
    scores: Integers
    throws: NDArray[np.uint16]
    """[game, roll]: the faces of five dice, as a number to base 6."""

    def part(self, which: Integers) -> Group:
        """Some of these games."""
        columns = self.games[which], self.lanes[which], self.scores[which], self.throws[which]
        return Group(self.player, self.free, self.chip, *columns)


TurnPlayer = Callable[[Cards, Group, Outcomes], None]
"""Plays a turn of some games and fills in the outcome of each."""


class Seat(ABC):
    """A player at the table, with a policy for all games."""

    def look_up(self, cards: Cards, player: int) -> None:  # noqa: B027  # some have nothing to look up
        """Read what the next turn of all games needs."""

    @abstractmethod
    def turn_player(self, turn: Turn) -> TurnPlayer:
        """A function that plays turns in one thread, which has this `turn` for itself.

        It decides by what `look_up` read last.
        """


def final_scores(
    anchors: Anchors,
    seats: Sequence[Seat],
    n_games: int,
    seed: int | Sequence[int],
    threads: int | None = None,
    report: Report = silent,
) -> Integers:
    """The final scores of all games: [player, game]."""
    threads = threads or len(os.sched_getaffinity(0))
    moves = compile_moves(anchors.rules)
    random = np.random.default_rng(seed)
    cards = Cards.empty(anchors, moves, len(seats), n_games)
    turn_players: list[SimpleQueue[TurnPlayer]] = [SimpleQueue() for _ in seats]
    for _ in range(threads):
        turn = Turn(moves)
        for seat, queue in zip(seats, turn_players, strict=True):
            queue.put(seat.turn_player(turn))
    with ThreadPoolExecutor(threads) as pool:
        n_turns = len(anchors.rules.categories)
        for number in range(n_turns):
            for player, seat in enumerate(seats):
                report((number + player / len(seats)) / n_turns, f"turn {number + 1} of {n_turns}")
                throws = random.integers(0, N_FACES**N_DICE, (n_games, N_ROLLS), np.uint16)
                seat.look_up(cards, player)
                cards.fill(player, _outcomes(cards, player, throws, turn_players[player], pool))
    return cards.score


def _outcomes(
    cards: Cards,
    player: int,
    throws: NDArray[np.uint16],
    turn_players: SimpleQueue[TurnPlayer],
    pool: ThreadPoolExecutor,
) -> Outcomes:
    """Play a player's turn in all games; return the outcome of each."""
    places, scores, lanes = cards.places(player), cards.score[player], cards.lane[player]
    order = np.argsort(places, kind="stable")
    found = np.empty(len(order), np.int16)

    def play(first: int, last: int) -> None:
        games = order[first:last]
        free, chip = int(cards.free[player, games[0]]), bool(cards.chip[player, games[0]])
        group = Group(player, free, chip, games, lanes[games], scores[games], throws[games])
        outcomes = np.empty(len(games), np.int16)
        turn_player = turn_players.get()
        try:
            turn_player(cards, group, outcomes)
        finally:
            turn_players.put(turn_player)
        found[games] = outcomes

    cards_differ = np.flatnonzero(np.diff((places - lanes)[order])) + 1
    cuts = [0, *cards_differ.tolist(), len(order)]
    shares = [share for first, last in pairwise(cuts) for share in _cut(first, last)]
    for _ in pool.map(lambda share: play(*share), shares):
        pass
    return found


def _cut(first: int, last: int) -> list[tuple[int, int]]:
    cuts = [*range(first, last, TOGETHER), last]
    return list(pairwise(cuts))
