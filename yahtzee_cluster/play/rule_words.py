"""The words of rules: reading them one by one, numbers and boxes, and conditions on the scorecard.

A condition is read into a function of a face and of the rolls left, which gives all scorecards where it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import whole_number
from yahtzee_cluster.game.dice import FACES
from yahtzee_cluster.game.moves import Moves, compile_moves
from yahtzee_cluster.game.notation import find_box
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.text import did_you_mean, shown

Cards = NDArray[np.bool_]
"""[free, chip]: a set of scorecards."""

Condition = Callable[[int, int], Cards]
"""The scorecards where a condition holds, for dice of this face (0 if the rule has none) and these rolls left."""

QUANTITIES: dict[str, Callable[[NDArray[np.int64], int], Cards]] = {
    "at least": np.greater_equal,
    "at most": np.less_equal,
    "more than": np.greater,
    "fewer than": np.less,
    "exactly": np.equal,
}
GROUPS = ("upper boxes", "lower boxes", "boxes")
STATES = ("free", "unused", "used", "scored")
BESIDE_BOXES = {*(",", "(", ")", "or", "and", "is", "are", "if", "unless", "with", "winning", "low", "high"), *STATES}
"""Words that end the name of a box; where they are part of it, the name stands in single quotes."""

WORD = r"'[^']*'|[(),]|[^\s(),']+|'"
DEEPEST = 20
CONDITIONS = (
    "BOX free or used", "any of, all of or none of BOXES free", "more than N upper boxes free", "its box free",
    "joker applies", "BOX scored", "one roll left",
)  # fmt: skip


def quoted(name: str) -> str:
    """The name of a box as it stands in a rule."""
    return f"'{name}'" if not BESIDE_BOXES.isdisjoint(re.findall(WORD, name.lower())) else name


class Words:
    """The words of one rule, read from left to right."""

    def __init__(self, text: str) -> None:
        self._words: list[str] = re.findall(WORD, text)
        self._at = 0

    @property
    def next(self) -> str:
        """The next word; empty at the end."""
        return self._words[self._at] if self._at < len(self._words) else ""

    def take(self, words: str) -> bool:
        """Read these words if they come next."""
        wanted = words.split()
        found = [word.lower() for word in self._words[self._at : self._at + len(wanted)]] == wanted
        self._at += found * len(wanted)
        return found

    def take_any(self, options: Sequence[str]) -> str:
        """Read the first of these options that comes next, and return it; empty if none does."""
        return next((option for option in options if self.take(option)), "")

    def number(self, what: str) -> int:
        """Read a whole number."""
        found = whole_number(self.next)
        if found is None:
            self.refuse(f"a number of {what}")
        self._at += 1
        return found

    def phrase(self) -> str:
        """Read the words up to one that cannot be part of a box's name."""
        if self.next.startswith("'"):
            self._at += 1
            return self._words[self._at - 1].strip("'")
        first = self._at
        while self.next and self.next.lower() not in BESIDE_BOXES:
            self._at += 1
        return " ".join(self._words[first : self._at])

    def refuse(self, expected: str, known: Sequence[str] = ()) -> NoReturn:
        """Complain about the rest of the rule."""
        rest = " ".join(self._words[self._at :])
        question = did_you_mean(rest.lower(), known) or did_you_mean(self.next.lower(), known)
        found = shown(rest) if rest else "the end"
        raise UsageError(f"expected {expected}, found {found}{f'; {question}' * bool(question)}")

    def end(self) -> None:
        """Check that nothing is left."""
        if self.next:
            self.refuse("the end of the rule, `if` or `unless`", ("if", "unless", "and", "or"))


