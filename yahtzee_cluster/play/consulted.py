"""What a strategy would do in a position, to be set beside the best move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.dice import KEEPS, ROLLS, Keep
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.kernels.policies import Decider
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.goals import WIN, Goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.answer import Advice, Said
from yahtzee_cluster.play.choices import Move
from yahtzee_cluster.play.position import START_OF_TURN, Position
from yahtzee_cluster.play.strategies import OfGoal, OfTable, Perfect, common_rules, parse_strategy
from yahtzee_cluster.play.strategy import ByAnchorAlone, Strategy

Decision = Keep | str
"""The dice to keep, or the box to fill."""


class Consulted:
    """A strategy that is asked for its moves in the game of an adviser."""

    def __init__(self, strategy: Strategy | str, adviser: Adviser) -> None:
        self.strategy = parse_strategy(strategy) if isinstance(strategy, str) else strategy
        self._adviser = adviser
        common_rules([self.strategy], adviser.rules)

    @property
    def words(self) -> str:
        """What the strategy is called."""
        return self.strategy.words

    def said(self, position: Position, moves: Sequence[Advice]) -> Said | None:
        """Its move among those of a position, and what it costs there; None before the first roll of a turn."""
        if position.roll is None or not moves:
            return None
        decision = self.decide(position)
        found = next(one for one in moves if decision_of(one.move) == decision)
        return Said(self.words, found.move, found.cost)

    @cached_property
    def decide(self) -> Callable[[Position], Decision]:
        """What it does in a position with dice on the table."""
        strategy, adviser = self.strategy, self._adviser
        if isinstance(strategy, ByAnchorAlone):
            return self._by_anchor(strategy.decider(Turn(compile_moves(adviser.rules)), adviser.expected))
        if isinstance(strategy, OfGoal):
            return lambda position: decision_of(adviser.advise(position, strategy.goal)[0].move)
        if isinstance(strategy, OfTable | Perfect):
            goal = WIN if isinstance(strategy, Perfect) else Goal("reach", strategy.target) if strategy.target else None
            by_table = Adviser(adviser.rules, strategy.table)
            return lambda position: decision_of(by_table.advise(position, goal)[0].move)
        return self._by_the_rule

    def _by_the_rule(self, position: Position) -> Decision:
        if not position.others:
            raise UsageError(f"strategy: {self.words} depends on the other players; name them with --other")
        return decision_of(self._adviser.by_the_rule(position))

    def _by_anchor(self, decider: Decider) -> Callable[[Position], Decision]:
        anchors = self._adviser.anchors
        names = [category.name for category in anchors.rules.categories]

        def decide(position: Position) -> Decision:
            assert position.dice
            anchor, stage = position.anchor, START_OF_TURN - 1 - position.rolls_left
            lane = anchors.reachable(anchor) - anchors.place[anchor.free, int(anchor.chip)]
            decided = decider.decisions(anchor.free, anchor.chip)[stage, ROLLS.index(position.dice), lane]
            return KEEPS[decided] if stage < 2 else names[decided]

        return decide


def decision_of(move: Move) -> Decision:
    """What a move decides, whatever its words."""
    return move.category if move.category is not None else move.keep or ()
