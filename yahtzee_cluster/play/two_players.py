"""Advice against one other player, when both play perfectly: by a table of two players, whole or from here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.possible_scores import check_score
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.objectives.expected import ExpectedTable
from yahtzee_cluster.objectives.race import Begun, ByLead
from yahtzee_cluster.play.advice import Aim, Figures, Position, Worth
from yahtzee_cluster.tables.race import RaceTable


@dataclass(frozen=True)
class Opponent:
    """The scorecard of the other player, and the score on it."""

    anchor: Anchor
    score: int


@dataclass(frozen=True)
class Chances:
    """The probabilities with which a game ends, for the player to move."""

    win: float
    tie: float
    loss: float


def race_from(position: Position, opponent: Opponent) -> Begun:
    """Where a race begins in which the player of a position is to move.

    That player is the first one if both have equally many free boxes, and the second one with one more.
    """
    ahead = position.score - opponent.score
    if _moves_first(position, opponent):
        return Begun(position.anchor, opponent.anchor, ahead)
    return Begun(opponent.anchor, position.anchor, -ahead)


def _moves_first(position: Position, opponent: Opponent) -> bool:
    mine, theirs = position.anchor.free.bit_count(), opponent.anchor.free.bit_count()
    if mine not in (theirs, theirs + 1):
        raise UsageError(
            f"two players who take turns: whoever is to move has as many free boxes, or one more; found {mine}, and "
            f"{theirs} of the other player"
        )
    return mine == theirs


class ToWin(Aim):
    """A higher final score than that of another player who plays perfectly; a tie counts half.

    Criteria are the value of the first player, or its negative when the second is to move; the first player's
    probability of a win likewise, if the table has it; and the points still to come, which decide where nothing else
    does, as in a game that is won already.
    """

    def __init__(self, expected: ExpectedTable, position: Position, opponent: Opponent, table: RaceTable) -> None:
        super().__init__(expected, position.score)
        self.n_criteria = table.quantities + 1
        self._ahead = position.score - opponent.score
        self._sign = 1 if _moves_first(position, opponent) else -1
        for anchor, score in ((position.anchor, position.score), (opponent.anchor, opponent.score)):
            check_score(expected.anchors, anchor, score)
        begun = race_from(position, opponent)
        table.problem.check_lead(begun.one, begun.two, begun.lead)

        @cache
        def by_lead(place: int) -> ByLead:
            """The values after a play that leads to a place, by the lead of the first player."""
            after = expected.anchors.anchor(place)
            return table.by_lead(*(after, opponent.anchor)[:: self._sign])

        self._by_lead = by_lead

    def worth(self, after: Anchor, points: int) -> Worth:
        """The values of the first player, or their negatives, and the mean of the points to come."""
        row = self._by_lead(self.expected.anchors.index(after))
        values = row[self._sign * (self._ahead + points)]
        return *(self._sign * value for value in values), self.moments(after, points)[0]

    def figures(self, worth: Worth) -> Figures:
        """The probability of a win, a tie counted half."""
        return {"p": worth[0] if self._sign > 0 else 1 + worth[0]}

    def chances(self, worth: Worth) -> Chances | None:
        """The probabilities of a win, a tie and a loss, if the table tells wins and ties apart."""
        if self.n_criteria < 3:
            return None
        value, win = self._sign * worth[0], self._sign * worth[1]
        tie = max(0.0, 2 * (value - win))
        loss = max(0.0, 1 - win - tie)
        return Chances(*(win, tie, loss)[:: self._sign])
