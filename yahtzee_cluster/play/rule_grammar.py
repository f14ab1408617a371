"""Random rules, in the words in which rule lists are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from yahtzee_cluster.game.dice import FACES, N_DICE
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.play.rule_patterns import EQUAL
from yahtzee_cluster.play.rule_words import quoted

MOST_NAMED = 4
"""The most boxes that a condition names."""
MOST_POINTS = 30
STEP = 3
"""By how much a number changes at the most."""
AMOUNT = re.compile(r"\b(at least|at most|more than|fewer than) (\d+)")
CONDITION = re.compile(r"(.*?),? ((?:if|unless) .*)")

Item = TypeVar("Item")


class Draw:
    """Random draws, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def below(self, n: int) -> int:
        """A number from 0 to n - 1."""
        return int(self._random.integers(n))

    def happens(self, p: float) -> bool:
        """Whether something with this chance happens."""
        return bool(self._random.random() < p)

    def one_of(self, options: Sequence[Item]) -> Item:
        """One of these."""
        return options[self.below(len(options))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """All of them, in a random order."""
        return [items[at] for at in self._random.permutation(len(items)).tolist()]


class Grammar:
    """Random rules for one game. Some may mean nothing there; whoever reads them refuses those."""

    def __init__(self, rules: Rules, draw: Draw) -> None:
        self._draw = draw
        self._boxes = [quoted(category.name) for category in rules.categories]
        self._upper = [box for box, category in zip(self._boxes, rules.categories, strict=True) if category.face]
        self._yahtzee = quoted(rules.yahtzee) if rules.yahtzee and rules.has_chip else ""
        self._has_bonus = rules.upper_bonus > 0

    def rule(self, of: str) -> str:
        """A rule for `keep` or for `score`."""
        head = self._head(of)
        return self._joined(head, self._condition(of, head)) if self._draw.happens(0.6) else head

    def varied(self, of: str, rule: str) -> str:
        """A rule with a part of it changed, or another one."""
        split = CONDITION.fullmatch(rule)
        head, condition = split.groups() if split else (rule, "")
        way = self._draw.one_of(["number", "head", "condition", "more", "less", "all"])
        if way == "number" and AMOUNT.search(rule):
            return self._with_other_number(rule)
        if way == "head":
            return self._joined(self._head(of), condition)
        if way == "condition":
            return self._joined(head, self._condition(of, head))
        if way == "more" and condition:
            return f"{rule} {self._draw.one_of(['and', 'or'])} {self._fact(of, head)}"
        if way == "less":
            return head
        return self.rule(of)

    def _with_other_number(self, rule: str) -> str:
        found = self._draw.one_of([*AMOUNT.finditer(rule)])
        number = max(1, int(found[2]) + self._draw.one_of([*range(-STEP, 0), *range(1, STEP + 1)]))
        return rule[: found.start(2)] + str(number) + rule[found.end(2) :]

    @staticmethod
    def _joined(head: str, condition: str) -> str:
        return f"{head}{',' * (',' in head)} {condition}" if condition else head

    # --------------------------------------------------------------------------------------- what to do

    def _head(self, of: str) -> str:
        return self._keep() if of == "keep" else self._score()

    def _keep(self) -> str:
        run = self._draw.one_of([2, 3, 3, 3, 4])
        first = self._draw.one_of([*range(1, len(FACES) + 2 - run)])
        options: list[Callable[[], str]] = [
            self._equal,
            self._equal,
            lambda: self._draw.one_of(["large straight", "small straight", "full house", "two pairs", "nothing"]),
            lambda: " ".join(map(str, range(first, first + run))),
            lambda: f"run of {run}",
            lambda: f"dice from {self._draw.one_of([4, 5, 6])} up",
            lambda: f"all dice scoring at least {self._points()} in {self._draw.one_of(self._boxes)}",
        ]
        return self._draw.one_of(options)()

    def _equal(self) -> str:
        head = self._draw.one_of([*EQUAL][1:])
        if self._draw.happens(0.4):
            first = self._draw.one_of(FACES)
            head += f" of {' '.join(map(str, range(first, self._draw.one_of(FACES[first - 1 :]) + 1)))}"
        return head + self._draw.one_of(["", "", ", high first", ", low first"])

    def _score(self) -> str:
        box = self._draw.one_of(self._boxes)
        options = [box, f"{box} with at least {self._points()} points"]
        if self._upper:
            upper = self._draw.one_of(
                ["upper box", "upper box, low first,", self._draw.one_of(self._upper), self._draw.one_of(self._upper)]
            )
            n_dice = self._draw.one_of(range(1, N_DICE))
            with_dice = f"{upper} with at least {n_dice} {'dice' if n_dice > 1 else 'die'}"
            options += [with_dice, with_dice]
            if self._has_bonus:
                options.append(f"{with_dice}, winning the upper bonus")
        return self._draw.one_of(options)

    def _points(self) -> int:
        return 1 + self._draw.below(MOST_POINTS)

    # --------------------------------------------------------------------------------------- when

    def _condition(self, of: str, head: str) -> str:
        facts = self._fact(of, head)
        if self._draw.happens(0.3):
            facts += f" {self._draw.one_of(['and', 'or'])} {self._fact(of, head)}"
        return f"{self._draw.one_of(['if', 'if', 'if', 'unless'])} {facts}"

    def _fact(self, of: str, head: str) -> str:
        some = self._draw.shuffled(self._boxes)[: self._draw.one_of(range(2, MOST_NAMED + 1))]
        amount = self._draw.one_of(["more than", "fewer than"])
        options = [
            f"{self._draw.one_of(self._boxes)} {self._draw.one_of(['free', 'used'])}",
            f"{self._draw.one_of(['any of', 'all of', 'none of'])} {', '.join(some)} free",
            f"{amount} {self._draw.one_of(range(1, len(self._boxes) + 1))} boxes free",
        ]
        if self._upper:
            options.append(f"{amount} {self._draw.one_of(range(1, len(self._upper) + 1))} upper boxes free")
        if self._yahtzee:
            options.append(f"{self._yahtzee} scored")
        if of == "keep":
            options.append("one roll left")
            if head.startswith(tuple(EQUAL)):
                options += ["its box free", "its box free"]
        return self._draw.one_of(options)
