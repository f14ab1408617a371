"""Tables of two players: the first player's value of every state."""

from __future__ import annotations

from collections.abc import Sequence

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.objectives.race import Begun, ByLead, Race
from yahtzee_cluster.tables.table import Table


class RaceTable(Table):
    """The value of every state, and in some tables the probability that the first player wins outright."""

    problem: Race
    n_players = 2
    number = "lead"
    gives_advice = False

    def refusal(self, reason: str) -> UsageError:  # noqa: ARG002
        """The error for a question to tables of one player."""
        return UsageError(f"{self.named}: holds the table of two players, which `value` can be asked for")

    @property
    def quantities(self) -> int:
        """One, or two where wins stand apart from ties."""
        return self.problem.quantities

    def by_lead(self, one: Anchor, two: Anchor) -> ByLead:
        """All quantities at two anchors, by the lead of the first player."""
        row = self.problem.row(one, two)
        cls, start = self.entries.partition.class_of(row.subset), self.entries.start(row.subset)
        found = self.problem.by_lead(row, lambda first, last: self.entries.row(cls, start + first, start + last))
        if not self.problem.possible(found.values):
            raise self.entries.impossible(cls)
        return found

    def values(self, one: Anchor, two: Anchor, lead: int) -> tuple[float, ...]:
        """All quantities of a state that some game comes to, given the lead of the first player."""
        self.problem.row(one, two)  # refuses cards that do not belong together before the lead is looked at
        self.problem.check_lead(one, two, lead)
        return self.by_lead(one, two)[lead]

    def opening(self) -> tuple[float, ...]:
        """All quantities of the state before the first turn."""
        begun = self.problem.begun or Begun(self.start, self.start)
        return self.values(begun.one, begun.two, begun.lead)

    def block(self, cls: ClassId) -> Block:
        """All values of a class; values that are no probabilities are refused."""
        block = self.entries.block(cls)
        if not self.problem.possible(block.values):
            raise self.entries.impossible(cls)
        return block

    def state(self, cards: Sequence[Anchor], number: int = 0) -> dict[str, float]:
        """The value, and the probability of a win if the table has it."""
        return dict(zip(("value", "win"), self.values(cards[0], cards[1], number), strict=False))

    def headline(self) -> list[str]:
        """The value of a game, and the probabilities of a win, a tie and a loss if the table tells them."""
        value, *wins = self.opening()
        lines = [f"value      {value:.9f} for the first player, a tie counted half"]
        for win in wins:
            tie = 2 * (value - win)
            lines += [
                f"win        {100 * win:.6f} %",
                f"tie        {100 * tie:.6f} %",
                f"loss       {100 * (1 - win - tie):.6f} %",
            ]
        return lines
