"""Positions to practise, drawn where people go wrong, the answers to them, and the score of a test.

A drawn position comes about like this: one of the strategies that stand for people, each equally likely, plays a game;
one of the turns of that game and one of its three decisions are drawn, all equally likely; and the position is taken
with a probability that is the share of those strategies whose move there is not the best one by the goal. If it is not
taken, or was taken before, the next game is played. So a position is drawn in proportion to how often it occurs, times
how often people go wrong there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from yahtzee_cluster.analysis.comparison import STAGES
from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.fields import Fields, is_integer
from yahtzee_cluster.game.dice import FACES, Keep
from yahtzee_cluster.game.notation import five_dice, parse_move
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.game.scorecard import Scorecard, legal_play
from yahtzee_cluster.objectives.goals import MEAN, Goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.consulted import Consulted, Decision
from yahtzee_cluster.play.judgement import Judgement, judge
from yahtzee_cluster.play.position import START_OF_TURN, Position
from yahtzee_cluster.play.review import decisions_of
from yahtzee_cluster.play.self_play import played_by
from yahtzee_cluster.play.strategy_files import Described, adapted, strategies_for
from yahtzee_cluster.text import shown

IN_ANY_GAME = "greedy", "ecker-additive"
BY_RULES = "glenn-rules", "all-by-rules"
"""Strategies that stand for people: two that can play any game, and two by rules for boxes that only some games have.

