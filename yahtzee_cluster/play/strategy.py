"""What a strategy is: it plays simulated games, and most are evaluated exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod

from yahtzee_cluster.analysis.evaluation import Evaluation, evaluate, mean_of
from yahtzee_cluster.analysis.forward import Played, play_by_anchor
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels.policies import Decider
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable, solve_expected
from yahtzee_cluster.play.monte_carlo import Seat
from yahtzee_cluster.play.policies import ByAnchor


class Strategy(ABC):
    """A strategy for whole games."""

    words: str
    """The objective in words."""
    looks_on = False
    """Whether its decisions depend on the opponents."""

    @property
    def name(self) -> str:
        """The objective as the tables of best replies to this strategy have it in their names."""
        return self.words

    @property
    def rules(self) -> Rules | None:
        """The rules of the only game that it can play; None if it can play any."""
        return None

    @abstractmethod
    def seat(self, expected: ExpectedTable) -> Seat:
        """A player with this strategy in simulated games, given the expected scores of the game."""

    def played(self, rules: Rules) -> Played:  # noqa: ARG002
        """All games of this strategy, exactly; an error if it depends on the opponents."""
        raise UsageError(f"playing for {self.words} depends on the other players; only simulated games can evaluate it")


class ByAnchorAlone(Strategy):
    """A strategy whose decisions depend on the player's own scorecard alone, and not on the score so far."""

    @abstractmethod
    def decider(self, turn: Turn, expected: ExpectedTable) -> Decider:
        """The kernel that decides, for one thread, given the expected scores of the game."""

    def seat(self, expected: ExpectedTable) -> Seat:
        """A player who decides by the anchor alone."""
        return ByAnchor(lambda turn: self.decider(turn, expected))

    def played(self, rules: Rules) -> Played:
        """All games of this strategy, exactly."""
        expected = solve_expected(rules)
        return play_by_anchor(expected, lambda turn: self.decider(turn, expected), self.words)

    def mean(self, expected: ExpectedTable) -> float:
        """The mean of the final score, which takes a fraction of the time of all else."""
        return mean_of(self.decider(Turn(compile_moves(expected.anchors.rules)), expected), expected)

    def evaluated(self, expected: ExpectedTable) -> Evaluation:
        """All that is known of it, exactly."""
        return evaluate(expected, lambda turn: self.decider(turn, expected), self.words)
