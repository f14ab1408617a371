"""What a decision costs, beside the best move in its place."""

from __future__ import annotations

from dataclasses import dataclass, replace

from yahtzee_cluster.objectives.goals import Goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.answer import Advice
from yahtzee_cluster.play.choices import Move, tie
from yahtzee_cluster.play.consulted import Decision, decision_of
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.wording import cost_in_words


@dataclass(frozen=True)
class Judgement:
    """A decision, the best one, and what is lost."""

    made: Move
    best: Move
    loss: float
    """The difference in value, by the goal; 0 where they tie."""
    is_chance: bool

    @property
    def in_words(self) -> str:
        """The loss and the best move."""
        return f"That costs {cost_in_words(self.loss, self.is_chance)}; best was {self.best.words}."


def judge(adviser: Adviser, position: Position, goal: Goal, decision: Decision) -> Judgement:
    """Judge a legal decision; to score while rolls are left gives these up."""
    advice = now = adviser.advise(position, goal)
    if isinstance(decision, str) and position.rolls_left:
        now = adviser.advise(replace(position, rolls_left=0), goal)
    best, made = advice[0], next(one for one in now if decision_of(one.move) == decision)
    return Judgement(made.move, best.move, loss_of(made, best), is_chance=best.p is not None)


def loss_of(made: Advice, best: Advice) -> float:
    """By how much a move is worth less than the best one; 0 where they tie."""
    return 0.0 if made.value >= best.value or tie(made.value, best.value) else best.value - made.value
