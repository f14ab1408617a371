"""The review of a game: what every roll was worth in luck, and what every decision cost.

The value of a position is what best play brings from there on, by the goal. A roll changes it by luck, a decision can
only lower it, so that over a game

    value at the start + luck of all rolls - loss of all decisions + what is not known = value at the end.

Where a record does not tell what was kept, or which rolls came before, luck and loss cannot be told apart: their
difference is what is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from yahtzee_cluster.analysis.comparison import STAGES
from yahtzee_cluster.game.dice import Keep
from yahtzee_cluster.game.notation import listed
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.game.scorecard import Scorecard
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.objectives.goals import MEAN, Goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.answer import Advice
from yahtzee_cluster.play.choices import Move
from yahtzee_cluster.play.consulted import Decision, decision_of
from yahtzee_cluster.play.judgement import loss_of
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.record import MOST_ROLLS, Record, Turn
from yahtzee_cluster.play.strategy_files import strategies_for

COSTLIEST = 10
"""The most decisions that are listed as positions to practise."""


@dataclass(frozen=True)
class Decided:
    """A decision, with the best one in its place."""

    turn: int
    stage: int
    """0 the first keep, 1 the second, 2 the box."""
    position: Position
    made: Move
    best: Move
    loss: float
    forced: bool
    """Whether there was no choice."""

    @property
    def words(self) -> str:
        """The decision in a line."""
        left = self.position.rolls_left
        dice = listed(self.position.dice or ())
        rolls = f"{left or 'no'} roll{'s' * (left != 1)} left"
        return f"{self.loss:>9.4f}  turn {self.turn}, {dice}, {rolls}: {self.made.words}; best was {self.best.words}"

    def to_dict(self) -> dict[str, Any]:
        """The decision, ready for JSON."""
        assert self.position.card
        return {
            "turn": self.turn,
            "kind": STAGES[self.stage],
            "card": self.position.card.as_dict(),
            "dice": self.position.roll,
            "rolls_left": self.position.rolls_left,
            "made": self.made.words,
            "best": self.best.words,
            "loss": self.loss,
            "forced": self.forced,
        }


@dataclass(frozen=True)
class Thrown:
    """A roll, with its luck: by how much it raised the value."""

    turn: int
    number: int
    dice: Keep
    luck: float

    def to_dict(self) -> dict[str, Any]:
        """The roll, ready for JSON."""
        return {"turn": self.turn, "roll": self.number, "dice": self.dice, "luck": self.luck}


@dataclass(frozen=True)
class Review:
    """What luck and decisions made of a game."""

    record: Record
    goal: Goal
    start: float
    """The value before the first turn."""
    result: float
    """The value after the last turn of the record: by the mean, the final score of a finished game."""
    rolls: tuple[Thrown, ...]
    decisions: tuple[Decided, ...]
    unknown: float
    """Luck less loss where they cannot be told apart."""

    @cached_property
    def luck(self) -> float:
        """The luck of all rolls."""
        return sum(roll.luck for roll in self.rolls)

    @cached_property
    def loss(self) -> float:
        """What all decisions cost."""
        return sum(decision.loss for decision in self.decisions)

    @property
    def figures(self) -> dict[str, float]:
        """What explains the result, by name."""
        figures = {"start": self.start, "luck": self.luck, "loss": self.loss}
        if self.unknown:
            figures["luck less loss"] = self.unknown
        return figures | {"result": self.result, "without luck": self.result - self.luck}

    @property
    def is_rated(self) -> bool:
        """Whether its loss is that of a whole game for the mean, of which everything is known."""
        first, *_, last = self.record.cards
        is_whole = first.anchor.free == self.record.rules.all_free and not last.anchor.free
        return is_whole and self.goal == MEAN and not self.unknown

    @property
    def choices(self) -> list[Decided]:
        """The decisions that were not forced."""
        return [decision for decision in self.decisions if not decision.forced]

    @property
    def by_kind(self) -> dict[str, float]:
        """The loss by the kind of decision."""
        return {
            name: sum(one.loss for one in self.decisions if one.stage == stage) for stage, name in enumerate(STAGES)
        }

    @property
    def by_box(self) -> dict[str, float]:
        """The loss in the turns that filled each box."""
        boxes = [self.record.rules.categories[turn.box].name for turn in self.record.turns]
        return {
            box: sum(one.loss for one in self.decisions if one.turn == number)
            for number, box in enumerate(boxes, self.record.first_turn)
        }

    @property
    def costliest(self) -> list[Decided]:
        """The decisions that cost most."""
        return sorted((one for one in self.decisions if one.loss > 0), key=lambda one: -one.loss)[:COSTLIEST]

    def to_dict(self) -> dict[str, Any]:
        """The review, ready for JSON."""
        return {
            "rules": self.record.rules.name,
            "goal": str(self.goal),
            "start": self.start,
            "luck": self.luck,
            "loss": self.loss,
            "unknown": self.unknown,
            "result": self.result,
            "luck_adjusted": self.result - self.luck,
            "score": self.record.cards[-1].score,
            "loss_per_choice": self.loss / len(self.choices) if self.choices else None,
            "by_kind": self.by_kind,
            "by_box": self.by_box,
            "rolls": [roll.to_dict() for roll in self.rolls],
            "decisions": [decision.to_dict() for decision in self.decisions],
            "costliest": [decision.to_dict() for decision in self.costliest],
        }


def in_figures(figures: Mapping[str, float]) -> list[str]:
    """A line for each figure."""
    return [f"{name:15} {value:10.4f}" for name, value in figures.items()]


def level(loss: float, rules: Rules) -> tuple[str | None, str | None]:
    """The named strategies of a game that lose just less and just more in a game than this; None beyond the last."""
    best = solve_expected(rules)
    exact = float(best.mean[best.start])
    losses = sorted((exact - one.recorded, one.title) for one in strategies_for(rules) if one.recorded)
    less = [name for lost, name in losses if lost <= loss]
    more = [name for lost, name in losses if lost > loss]
    return less[-1] if less else None, more[0] if more else None


def review(record: Record, adviser: Adviser, goal: Goal) -> Review:
    """Review a game by a goal."""
    cards = record.cards
    start = adviser.answer(Position.of(cards[0]), goal).value
    account = _Account(adviser, goal, start)
    for number, (turn, before, after) in enumerate(
        zip(record.turns, cards, cards[1:], strict=False), record.first_turn
    ):
        account.turn(number, turn, before)
        account.arrive(after)
    return Review(record, goal, start, account.value, tuple(account.rolls), tuple(account.decisions), account.unknown)


class _Account:
    """Follows the value through a game."""

    def __init__(self, adviser: Adviser, goal: Goal, start: float) -> None:
        self._adviser, self._goal = adviser, goal
        self.value = start
        self.unknown = 0.0
        self.rolls: list[Thrown] = []
        self.decisions: list[Decided] = []
        self._is_sure = True
        """Whether `value` is that of what was decided last, and the next change of it is luck alone."""

    def turn(self, number: int, turn: Turn, card: Scorecard) -> None:
        """Follow the rolls and decisions of a turn."""
        self._is_sure = self._is_sure and turn.is_whole
        for stage, dice, decision, is_thrown in decisions_of(turn, card.rules.categories[turn.box].name):
            position = Position.of(card, dice, MOST_ROLLS - 1 - stage)
            moves = self._adviser.advise(position, self._goal)
            best = moves[0]
            if not is_thrown:
                pass  # the same dice, once more
            elif self._is_sure:
                self.rolls.append(Thrown(number, stage + 1, dice, best.value - self.value))
            else:
                self.unknown += best.value - self.value
            self.value, self._is_sure = best.value, decision is not None
            if decision is not None:
                made = _made(moves, decision)
                loss = loss_of(made, best)
                forced = len(moves) == 1
                self.decisions.append(Decided(number, stage, position, made.move, best.move, loss, forced))
                self.value -= loss

    def arrive(self, card: Scorecard) -> None:
        """Take the value of the scorecard after a turn."""
        value = self._adviser.answer(Position.of(card), self._goal).value
        if not self._is_sure:
            self.unknown += value - self.value
        self.value, self._is_sure = value, True


def decisions_of(turn: Turn, box: str) -> Iterator[tuple[int, Keep, Decision | None, bool]]:
    """The stage, the dice, the decision, and whether the dice were thrown; to score early is to keep all of them."""
    last = len(turn.rolls) - 1
    for at, roll in enumerate(turn.rolls):
        stage = turn.first_stage + at
        if at < last:
            yield stage, roll.dice, roll.kept, True
            continue
        for early in range(stage, MOST_ROLLS - 1):
            yield early, roll.dice, roll.dice, early == stage
        yield MOST_ROLLS - 1, roll.dice, box, stage == MOST_ROLLS - 1


def _made(moves: Sequence[Advice], decision: Decision) -> Advice:
    return next(one for one in moves if decision_of(one.move) == decision)
