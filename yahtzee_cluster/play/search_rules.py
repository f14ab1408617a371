"""The search for rules: all strategies by lists of rules, by a genetic algorithm with the operators of Glenn.

His two lists are crossed by shuffling those of both parents together and dropping half of the rules, and the order of
sacrifice by taking the position of each box from either parent. Mutations swap two items of a list, or change, delete
or add one; here they may also move one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import is_text
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.play.rule_grammar import CONDITION, Draw, Grammar
from yahtzee_cluster.play.rule_lists import MOST_RULES, RuleList
from yahtzee_cluster.play.search import Class, Proposer

POPULATION = 24
CROSSED = 0.2
"""The share of children with two parents."""
AGAIN = 0.4
"""The chance of a further mutation."""
MOVES = ["swap", "move"]
CHANGES = ["change", "delete", "add"]
PARTS = CONDITION, re.compile(r"(.*?),? with at least .*")
"""What may be left out at the end of a rule."""
BEST_OF = 2
"""A parent is the best of so many, drawn at random."""


class Lists(NamedTuple):
    """What a strategy by rules consists of; without rules for keeping, rolls are optimal."""

    keep: tuple[str, ...] | None
    score: tuple[str, ...]
    otherwise: tuple[int, ...]

    @property
    def n_rules(self) -> int:
        """The number of rules."""
        return len(self.keep or ()) + len(self.score)


@dataclass(frozen=True)
class RuleLists(Class[Lists]):
    """All strategies by at most so many rules; the search begins at a given one."""

    rules: Rules
    start: Lists
    most_rules: int

    def __post_init__(self) -> None:
        if self.most_rules > 2 * MOST_RULES:
            raise UsageError(f"max-rules: expected at most {2 * MOST_RULES}, found {self.most_rules}")
        if self.start.n_rules > self.most_rules:
            raise UsageError(f"max-rules: the strategy has {self.start.n_rules} rules, more than {self.most_rules}")

    @classmethod
    def of(cls, strategy: RuleList, most_rules: int) -> RuleLists:
        """The class of a strategy."""
        return cls(strategy.game, Lists(strategy.keep, strategy.score, strategy.otherwise), most_rules)

    @property
    def identity(self) -> dict[str, Any]:
        """The rules where the search begins, and how many there may be."""
        return {"start": self.start, "most_rules": self.most_rules}

    def strategy(self, candidate: Lists) -> RuleList:
        """The strategy by these rules."""
        return RuleList(self.rules, *candidate)

    def table(self, candidate: Lists) -> dict[str, Any]:
        """The strategy file with these rules."""
        names = [self.rules.categories[box].name for box in candidate.otherwise]
        keep = {"rolls": "optimal"} if candidate.keep is None else {"keep": [*candidate.keep]}
        return {**keep, "score": [*candidate.score], "otherwise": names}

    def proposer(self, seed: int, population: int | None) -> Proposer[Lists]:
        """A genetic algorithm."""
        return Breeding(self, seed, population or POPULATION)

    def simplified(self, candidate: Lists, value_of: Callable[[Lists], float]) -> Lists:
        """The rules without those that add nothing, and without conditions and amounts that add nothing."""
        best = value_of(candidate)
        for name in ("keep", "score"):
            for at in reversed(range(len(getattr(candidate, name) or ()))):
                shorter = self._shorter(candidate, name, at)
                while shorter:
                    simpler = shorter.pop(0)
                    if self._is_readable(simpler) and (value := value_of(simpler)) >= best:
                        is_gone = len(getattr(simpler, name)) < len(getattr(candidate, name))
                        candidate, best = simpler, value
                        shorter = [] if is_gone else self._shorter(candidate, name, at)
        return candidate

    @staticmethod
    def _shorter(lists: Lists, name: str, at: int) -> list[Lists]:
        """The lists without a rule, and without a part of it."""
        rules = getattr(lists, name)
        parts = [(found[1],) for form in PARTS if (found := form.fullmatch(rules[at]))]
        return [lists._replace(**{name: (*rules[:at], *instead, *rules[at + 1 :])}) for instead in ((), *parts)]

    def _is_readable(self, lists: Lists) -> bool:
        """Whether these are lists of rules that can be read back."""
        lengths = [len(lists.score), *([] if lists.keep is None else [len(lists.keep)])]
        if not 0 < min(lengths) <= max(lengths) <= MOST_RULES:
            return False
        if not all(map(is_text, (*(lists.keep or ()), *lists.score))):
            return False
        try:
            self.strategy(lists).check()
        except UsageError:
            return False
        return True

    def has(self, lists: Lists) -> bool:
        """Whether these rules are among the strategies of the class."""
        return lists.n_rules <= self.most_rules and self._is_readable(lists)


class Breeding:
    """A genetic algorithm, which keeps the best of parents and children."""

    has_converged = False

    def __init__(self, of: RuleLists, seed: int, population: int) -> None:
        self.population = population
        self._of = of
        self._draw = Draw(seed)
        self._grammar = Grammar(of.rules, self._draw)
        self._parents: list[tuple[float, Lists]] = []
        self._known: set[Lists] = set()

    def ask(self) -> list[Lists]:
        """First the start and mutants of it, then children of the best so far; none of them twice."""
        found = [] if self._parents else [self._of.start]
        self._known.update(found)
        while len(found) < self.population:
            child = self._child()
            if child not in self._known and self._of.has(child):
                self._known.add(child)
                found.append(child)
        return found

    def tell(self, candidates: Sequence[Lists], values: Sequence[float]) -> None:
        """Keep the best; among equals, those with fewer rules."""
        both = [*self._parents, *zip(values, candidates, strict=True)]
        self._parents = sorted(both, key=lambda one: (-one[0], one[1].n_rules))[: self.population]

    def _child(self) -> Lists:
        child = self._parent()
        if self._draw.happens(CROSSED):
            child = self.crossed(child, self._parent())
        child = self._mutated(child)
        while self._draw.happens(AGAIN):
            child = self._mutated(child)
        return child

    def _parent(self) -> Lists:
        if not self._parents:
            return self._of.start
        return self._parents[min(self._draw.below(len(self._parents)) for _ in range(BEST_OF))][1]

    # ---------------------------------------------------------------------------------------- crossover

    def crossed(self, one: Lists, other: Lists) -> Lists:
        """The child of two parents."""
        keep = None if one.keep is None or other.keep is None else self._shuffled(one.keep, other.keep)
        return Lists(keep, self._shuffled(one.score, other.score), self.ordered(one.otherwise, other.otherwise))

    def _shuffled(self, one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
        """Half of the rules of both lists, as two packs of cards are shuffled together; none of them twice."""
        packs = iter(one), iter(other)
        which = self._draw.shuffled([0] * len(one) + [1] * len(other))
        together = [next(packs[pack]) for pack in which]
        stay = self._draw.shuffled(range(len(together)))[: (len(together) + 1) // 2]
        return tuple(dict.fromkeys(together[at] for at in sorted(stay)))

    def ordered(self, one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
        """Each box where it is in either parent; of two in the same place, the one from the first parent is first."""
        places = [
            (one.index(box), 0, box) if self._draw.happens(0.5) else (other.index(box), 1, box) for box in sorted(one)
        ]
        return tuple(box for _, _, box in sorted(places))

    # ---------------------------------------------------------------------------------------- mutation

    def _mutated(self, lists: Lists) -> Lists:
        names = ["score", "otherwise"] if lists.keep is None else ["keep", "score", "otherwise"]
        name = self._draw.one_of(names)
        items = [*getattr(lists, name)]
        change = self._draw.one_of(MOVES if name == "otherwise" else MOVES + CHANGES) if items else "add"
        if change == "add":
            items.insert(self._draw.below(len(items) + 1), self._grammar.rule(name))
            return lists._replace(**{name: tuple(items)})
        at, to = self._draw.below(len(items)), self._draw.below(len(items))
        if change == "swap":
            items[at], items[to] = items[to], items[at]
        elif change == "move":
            items.insert(to, items.pop(at))
        elif change == "delete":
            del items[at]
        else:
            items[at] = self._grammar.varied(name, items[at])
        return lists._replace(**{name: tuple(items)})
