"""Advice against one other player, when both play perfectly: by a table of two players, whole or from here."""

from __future__ import annotations

from functools import cache

import numpy as np

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.possible_scores import check_score
from yahtzee_cluster.game.rest import to_whole
from yahtzee_cluster.objectives.race import Begun, ByLead
from yahtzee_cluster.play.aims import Aim, Figures
from yahtzee_cluster.play.answer import Chances
from yahtzee_cluster.play.choices import After, Choices, Values
from yahtzee_cluster.play.position import Position, Standing
from yahtzee_cluster.tables.race import RaceTable


def race_from(position: Position, opponent: Standing) -> Begun:
    """Where the race begins in which the player of a position is to move.

    That player is the first if both have equally many free boxes, and the second with one more.
    """
    mine, theirs = position.anchor.free.bit_count(), opponent.anchor.free.bit_count()
    if mine not in (theirs, theirs + 1):
        raise UsageError(
            f"two players who take turns: whoever is to move has as many free boxes as the other, or one more; found "
            f"{mine}, and {theirs} of the other player"
        )
    ahead = position.score - opponent.score
    if mine == theirs:
        return Begun(position.anchor, opponent.anchor, ahead)
    return Begun(opponent.anchor, position.anchor, -ahead)


class ToWin(Aim):
    """A higher final score than that of another player who plays perfectly; a tie counts half.

    The criteria are the value of the first player, then the probability that the first player wins, if the table has
    it; both are negated if the second player is to move. Where nothing else does, as in a game that is won already, the
    points to come decide.
    """

    def __init__(
        self, choices: Choices, position: Position, opponent: Standing, table: RaceTable, source: str = "table"
    ) -> None:
        super().__init__(choices, position.score, source)
        if table.rules.table != (choices.rules.whole or choices.rules).table:
            raise UsageError(f"{table.path}: holds another game")
        for anchor, score in ((position.anchor, position.score), (opponent.anchor, opponent.score)):
            check_score(table.anchors, anchor, score)
        begun = race_from(position, opponent)
        table.problem.check_lead(begun.one, begun.two, begun.lead)
        self._lead, self._sign = begun.lead, 1 if begun.two == opponent.anchor else -1
        self._knows_wins = table.quantities > 1

        @cache
        def by_lead(place: int) -> ByLead:
            """The values after a play that leads to a place, by the lead of the first player."""
            mine = to_whole(choices.rules, choices.anchors.anchor(place))
            return table.by_lead(*(mine, opponent.anchor)[:: self._sign])

        self._by_lead = by_lead

    def values(self, after: After) -> Values:
        """The values of the first player, or their negatives, and the mean of the points to come."""
        leads = self._lead + self._sign * after.points
        found = [self._by_lead(place)[lead] for place, lead in zip(after.places.tolist(), leads.tolist(), strict=True)]
        return np.concatenate([self._sign * np.array(found).T, self.moments(after)[:1]])

    def figures(self, worth: list[float]) -> Figures:
        """The probability of a win, a tie counted half, and those of a win, a tie and a loss if the table has them."""
        found: Figures = {"p": worth[0] if self._sign > 0 else 1 + worth[0]}
        chances = self.chances(worth)
        return found | {"chances": chances} if chances else found

    def chances(self, worth: list[float]) -> Chances | None:
        """The probabilities of a win, a tie and a loss, if the table tells wins and ties apart."""
        if not self._knows_wins:
            return None
        value, win = self._sign * worth[0], self._sign * worth[1]
        tie = max(0.0, 2 * (value - win))
        return Chances(*(win, tie, max(0.0, 1 - win - tie))[:: self._sign])