class GameWords:
    """What rules may speak of in one game: its boxes, and its scorecards."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.free = np.arange(rules.all_free + 1)[:, None] | np.zeros((1, 2), np.int64)
        """[free, chip]: the free boxes."""

    @cached_property
    def moves(self) -> Moves:
        """The outcomes of all rolls."""
        return compile_moves(self.rules)

    @property
    def upper(self) -> list[int]:
        """The upper boxes, lowest face first."""
        faces = [(category.face, c) for c, category in enumerate(self.rules.categories) if category.face]
        return [c for _, c in sorted(faces)]

    def box(self, words: Words) -> int:
        """Read the name of a box."""
        if not words.next or words.next.lower() in BESIDE_BOXES:
            words.refuse("the name of a box")
        return find_box(words.phrase(), self.rules)

    def boxes(self, words: Words) -> list[int]:
        """Read one or more names of boxes, with commas, `or` or `and` between them."""
        found = [self.box(words)]
        while words.take_any((", or", ", and", "or", "and", ",")):
            found.append(self.box(words))
        return found

    def count_free(self, boxes: int) -> NDArray[np.int64]:
        """[free, chip]: how many of a set of boxes are free."""
        count: NDArray[np.int64] = np.bitwise_count(self.free & boxes).astype(np.int64)
        return count


class Conditions:
    """Reads the conditions of one rule."""

    def __init__(self, words: Words, game: GameWords, keeps: bool, has_face: bool) -> None:
        self.uses_face = False
        """Whether some condition depends on the face."""
        self._words, self._game = words, game
        self._keeps, self._has_face = keeps, has_face
        self._depth = 0

    def read(self) -> Condition:
        """Read `if ...` and `unless ...` to the end of the rule, or nothing: all scorecards."""
        met: Condition = lambda _, __: np.ones_like(self._game.free, bool)  # noqa: E731
        while word := self._words.take_any((", if", ", unless", "if", "unless")):
            condition = self._either()
            met = _both(met, _opposite(condition) if "unless" in word else condition)
        self._words.end()
        return met

    def _either(self) -> Condition:
        found = self._all()
        while self._words.take("or"):
            found = _opposite(_both(_opposite(found), _opposite(self._all())))
        return found

    def _all(self) -> Condition:
        found = self._one()
        while self._words.take("and"):
            found = _both(found, self._one())
        return found

    def _one(self) -> Condition:
        self._depth += 1
        if self._depth > DEEPEST:
            self._words.refuse(f"at most {DEEPEST} conditions, one inside another")
        if self._words.take("not"):
            found = _opposite(self._one())
        elif self._words.take("("):
            found = self._either()
            if not self._words.take(")"):
                self._words.refuse("`)`, `and` or `or`", ("and", "or"))
        else:
            found = self._fact()
        self._depth -= 1
        return found

    def _fact(self) -> Condition:
        words = self._words
        if (quantity := words.take_any([*QUANTITIES])) or whole_number(words.next) is not None:
            return self._counted(quantity or "exactly")
        if some := words.take_any(("any of", "all of", "none of")):
            return self._some_of(some)
        if words.take("its box"):
            own = self._of_face("its box")
            return own if self._state() == "free" else _opposite(own)
        if words.take("joker applies"):
            return self._joker()
        if left := words.take_any(("one roll left", "two rolls left")):
            return self._rolls_left(1 if left.startswith("one") else 2)
        return self._of_box()

    def _rolls_left(self, wanted: int) -> Condition:
        if not self._keeps:
            self._words.refuse("no rolls left where a roll is scored, before this")
        return lambda _, rolls_left: np.full(self._game.free.shape, rolls_left == wanted)

    def _of_box(self) -> Condition:
        if not self._words.next or self._words.next.lower() in BESIDE_BOXES:
            self._words.refuse(f"a condition: {', '.join(CONDITIONS)}", CONDITIONS)
        box = self._game.box(self._words)
        return self._in_state(self._game.count_free(1 << box) == 1, box)

    def _counted(self, quantity: str) -> Condition:
        n = self._words.number("boxes")
        group = self._words.take_any(GROUPS)
        lower = self._game.rules.lower_boxes
        if not group:
            self._words.refuse("`upper boxes`, `lower boxes` or `boxes`", GROUPS)
        members = {"upper boxes": self._game.rules.all_free & ~lower, "lower boxes": lower}
        members["boxes"] = self._game.rules.all_free
        free = self._game.count_free(members[group])
        if self._state() != "free":
            free = members[group].bit_count() - free
        return _always(QUANTITIES[quantity](free, n))

    def _some_of(self, some: str) -> Condition:
        boxes = self._game.boxes(self._words)
        members = sum({1 << box for box in boxes})
        n_free = self._game.count_free(members)
        wanted = n_free if self._state() == "free" else members.bit_count() - n_free
        least = members.bit_count() if some == "all of" else 1
        return _always(wanted == 0 if some == "none of" else wanted >= least)

    def _in_state(self, free: Cards, box: int) -> Condition:
        if self._words.take("scored") or self._words.take("is scored"):
            rules = self._game.rules
            if not (rules.has_chip and 1 << box == rules.yahtzee_box):
                self._words.refuse("`scored` only of a box that brings a bonus for further Yahtzees")
            return _always(~free & np.array([[False, True]]))
        return _always(free if self._state() == "free" else ~free)

    def _state(self) -> str:
        self._words.take_any(("is", "are"))
        found = self._words.take_any(STATES[:3])
        if not found:
            self._words.refuse("`free` or `used`", STATES)
        return "used" if found == "used" else "free"

    def _joker(self) -> Condition:
        self._of_face("joker applies")
        jokers = self._game.moves.joker.astype(bool)
        return lambda face, _: np.repeat(jokers[:, face - 1 : face], 2, axis=1)

    def _of_face(self, what: str) -> Condition:
        """Whether the upper box of the rule's dice is free."""
        if not self._has_face:
            self._words.refuse(f"`{what}` only where equal dice are kept: five to two of a kind, or a single die")
        self.uses_face = True
        boxes = [self._game.rules.boxes_of(face) for face in (0, *FACES)]
        return lambda face, _: self._game.count_free(boxes[face]) > 0


def _always(cards: Cards) -> Condition:
    return lambda _, __: cards


def _both(one: Condition, other: Condition) -> Condition:
    return lambda face, rolls_left: one(face, rolls_left) & other(face, rolls_left)


def _opposite(condition: Condition) -> Condition:
    return lambda face, rolls_left: ~condition(face, rolls_left)
