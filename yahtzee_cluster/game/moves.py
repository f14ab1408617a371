"""The rules compiled into lookup tables: the outcomes of every roll in every state of the scorecard.

`Rules.plays` lists them for one roll and one state; calling it for all of them would take longer than solving the
game.
Two facts keep the tables small.
An *outcome* (a category and the points scored there) leads to the same state whichever roll it was scored with, so
values are stored for outcomes and not for rolls.
Only the points of five of a kind depend on the state: they have one row for each of four variants, every other roll
has a single row.
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
"""(joker, extra bonus): the ways to score five of a kind; the first is the ordinary one."""


@dataclass(frozen=True)
class Outcome:
    """A category filled with certain points."""

    category: int
    points: int
    """Including the extra bonus."""
    extra: int
    """The extra bonus included in the points."""
    upper: int
    """What is added to the upper total."""
    chip: bool
    """Whether this fills the Yahtzee box with points."""


@dataclass(frozen=True)
class Moves:
    """All outcomes of a rule set, and which of them each roll can reach."""

    rules: Rules
    outcomes: tuple[Outcome, ...]
    outcome_of: NDArray[np.int16]
    """[row, category]: an index into `outcomes`. Rows: the rolls, then three more variants of each five of a kind."""
    zero_of: NDArray[np.int16]
    """[category]: the outcome that scores zero there, or -1 if every roll scores points."""
    scoring: NDArray[np.uint16]
    """[row]: the set of categories in which the row scores more than zero."""
    legal: NDArray[np.uint16]
    """[free, face]: the set of categories in which five of a kind of this face may be scored."""
    joker: NDArray[np.uint8]
    """[free, face]: whether five of a kind of this face is a joker."""

    def rows(self, free: int, chip: bool) -> NDArray[np.int64]:
        """The row of each roll in a state of the scorecard."""
        rows = np.arange(len(ROLLS))
        for face, five in enumerate(FIVES):
            if variant := VARIANTS.index((bool(self.joker[free, face]), chip)):
                rows[five] = len(ROLLS) + face * (len(VARIANTS) - 1) + variant - 1
        return rows

    def open_to(self, free: int, chip: bool, roll: int) -> list[int]:
        """The outcomes between which a roll (an index into ROLLS) may choose, in the order of the categories."""
        legal = int(self.legal[free, FIVES.index(roll)]) if roll in FIVES else free
        outcomes = self.outcome_of[self.rows(free, chip)[roll]].tolist()
        return [outcome for c, outcome in enumerate(outcomes) if legal >> c & 1]

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """[field, outcome]: category, points, addition to the upper total, and whether the outcome sets the chip."""
        fields = [(outcome.category, outcome.points, outcome.upper, outcome.chip) for outcome in self.outcomes]
        return np.array(fields, np.int64).T


def compile_moves(rules: Rules) -> Moves:
    """Compile a rule set into lookup tables."""
    outcomes: dict[Outcome, int] = {}
    rows = [(roll, False, rules.chip and roll[0] == roll[-1]) for roll in ROLLS]
    rows += [(ROLLS[five], joker, rules.chip or extra) for five in FIVES for joker, extra in VARIANTS[1:]]
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
    """The tables `legal` and `joker` of `Moves`."""
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
