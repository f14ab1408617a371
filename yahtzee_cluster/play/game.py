"""A game at some moment, for programs in Python: it is asked for advice, and played on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import is_integer
from yahtzee_cluster.game.dice import FACES, N_DICE, Keep
from yahtzee_cluster.game.notation import check_kept, find_box, five_dice, listed, names_of, parse_dice, parse_keep
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.game.scorecard import Scorecard, parse_scorecard
from yahtzee_cluster.objectives.goals import Goal
from yahtzee_cluster.play.advice import Adviser, Asked
from yahtzee_cluster.play.answer import Advice, Answer, Distribution
from yahtzee_cluster.play.choices import Move
from yahtzee_cluster.play.consulted import Consulted
from yahtzee_cluster.play.position import START_OF_TURN, Position, Standing
from yahtzee_cluster.play.sources import LIMIT_S
from yahtzee_cluster.play.strategy import Strategy
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.table import Table
from yahtzee_cluster.text import shown

MOST = 2**63 - 1
"""The highest seed, and the most bytes."""
MOST_THREADS = 1024


@dataclass(frozen=True, repr=False)
class Game:
    """A game at some moment: the scorecard, the dice on the table, and the rolls left in this turn.

    `new_game` makes one. A game never changes: every method returns another one, or an answer. All that come from
    the same `new_game` share what has been solved for any of them.

    >>> game = yc.new_game("yahtzee").with_card(aces=3, full_house=25, yahtzee=50, bonus=100).with_dice("22256")
    >>> game
    yahtzee    178 points, 3 of them in upper boxes
    card       aces=3,full-house=25,yahtzee=50,bonus=100
    dice       2 2 2 5 6, 2 rolls left
    >>> game.advise().best
    Advice('keep 2 2 2', value=411.208, cost=0)
    >>> game.play("keep 2 2 2").roll(seed=1).dice
    (2, 2, 2, 3, 5)
    """

    adviser: Adviser = field(compare=False)
    card: Scorecard
    dice: Keep = ()
    """The dice on the table, in ascending order; fewer than five if the others are about to be rolled."""
    rolls_left: int = START_OF_TURN
    """The rolls left in this turn, 3 before the first one."""
    others: tuple[Standing, ...] = ()
    """The other players, as `against` has named them; unknown again once a box is filled."""

    def __repr__(self) -> str:
        card = self.card
        upper = f", {card.upper} of them in upper boxes" if self.rules.upper_bonus else ""
        rows = {
            self.rules.name: f"{card.score} points{upper}",
            "card": card.text or "every box is free",
            "dice": "the game is over" if self.is_over else self._dice_in_words,
        }
        lines = [*rows.items(), *(("against", _in_words(other)) for other in self.others)]
        return "\n".join(f"{name:10} {said}" for name, said in lines)

    @property
    def rules(self) -> Rules:
        """The rules."""
        return self.card.rules

    @property
    def start(self) -> Game:
        """The game before its first turn."""
        return Game(self.adviser, Scorecard.of(self.rules, {}))

    @property
    def score(self) -> int:
        """All points so far, bonuses included."""
        return self.card.score

    @property
    def free(self) -> list[str]:
        """The names of the free boxes."""
        return names_of(self.card.anchor.free, self.rules)

    @property
    def is_over(self) -> bool:
        """Whether every box is used."""
        return not self.card.anchor.free

    @property
    def is_to_roll(self) -> bool:
        """Whether dice are about to be rolled: all five before the first roll, else those that were not kept."""
        return len(self.dice) < N_DICE and not self.is_over

    @property
    def position(self) -> Position:
        """The position, for which an `Adviser` can be asked."""
        if self.is_to_roll and self.rolls_left < START_OF_TURN:
            raise UsageError("dice: roll those that were not kept first, with roll() or with_dice()")
        return replace(Position.of(self.card, self.dice or None, self.rolls_left), others=self.others)

    @property
    def _dice_in_words(self) -> str:
        dice = listed(self.dice)
        if self.is_to_roll:
            dice = f"{f'{dice} kept, ' * bool(dice)}{N_DICE - len(self.dice)} to roll"
        return f"{dice}, {self.rolls_left or 'no'} roll{'s' * (self.rolls_left != 1)} left"

    # ------------------------------------------------------------------------------------------------- questions

    def advise(self, goal: Asked = None, strategy: Strategy | str | None = None) -> Answer:
        """Every legal move, the best first, and all else that is to be known for a goal.

        A goal is a text as `parse_goal` reads it, a score to reach, or a `Goal`. Without one it is to win if there are
        other players, else the goal of the table that `new_game` was given, or the highest expected score.
        A strategy, by its name or file, is asked for its move, which is judged by the goal:

        >>> found = yc.new_game().with_dice("22256").advise(strategy="greedy").said
        >>> print(f"{found.move.words} costs {found.cost:.2f}")
        keep 5 6 costs 8.26
        """
        return self._answer(goal, strategy=strategy)

    def value(self, goal: Asked = None) -> float:
        """The value of the position by a goal, with the best play: a probability, an expected score or a utility.

        >>> game = yc.new_game("yacht").with_card("2=6, 3=9, 4=12, 5=15, 6=18, 4k=0, fh=23, ls=30, bs=0, yacht=0")
        >>> print(f"{game.value():.3f} {game.value('reach:140'):.6f}")
        139.459 0.558983
        """
        return self.advise(goal).value

    def distribution(self, goal: Asked = None) -> Distribution:
        """How the final score is distributed when playing for a goal."""
        found = self._answer(goal, with_distribution=True).distribution
        assert found
        return found

    def _answer(
        self,
        goal: Asked | np.integer[Any],
        *,
        with_distribution: bool = False,
        strategy: Strategy | str | None = None,
    ) -> Answer:
        if isinstance(goal, np.integer):
            goal = int(goal)
        if not isinstance(goal, Goal | str | int | None):
            raise UsageError(f"goal: expected a text such as reach:250, or a score to reach, found {shown(goal)}")
        asked = None if strategy is None else Consulted(strategy, self.adviser)
        return self.adviser.answer(self.position, goal, with_distribution=with_distribution, strategy=asked)

    # ----------------------------------------------------------------------------------------------------- moves

    def with_card(self, card: Scorecard | str | Mapping[str, int] | None = None, /, **points: int) -> Game:
        """The game with this scorecard, before the first roll of a turn; boxes that are not named are free.

        The points stand in a text, in a mapping, or by the names of boxes, with `_` for `-`. `bonus` stands for all
        extra bonuses; the upper bonus is not written, because it follows from the upper boxes.

        >>> game = yc.new_game()
        >>> game.with_card("aces=3, fh=25") == game.with_card({"full-house": 25, "aces": 3})
        True
        """
        if card is not None and points:
            raise UsageError("card: expected either one scorecard or points by the names of boxes, found both")
        return Game(self.adviser, self._card(points if card is None else card), others=self.others)

    def against(self, *cards: Scorecard | str | Mapping[str, int]) -> Game:
        """The game with these scorecards of the other players, in the order in which they play after this one.

        Then the goal `win` is to have the highest final score, a tie counting half. After a box has been filled it is
        the others' turn: name their scorecards again, as they are then.

        >>> game = yc.new_game("yacht").with_card("1=2, 2=6, 3=9, 4=12, 5=15, 6=18, 4k=0, fh=23, ls=30, bs=0")
        >>> game = game.against("1=1, 2=4, 3=9, 4=12, 5=20, 6=18, 4k=0, fh=19, ls=30, yacht=0").with_dice("55516")
        >>> game.advise().best
        Advice('keep 5 5 5 6', value=0.61271, cost=0)
        """
        return replace(self, others=tuple(Standing.of(self._card(card)) for card in cards))

    def _card(self, card: Scorecard | str | Mapping[str, int]) -> Scorecard:
        """A scorecard of this game, in any of its forms."""
        if isinstance(card, str):
            card = parse_scorecard(card, self.rules)
        elif isinstance(card, Mapping):
            card = Scorecard.of(self.rules, card)
        elif not isinstance(card, Scorecard):
            raise UsageError(f"card: expected points by the names of boxes, found {shown(card)}")
        if card.rules != self.rules:
            raise UsageError(f"card: is one of {card.rules.name}, and this game is {self.rules.name}")
        return card

    def with_dice(self, dice: str | Sequence[int], rolls_left: int | None = None) -> Game:
        """The game with these five dice on the table, as the next roll, or in place of those on the table.

        `rolls_left` says how many rolls are left after them, if it is another number than this implies.
        """
        self._check_not_over()
        found = parse_dice(dice) if isinstance(dice, str) else five_dice(dice)
        if self.is_to_roll and Counter(self.dice) - Counter(found):
            raise UsageError(f"dice: {listed(self.dice)} were kept, found {listed(found)}")
        left = self.rolls_left - self.is_to_roll if rolls_left is None else rolls_left
        Position.of(self.card, found, left)  # refuses what there is not
        return replace(self, dice=found, rolls_left=left)

    def roll(self, seed: int | np.integer[Any] | None = None) -> Game:
        """Roll: all dice before the first roll, else those that were not kept.

        With a seed the dice are always the same ones at the same roll of the same turn, and those of different rolls
        are independent. So one seed is enough for a whole game; without one, the dice are random.

        >>> game = yc.new_game("yacht")
        >>> while not game.is_over:
        ...     game = game.roll(seed=7) if game.is_to_roll else game.play(game.advise().best)
        >>> game.score
        184
        """
        self._check_not_over()
        if not self.is_to_roll:
            raise UsageError("dice: all five are on the table; say which to keep, or where to score them")
        if isinstance(seed, np.integer):
            seed = int(seed)
        if seed is not None and not is_integer(seed, 0, MOST):
            raise UsageError(f"seed: expected a whole number from 0 to {MOST}, found {shown(seed)}")
        used = self.rules.all_free & ~self.card.anchor.free
        random = np.random.default_rng(None if seed is None else [seed, used.bit_count(), self.rolls_left])
        thrown = random.integers(FACES.start, FACES.stop, N_DICE)[len(self.dice) :]
        return self.with_dice([*self.dice, *thrown.tolist()])

    def play(self, move: Move | Advice | str, dice: str | Sequence[int] | None = None) -> Game:
        """Keep some dice, or score all in a box.

        The move is one of `advise`, or a text: `keep 2 2 2`, `keep all dice`, `roll all dice again`, or a box by any
        name that `parse_scorecard` knows. After a keep, the other dice are to be rolled: by `roll`, or by `dice`, which
        has all five as they lie then. After a box, the next turn begins.

        >>> game = yc.new_game().with_dice("22256").play("keep 2 2 2", dice="22255").play("full-house")
        >>> game.card.text, game.rolls_left
        ('full-house=25', 3)
        """
        self._check_not_over()
        move = move.move if isinstance(move, Advice) else self._said(move) if isinstance(move, str) else move
        if not isinstance(move, Move):
            raise UsageError(f"move: expected keep 2 2 2, full-house, or a move of advise(), found {shown(move)}")
        after = self._kept(move.keep or ()) if move.category is None else self._scored(move.category, move.points)
        return after if dice is None else after.with_dice(dice)

    def _said(self, text: str) -> Move:
        """The move that a text names."""
        names = [category.name for category in self.rules.categories]
        if text.strip() in names:
            return Move(text, category=text.strip())
        keep = parse_keep(text, self.dice)
        if keep is not None:
            return Move(text, keep=keep)
        said = re.fullmatch(r"(?:score )?(.*?)(?: for (\d{1,9}))?", text.strip(), re.DOTALL)
        assert said
        return Move(
            text, category=names[find_box(said[1], self.rules)], points=None if said[2] is None else int(said[2])
        )

    def _kept(self, keep: Keep) -> Game:
        """The game after some dice were kept; if all were, one roll has passed."""
        if self.is_to_roll and not keep and not self.dice:
            return self  # all dice are to be rolled anyway
        self._check_on_the_table()
        if not self.rolls_left:
            raise UsageError("keep: no roll is left; say where to score the dice")
        check_kept(keep, self.dice)
        return replace(self, dice=tuple(sorted(keep)), rolls_left=self.rolls_left - (len(keep) == N_DICE))

    def _scored(self, category: str, points: int | None) -> Game:
        """The game after the dice were scored in a box, for so many points if these are given."""
        self._check_on_the_table()
        after = Game(self.adviser, self.card.play(find_box(category, self.rules), self.dice))
        if points not in {None, paid := after.score - self.score}:
            raise UsageError(f"{category}: these dice score {paid} there, found {points}")
        return after

    def _check_on_the_table(self) -> None:
        if self.is_to_roll:
            raise UsageError("dice: roll them first, with roll() or with_dice()")

    def _check_not_over(self) -> None:
        if self.is_over:
            raise UsageError("no box is free: the game is over")


def new_game(
    rules: Rules | str | Path | None = None,
    *,
    table: Table | str | Path | None = None,
    threads: int | None = None,
    limit_bytes: int | None = None,
    limit_s: float = LIMIT_S,
) -> Game:
    """A game before its first turn: one of the built-in ones, or that of a rule file; by default Yahtzee.

    A table is a short cut to the goals for which it has the values. Without one, the rest of the game is solved for
    the goal when that is asked for, with so many threads (by default one for each core) and so much memory at most
    (by default 1 GB). Against one other player it is solved exactly if that takes no longer than `limit_s` seconds;
    else the rule for several players decides.

    >>> yc.new_game("kniffel")
    kniffel    0 points, 0 of them in upper boxes
    card       every box is free
    dice       5 to roll, 3 rolls left
    """
    if threads is not None and not is_integer(threads, 1, MOST_THREADS):
        raise UsageError(f"threads: expected 1 to {MOST_THREADS}, found {shown(threads)}")
    if limit_bytes is not None and not is_integer(limit_bytes, 0, MOST):
        raise UsageError(f"limit_bytes: expected a number of bytes, found {shown(limit_bytes)}")
    if isinstance(limit_s, bool) or not isinstance(limit_s, int | float) or not limit_s >= 0:
        raise UsageError(f"limit_s: expected a number of seconds, found {shown(limit_s)}")
    if isinstance(table, str | Path):
        table = open_table(table)
    elif not isinstance(table, Table | None):
        raise UsageError(f"table: expected a directory, or a table of open_table(), found {shown(table)}")
    if rules is None:
        rules = table.rules if table else "yahtzee"
    if not isinstance(rules, Rules):
        rules = load_rules(str(rules))
    adviser = Adviser(rules, table, threads=threads, limit_bytes=limit_bytes, limit_s=limit_s)
    return Game(adviser, Scorecard.of(adviser.rules, {}))


def _in_words(other: Standing) -> str:
    n_free = other.anchor.free.bit_count()
    return f"{other.score} points, {n_free or 'no'} box{'es' * (n_free != 1)} free"