In Yahtzee they lose 37, 18, 29 and 13 points a game.
"""
MOST = 500
"""The most positions that are drawn at a time."""
PATIENCE = 1000
"""After so many games in a row that bring no new position, no further ones are played."""
SEEDS = 2**32
COSTLIEST = 5
"""Mistakes that a score lists."""


@dataclass(frozen=True)
class Exercise:
    """A scorecard and dice, for which a move is asked."""

    card: Scorecard
    dice: Keep
    rolls_left: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dice", five_dice(self.dice))
        if not self.position.anchor.free:
            raise UsageError("card: expected a free box")

    @property
    def position(self) -> Position:
        """The position."""
        return Position.of(self.card, self.dice, self.rolls_left)

    @property
    def kind(self) -> str:
        """The kind of decision."""
        return STAGES[START_OF_TURN - 1 - self.rolls_left]

    def to_dict(self) -> dict[str, Any]:
        """The exercise, ready for JSON."""
        return {"card": self.card.as_dict(), "dice": [*self.dice], "rolls_left": self.rolls_left}

    @classmethod
    def from_dict(cls, table: object, rules: Rules, source: str = "exercise") -> Self:
        """Read what `to_dict` writes; `source` names it in error messages."""
        if not isinstance(table, dict):
            raise FileError(source, f"expected an object with card, dice and rolls_left, found {shown(table)}")
        fields = Fields(table, source, ("card", "dice", "rolls_left"))
        if not isinstance(card := table.get("card"), dict):
            raise fields.error("card", "expected points by the names of boxes", card)
        left = fields.integer("rolls_left", None, 0, START_OF_TURN - 1)
        if left is None:
            raise fields.error("rolls_left", f"expected a whole number from 0 to {START_OF_TURN - 1}", left)
        try:
            return cls(Scorecard.of(rules, card), fields.integers("dice", FACES[0], FACES[-1]), left)
        except UsageError as error:
            raise FileError(source, str(error)) from None


@dataclass(frozen=True)
class Answered:
    """An exercise with the move that was made, and what that costs."""

    exercise: Exercise
    judgement: Judgement

    @property
    def loss(self) -> float:
        """What the move costs by the goal; 0 for all that tie with the best one."""
        return self.judgement.loss

    @property
    def is_right(self) -> bool:
        """Whether no move is better."""
        return not self.loss

    def to_dict(self) -> dict[str, Any]:
        """The answer, ready for JSON."""
        judged = self.judgement
        told = {"made": judged.made.words, "best": judged.best.words, "loss": self.loss, "right": self.is_right}
        return self.exercise.to_dict() | {"kind": self.exercise.kind} | told


def judged(adviser: Adviser, goal: Goal, exercise: Exercise, text: str) -> Answered:
    """Judge a move as it is typed: `k 2 2 2`, `keep all`, `fh`; one that is not legal is refused.

    A box while rolls are left means that the dice are scored at once.
    """
    move: Keep | int = parse_move(text, exercise.dice, adviser.rules)
    decision: Decision
    if isinstance(move, int):
        legal_play(adviser.rules, exercise.card.anchor, exercise.dice, move)
        decision = adviser.rules.categories[move].name
    elif not exercise.rolls_left:
        raise UsageError("no roll is left: say where to score the dice")
    else:
        decision = move
    return Answered(exercise, judge(adviser, exercise.position, goal, decision))


# ---------------------------------------------------------------------------------------------------- drawing


def draw(adviser: Adviser, goal: Goal, n: int, seed: int, known: Collection[Exercise] = ()) -> tuple[Exercise, ...]:
    """So many positions to practise, no two alike and none of the known ones; the same seed draws the same.

    There are fewer if people go wrong in so few positions that many games in a row bring no new one.
    """
    if not is_integer(n, 1, MOST):
        raise UsageError(f"count: expected a whole number from 1 to {MOST}, found {shown(n)}")
    seen, in_vain = {one.position for one in known}, 0
    found: list[Exercise] = []
    games = taken(adviser, goal, people(adviser), np.random.default_rng(seed))
    while len(found) < n and in_vain < PATIENCE:
        exercise = next(games)
        in_vain += 1
        if exercise is not None and exercise.position not in seen:
            seen.add(exercise.position)
            found.append(exercise)
            in_vain = 0
    return tuple(found)


def taken(
    adviser: Adviser, goal: Goal, asked: Sequence[Consulted], random: np.random.Generator
) -> Iterator[Exercise | None]:
    """For one game after another, the position that is drawn from it; None if it is not taken."""
    adviser.advise(Position.of(Scorecard.of(adviser.rules, {})), goal)  # solves what all positions need
    while True:
        exercise = _met(asked[int(random.integers(len(asked)))], adviser, random)
        yield exercise if random.random() < share_wrong(adviser, goal, exercise, asked) else None


def people(adviser: Adviser) -> list[Consulted]:
    """The strategies that stand for people in a game."""
    return [Consulted(one, adviser) for one in _people(adviser.rules)]


def share_wrong(adviser: Adviser, goal: Goal, exercise: Exercise, asked: Sequence[Consulted]) -> float:
    """The share of some strategies whose move is not the best one."""
    answers = _answers(adviser, goal, exercise, asked)
    return sum(not answer.is_right for answer in answers) / len(answers)


def _people(rules: Rules) -> list[Described]:
    by_rules = [one for one in strategies_for(rules) if one.title in BY_RULES]
    return [*(adapted(name, rules) for name in IN_ANY_GAME), *by_rules]


def _met(player: Consulted, adviser: Adviser, random: np.random.Generator) -> Exercise:
    """A decision of a game, all equally likely; every turn has three, for to score early is to keep all dice."""
    record = played_by(player, adviser, int(random.integers(SEEDS)))
    at, stage = int(random.integers(len(record.turns))), int(random.integers(len(STAGES)))
    box = adviser.rules.categories[record.turns[at].box].name
    dice = next(dice for one, dice, *_ in decisions_of(record.turns[at], box) if one == stage)
    return Exercise(record.cards[at], dice, START_OF_TURN - 1 - stage)


def _answers(adviser: Adviser, goal: Goal, exercise: Exercise, asked: Sequence[Consulted]) -> list[Answered]:
    """The moves of some strategies."""
    position = exercise.position
    moves = adviser.advise(position, goal)
    best, found = moves[0], []
    for one in asked:
        said = one.said(position, moves)
        assert said
        found.append(Answered(exercise, Judgement(said.move, best.move, said.cost, is_chance=best.p is not None)))
    return found


# ------------------------------------------------------------------------------------------------------ marks


@dataclass(frozen=True)
class Marks:
    """The score of some answers."""

    answers: tuple[Answered, ...]

    @property
    def n_right(self) -> int:
        """How many are right."""
        return sum(answer.is_right for answer in self.answers)

    @property
    def loss(self) -> float:
        """The mean loss of a position, by the goal; there must be an answer."""
        return sum(answer.loss for answer in self.answers) / len(self.answers)

    @property
    def by_kind(self) -> dict[str, Marks]:
        """The score by the kind of decision, of those kinds that were asked."""
        kinds = {kind: tuple(one for one in self.answers if one.exercise.kind == kind) for kind in STAGES}
        return {kind: Marks(answers) for kind, answers in kinds.items() if answers}

    @property
    def costliest(self) -> list[Answered]:
        """The mistakes that cost most."""
        return sorted((one for one in self.answers if not one.is_right), key=lambda one: -one.loss)[:COSTLIEST]

    def to_dict(self) -> dict[str, Any]:
        """The score, ready for JSON."""
        kinds = {kind: _figures(marks) for kind, marks in self.by_kind.items()}
        return _figures(self) | {"by_kind": kinds, "costliest": [answer.to_dict() for answer in self.costliest]}


def _figures(marks: Marks) -> dict[str, Any]:
    n = len(marks.answers)
    return {"positions": n, "right": marks.n_right, "loss": marks.loss if n else None}


@dataclass(frozen=True)
class Rated:
    """What a named strategy scores on some exercises."""

    name: str
    marks: Marks
    in_a_game: float | None
    """What it loses in a whole game, exactly; None for other goals than the mean."""

    def to_dict(self) -> dict[str, Any]:
        """The score of the strategy, ready for JSON."""
        return {"name": self.name, **_figures(self.marks), "loss_in_a_game": self.in_a_game}


def rated(adviser: Adviser, goal: Goal, exercises: Sequence[Exercise]) -> list[Rated]:
    """What the named strategies of a game score on some exercises, the best first."""
    known = strategies_for(adviser.rules)
    known += [one for one in _people(adviser.rules) if one.title not in {other.title for other in known}]
    asked = [Consulted(one, adviser) for one in known]
    answers = [_answers(adviser, goal, exercise, asked) for exercise in exercises]
    found = [
        Rated(one.title, Marks(marks), _lost_in_a_game(one, adviser) if goal == MEAN else None)
        for one, marks in zip(known, zip(*answers, strict=True), strict=True)
    ]
    return sorted(found, key=lambda one: one.marks.loss)


def _lost_in_a_game(strategy: Described, adviser: Adviser) -> float:
    expected = adviser.expected
    mean = strategy.mean(expected) if strategy.recorded is None else strategy.recorded
    return float(expected.mean[expected.start]) - mean
