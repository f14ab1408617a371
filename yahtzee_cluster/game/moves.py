"""The rules compiled into tables: what every roll may do in every state of the scorecard.

`Rules.plays` answers that for one roll and one state; asking it for all of them would take longer than solving the
game.
Two observations keep the tables small.
An *outcome* (a category and what it pays there) leads to the same place whichever roll brings it, so only outcomes
have values.
And only five equal dice ever depend on the state: they get a row for each of four variants, every other roll one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.game.dice import FACES, FIVES, ROLLS, Keep
from yahtzee_cluster.game.rules import MAX_CATEGORIES, Rules

VARIANTS = tuple(product((False, True), repeat=2))
"""(joker, extra bonus): the ways to score five equal dice; the first is the ordinary one."""


@dataclass(frozen=True)
class Outcome:
    """One box filled in one way."""

    category: int
    points: int
    """With the extra bonus."""
    extra: int
    """The extra bonus among them."""
    upper: int
    chip: bool
    """Whether this fills the Yahtzee box with points."""


@dataclass(frozen=True)
class Moves:
    """All outcomes of a rule set, and which of them each roll can reach."""

    rules: Rules
    outcomes: tuple[Outcome, ...]
    outcome_of: NDArray[np.int16]
    """[row, category]: an index into `outcomes`. Rows are the rolls, then three more for each five of a kind."""
    zero_of: NDArray[np.int16]
    """[category]: the outcome that scores zero there, or -1 where every roll scores."""
    scoring: NDArray[np.uint16]
    """[row]: the set of categories that pay more than zero."""
    legal: NDArray[np.uint16]
    """[free, face]: the set of categories that five of a kind may fill."""
    joker: NDArray[np.uint8]
    """[free, face]: whether five of a kind is a joker."""

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """[fact, outcome]: category, points, what it adds to the upper total, and whether it brings the chip."""
        facts = [(outcome.category, outcome.points, outcome.upper, outcome.chip) for outcome in self.outcomes]
        return np.array(facts, np.int64).T


def compile_moves(rules: Rules) -> Moves:
    """The tables of a rule set."""
    outcomes: dict[Outcome, int] = {}
    rows = [(roll, False, False) for roll in ROLLS]
    rows += [(ROLLS[five], joker, extra) for five in FIVES for joker, extra in VARIANTS[1:]]
    outcome_of = np.full((len(rows), MAX_CATEGORIES), -1, np.int16)
    zero_of = np.full(MAX_CATEGORIES, -1, np.int16)
    scoring = np.zeros(len(rows), np.uint16)
    for row, (roll, joker, extra) in enumerate(rows):
        for category in range(len(rules.categories)):
            outcome = _outcome(rules, category, roll, joker, extra)
            outcome_of[row, category] = outcomes.setdefault(outcome, len(outcomes))
            if outcome.points > 0:
                scoring[row] |= 1 << category
            else:
                zero_of[category] = outcomes[outcome]
    legal, joker_at = _further_yahtzees(rules)
    return Moves(rules, tuple(outcomes), outcome_of, zero_of, scoring, legal, joker_at)


def _outcome(rules: Rules, index: int, roll: Keep, joker: bool, extra: bool) -> Outcome:
    category = rules.categories[index]
    points = category.score(roll, joker)
    return Outcome(
        category=index,
        points=points + (rules.extra_bonus if extra else 0),
        extra=rules.extra_bonus if extra else 0,
        upper=points if category.face is not None else 0,
        chip=rules.has_chip and category.name == rules.yahtzee and points > 0,
    )


def _further_yahtzees(rules: Rules) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """For every set of free categories and every face: where its five of a kind may go, and whether as a joker."""
    free = np.arange(rules.all_free + 1, dtype=np.int64)
    legal = np.repeat(free[:, None], len(FACES), axis=1)
    joker = np.zeros(legal.shape, bool)
    if rules.joker != "none":
        again = free & rules.yahtzee_box == 0
        lower = free & rules.lower_boxes
        for place, face in enumerate(FACES):
            own = free & rules.boxes_of(face)
            joker[:, place] = again & (own == 0)
            if rules.joker == "forced":
                forced = np.where(own != 0, own, np.where(lower != 0, lower, free))
                legal[:, place] = np.where(again, forced, free)
    return legal.astype(np.uint16), joker.astype(np.uint8)
