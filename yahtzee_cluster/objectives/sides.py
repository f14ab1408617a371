"""The two sides of a race: the game that a player has still to play, and what bounds the leads there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.anchors import Anchors, most_scored
from yahtzee_cluster.game.moves import Moves, compile_moves
from yahtzee_cluster.game.rest import rest_or_end
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels import race, uppers
from yahtzee_cluster.kernels.turn import Turn

Integers = NDArray[np.int64]
Bounds = NDArray[np.int32]

REMEMBERED = 4
"""From turn to turn of a game, one of its two sides stays the same."""


@dataclass(frozen=True, eq=False)
class Side:
    """The anchors of one player that have rows. They are numbered in the order of their places."""

    moves: Moves
    anchors: Anchors
    places: Integers
    """[number]: the place of an anchor."""
    most: Bounds
    """[number]: the most that can still be scored."""
    least: Bounds
    """[number]: the least that can have been scored since the race began."""
    scored: Bounds
    """[number]: the most that can have been scored since the race began."""

    @classmethod
    def of_whole_game(cls, moves: Moves, anchors: Anchors, turn: Turn) -> Side:
        """All anchors of a game, with the same bounds for all those with the same free categories.

        With tighter bounds, the tables of games with an upper bonus or extra bonuses would have other bytes than those
        on disk. With an upper bonus, `scored` is the most of a whole game: some entries then stand for states that no
        game reaches, because the score includes the bonus and the anchor can still win it. Plays from these could lead
        out of rows that end at the possible scores; with the higher bound, every undecided lead has an entry.
        """
        starts = anchors.place[:, 0]
        n_alike = np.diff(np.append(starts, anchors.n_places))
        most = np.repeat(np.maximum.reduceat(_most(turn, anchors), starts), n_alike)
        scored = np.full_like(most, most[-1])
        if not anchors.bonus:
            scored = np.repeat(np.maximum.reduceat(most_scored(anchors, moves), starts), n_alike).astype(np.int32)
        return cls(moves, anchors, np.arange(anchors.n_places), most, np.zeros_like(most), scored)

    @classmethod
    @lru_cache(maxsize=REMEMBERED)
    def of_rest(cls, rules: Rules, anchor: Anchor, isa: str | None) -> Side:
        """The anchors that play comes to from one of a game, each with its own bounds; the last ones are remembered."""
        anchors = Anchors(rest_or_end(rules, anchor))
        moves = compile_moves(anchors.rules)
        if not anchor.free:
            nothing = np.zeros(1, np.int32)
            return cls(moves, anchors, np.zeros(1, np.int64), nothing, nothing, nothing)
        turn = Turn(moves, isa)
        least, scored = race.reach(turn, anchors, anchors.index(Anchor(anchors.rules.all_free, 0)))
        places = np.flatnonzero(scored >= 0)
        return cls(moves, anchors, places, _most(turn, anchors)[places], least[places], scored[places])

    def for_kernel(self, isa: str | None) -> race.Side:
        """The same for the kernel, with a turn of its own."""
        turn = Turn(self.moves, isa) if self.n_categories else None
        return race.Side(turn, self.anchors, self.places, self.most, self.least, self.scored)

    @property
    def rules(self) -> Rules:
        """The game that is still to play; without categories for a player who has finished."""
        return self.anchors.rules

    @property
    def n_categories(self) -> int:
        """The number of its categories."""
        return len(self.rules.categories)

    @cached_property
    def first(self) -> Integers:
        """[free]: the number of the first anchor with these free categories; the last entry is that of all anchors."""
        return np.searchsorted(self.places, np.append(self.anchors.place[:, 0], self.anchors.n_places))

    def numbers(self, free: int) -> Integers:
        """The numbers of all anchors with these free categories."""
        return np.arange(self.first[free], self.first[free + 1])

    def number(self, anchor: Anchor) -> int:
        """The number of an anchor."""
        place = self.anchors.index(anchor)
        number = int(np.searchsorted(self.places, place))
        if number == len(self.places) or self.places[number] != place:
            raise UsageError("the scorecard is none that play can lead to from the one where this race begins")
        return number

    def anchor(self, number: int) -> Anchor:
        """The anchor with a number."""
        return self.anchors.anchor(int(self.places[number]))


def _most(turn: Turn, anchors: Anchors) -> Bounds:
    """[place]: the most that can still be scored."""
    most = np.empty(anchors.n_places)
    uppers.most(turn, anchors, most)
    return most.astype(np.int32)
