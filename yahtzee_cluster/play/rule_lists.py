"""Strategies given as lists of rules that people can write, print and follow; the first rule that matches wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.fields import Fields, is_text
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.notation import find_box, names_of
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels.rule_lists import NO_KEEP, ByRules
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable
from yahtzee_cluster.play.rule_patterns import KeepPart, ScorePart, last_resort, read_keep, read_score
from yahtzee_cluster.play.rule_words import GameWords, Words
from yahtzee_cluster.play.strategy import ByAnchorAlone
from yahtzee_cluster.text import shown

MOST_RULES = 100
"""The most rules of one list."""
REMEMBERED = 2000
"""Rules that are remembered as they were read."""

OPTIMAL = "optimal"
Part = TypeVar("Part", KeepPart, ScorePart)
FIELDS = ("keep", "score", "otherwise", "rolls")


@dataclass(frozen=True)
class RuleList(ByAnchorAlone):
    """A strategy by rules: what to keep of a roll, where to score it, and which box to sacrifice where no rule matches.

    Without rules for keeping, keeps are optimal for what the other rules bring.
    """

    game: Rules
    keep: tuple[str, ...] | None
    score: tuple[str, ...]
    otherwise: tuple[int, ...]
    """All boxes, in the order in which they are sacrificed."""

    @classmethod
    def parse(cls, table: Mapping[str, Any], source: str, rules: Rules) -> Self:
        """Read the fields of a strategy file, without its header; `source` names it in error messages."""
        fields = Fields(table, source, FIELDS)
        rolls = fields.choice("rolls", (OPTIMAL,), None) if "rolls" in table else None
        if rolls and "keep" in table:
            raise fields.error("keep", "expected no such list where rolls are optimal", table["keep"])
        keep = None if rolls else _rules_of(fields, "keep")
        found = cls(rules, keep, _rules_of(fields, "score"), _order_of(fields, rules))
        try:
            found.check()
        except UsageError as error:
            raise FileError(source, str(error)) from None
        return found

    def check(self) -> None:
        """Refuse rules that cannot be read."""
        _ = self._keep_parts, self._score_parts

    @property
    def rules(self) -> Rules:
        """The game whose boxes the rules name."""
        return self.game

    @property
    def n_parameters(self) -> int:
        """The number of rules."""
        return len(self.keep or ()) + len(self.score)

    @property
    def words(self) -> str:  # type: ignore[override]
        """The strategy in words."""
        how = "boxes by" if self.keep is None else "play by"
        return f"{how} a list of {self.n_parameters} rule{'s' * (self.n_parameters != 1)}"

    def decider(self, turn: Turn, expected: ExpectedTable) -> ByRules:
        """The kernel that decides by the rules."""
        return self.kernel(turn, expected.anchors)

    def kernel(self, turn: Turn, anchors: Anchors) -> ByRules:
        """The same, where nobody has solved the game."""
        scores = [part for parts in self._score_parts for part in parts]
        scores += last_resort(self._words, self.otherwise)
        keep = applies = None
        if self._keep_parts is not None:
            keeps = [part for parts in self._keep_parts for part in parts]
            keep, applies = np.array([part.keep for part in keeps]), np.array([part.applies for part in keeps])
        return ByRules(
            turn,
            anchors,
            keep,
            applies,
            np.array([part.box for part in scores], np.uint8),
            np.array([part.rows for part in scores]),
            np.array([part.applies for part in scores]),
            np.array([part.for_bonus for part in scores]),
        )

    def warnings(self) -> list[str]:
        """One line for each rule that never matches a roll first, on any scorecard."""
        found = []
        there = Anchors(self.game).place >= 0
        there[0] = False
        if self.keep is not None and self._keep_parts is not None:
            parts = [[(part.keep[stage] != NO_KEEP, part.applies, stage) for part in rule for stage in range(2)]
                     for rule in self._keep_parts]  # fmt: skip
            found += _never("keep", self.keep, parts, there)
        scoring = [
            [(part.rows, part.applies & (self._words.free >> part.box & 1 == 1), 0) for part in rule]
            for rule in self._score_parts
        ]
        if not any(part.for_bonus for rule in self._score_parts for part in rule):
            found += _never("score", self.score, scoring, there)
        return found

    @property
    def _words(self) -> GameWords:
        return _words_of(self.game)

    @cached_property
    def _keep_parts(self) -> list[list[KeepPart]] | None:
        return None if self.keep is None else _parts("keep", self.keep, self.game, read_keep)

    @cached_property
    def _score_parts(self) -> list[list[ScorePart]]:
        return _parts("score", self.score, self.game, read_score)


def _rules_of(fields: Fields, key: str) -> tuple[str, ...]:
    listed = fields.table.get(key)
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_RULES:
        raise fields.error(key, f"expected a list of 1 to {MOST_RULES} rules, each a text", _size(listed))
    for number, rule in enumerate(listed, 1):
        if not is_text(rule) or not rule.strip():
            raise fields.error(f"{key} {number}", "expected a text on one line, of at most 200 characters", rule)
    return tuple(listed)


def _size(listed: object) -> object:
    return f"{len(listed)} rules" if isinstance(listed, list) else listed


def _order_of(fields: Fields, rules: Rules) -> tuple[int, ...]:
    listed = fields.table.get("otherwise")
    if not isinstance(listed, list) or not all(is_text(name) for name in listed):
        raise fields.error("otherwise", "expected all boxes in the order in which they are sacrificed", listed)
    order: list[int] = []
    for name in listed:
        try:
            order.append(find_box(name, rules))
        except UsageError as error:
            raise FileError(fields.source, f"otherwise: {error}") from None
        if order[-1] in order[:-1]:
            raise FileError(fields.source, f"otherwise: expected every box once, found {shown(name)} twice")
    missing = names_of(rules.all_free & ~sum(1 << box for box in order), rules)
    if missing:
        raise FileError(fields.source, f"otherwise: expected all boxes, found none of {', '.join(missing)}")
    return tuple(order)


_words_of = lru_cache(GameWords)


def _parts(
    key: str, listed: Sequence[str], game: Rules, read: Callable[[Words, GameWords], list[Part]]
) -> list[list[Part]]:
    found = []
    for number, rule in enumerate(listed, 1):
        try:
            found.append(_parts_of(read, game, rule))
        except UsageError as error:
            raise UsageError(f"{key} {number}: {error}") from None
    return found


@lru_cache(REMEMBERED)
def _parts_of(read: Callable[[Words, GameWords], list[Part]], game: Rules, rule: str) -> list[Part]:
    return read(Words(rule), _words_of(game))


Matching = tuple[NDArray[np.bool_], NDArray[np.bool_], int]
"""Which rolls a part matches on which scorecards, and in which of several lists of rolls."""


def _never(key: str, listed: Sequence[str], rules: Sequence[Sequence[Matching]], there: NDArray[np.bool_]) -> list[str]:
    """A line for each rule of which no part ever matches a roll that those before it have left."""
    n_bytes = -(-len(rules[0][0][0]) // 8)
    left = np.full((2, *there.shape, n_bytes), 255, np.uint8)
    found = []
    for number, (rule, parts) in enumerate(zip(listed, rules, strict=True), 1):
        matched = False
        for rolls, applies, which in parts:
            bits = np.packbits(rolls)
            here = (applies & there)[..., None]
            matched |= bool((left[which] & bits & -here.astype(np.int8).view(np.uint8)).any())
            left[which] &= ~np.where(here, bits, 0).astype(np.uint8)
        if not matched:
            found.append(f"{key} {number}: never matches, as rules before it do or no roll can: {shown(rule)}")
    return found
