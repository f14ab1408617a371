"""A deck of positions that come again after growing intervals as long as they are answered right."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.fields import Fields, read_text
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.objectives.goals import Goal, parse_goal
from yahtzee_cluster.output import write_file
from yahtzee_cluster.play.practice import Exercise
from yahtzee_cluster.text import shown

MINUTE_S, DAY_S = 60, 24 * 3600
INTERVALS_S = 10 * MINUTE_S, DAY_S, 3 * DAY_S, 7 * DAY_S, 21 * DAY_S, 60 * DAY_S, 180 * DAY_S
"""How long an exercise rests after the first right answer in a row, after the second, and so on."""
MOST_EXERCISES = 1000
MAX_BYTES = 10_000_000
"""More than a deck takes with the longest names of boxes."""
LATEST_S = 1e11
"""Times are seconds since 1970, up to this one."""


@dataclass(frozen=True)
class Scheduled:
    """An exercise of a deck."""

    exercise: Exercise
    box: int
    """How often in a row it has been answered right, as far as that makes a difference."""
    due_s: float
    """When it is to be asked, in seconds since 1970."""


@dataclass(frozen=True)
class Deck:
    """Exercises of one game and one goal, in boxes as Leitner has them: a right answer moves one to the next box.

    A wrong answer moves it back to the first one, and it is due at once, after the others.
    """

    rules: Rules
    goal: Goal
    scheduled: tuple[Scheduled, ...] = ()

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """All exercises."""
        return tuple(one.exercise for one in self.scheduled)

    def due(self, now_s: float) -> tuple[Exercise, ...]:
        """The exercises that are due, those that have waited longest first."""
        waiting = sorted(self.scheduled, key=lambda one: one.due_s)
        return tuple(one.exercise for one in waiting if one.due_s <= now_s)

    def next_due_s(self) -> float | None:
        """When the next exercise is due; None in an empty deck."""
        return min((one.due_s for one in self.scheduled), default=None)

    def answered(self, exercise: Exercise, is_right: bool, now_s: float) -> Deck:
        """The deck after an answer."""
        asked = next((one for one in self.scheduled if one.exercise == exercise), None)
        if asked is None:
            raise UsageError("deck: this position is not in it")
        box = min(asked.box + 1, len(INTERVALS_S)) if is_right else 0
        then = Scheduled(exercise, box, now_s + INTERVALS_S[box - 1] if is_right else now_s)
        return replace(self, scheduled=(*(one for one in self.scheduled if one is not asked), then))

    def with_exercises(self, exercises: Iterable[Exercise], now_s: float) -> Deck:
        """The deck with further exercises, due at once; those that it has stay as they are."""
        held = {*self.exercises}
        new = [one for one in dict.fromkeys(exercises) if one not in held]
        if len(self.scheduled) + len(new) > MOST_EXERCISES:
            raise UsageError(f"deck: holds at most {MOST_EXERCISES} positions; begin another one")
        return replace(self, scheduled=(*self.scheduled, *(Scheduled(one, 0, now_s) for one in new)))

    def to_dict(self) -> dict[str, Any]:
        """The deck, ready for JSON."""
        exercises = [{**one.exercise.to_dict(), "box": one.box, "due": one.due_s} for one in self.scheduled]
        return {"rules": self.rules.name, "goal": str(self.goal), "exercises": exercises}

    @classmethod
    def from_dict(cls, table: object, rules: Rules | None = None, source: str = "deck") -> Self:
        """Read what `to_dict` writes, by these rules or else those that it names; `source` names it in messages."""
        if not isinstance(table, dict):
            raise FileError(source, f"expected an object with rules, goal and exercises, found {shown(table)}")
        fields = Fields(table, source, ("rules", "goal", "exercises"))
        rules, name, exercises = rules or load_rules(fields.text("rules")), fields.text("rules"), table.get("exercises")
        if name != rules.name:
            raise FileError(source, f"is a deck of {name}, and this game is {rules.name}")
        if not isinstance(exercises, list) or len(exercises) > MOST_EXERCISES:
            raise fields.error("exercises", f"expected a list of at most {MOST_EXERCISES} positions", exercises)
        try:
            goal = parse_goal(fields.text("goal"))
        except UsageError as error:
            raise FileError(source, str(error)) from None
        scheduled = [_scheduled(one, rules, f"{source}: exercise {n}") for n, one in enumerate(exercises, 1)]
        if len({one.exercise for one in scheduled}) < len(scheduled):
            raise FileError(source, "exercises: expected each position once")
        return cls(rules, goal, tuple(scheduled))


def read_deck(file: str, rules: Rules | None = None) -> Deck:
    """Read the file of a deck."""
    try:
        table = json.loads(read_text(file, MAX_BYTES))
    except (ValueError, RecursionError) as error:  # deep nesting, or numbers too long to convert
        raise FileError(file, f"is not valid JSON: {error}") from error
    return Deck.from_dict(table, rules, file)


def write_deck(file: str, deck: Deck) -> None:
    """Write the file of a deck; the one before is kept until the new one is complete."""
    write_file(file, f"{json.dumps(deck.to_dict())}\n")


def _scheduled(table: object, rules: Rules, source: str) -> Scheduled:
    if not isinstance(table, dict):
        raise FileError(source, f"expected an object, found {shown(table)}")
    asked = {key: value for key, value in table.items() if key not in {"box", "due"}}
    fields = Fields({key: table.get(key) for key in ("box", "due")}, source, ("box", "due"))
    box, due = fields.integer("box", None, 0, len(INTERVALS_S)), fields.table["due"]
    if box is None:
        raise fields.error("box", f"expected a whole number from 0 to {len(INTERVALS_S)}", box)
    if isinstance(due, bool) or not isinstance(due, int | float) or not 0 <= due <= LATEST_S:
        raise fields.error("due", f"expected seconds from 0 to {LATEST_S:g}", due)
    return Scheduled(Exercise.from_dict(asked, rules, source), box, float(due))
