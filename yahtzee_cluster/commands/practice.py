"""`yahtzee-cluster practice`: positions where people go wrong, to practise on or as a test."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from yahtzee_cluster.commands.shared import add_seed, count, read_games, seed_of
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.objectives.goals import MEAN, Goal, parse_goal
from yahtzee_cluster.output import check_file, refuse_flags
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.deck import MOST_EXERCISES, Deck, read_deck, write_deck
from yahtzee_cluster.play.practice import MOST, Answered, Exercise, Marks, draw, judged, rated
from yahtzee_cluster.play.record import Record
from yahtzee_cluster.play.review import review
from yahtzee_cluster.play.sitting import Sitting
from yahtzee_cluster.play.talk import talk
from yahtzee_cluster.runtime.configuration import parse_bytes
from yahtzee_cluster.tables.memory import half_of_memory

USUAL, IN_A_TEST = 10, 50
"""How many positions are asked, unless it is said."""
HOUR_S = 3600


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = (
        "Practise: positions are drawn by how often they occur and how often people go wrong there, or taken from "
        "games of your own, and asked until they are right. With --deck they come again after growing intervals, and "
        "with --test there is a score at the end, beside those of named strategies."
    )
    parser.epilog = f"Examples: {parser.prog} --deck mine.json; {parser.prog} --from game.txt; {parser.prog} --test"
    parser.add_argument(
        "--rules", metavar="NAME|FILE", help="a rule set (default: that of the deck or game, or yahtzee)"
    )
    parser.add_argument(
        "--goal",
        metavar="GOAL",
        help="what to play for, such as reach:250 (default: that of the deck or game, or mean)",
    )
    add_seed(parser, "the positions")
    parser.add_argument(
        "--count",
        type=count,
        metavar="N",
        help=f"how many positions to ask (default: {USUAL}, in a test {IN_A_TEST}, at most {MOST})",
    )
    parser.add_argument(
        "--deck",
        metavar="FILE",
        help="ask what is due in this deck, and new positions if that is too little; it is made if there is none",
    )
    parser.add_argument("--from", nargs="+", metavar="GAME", help="take the costliest decisions of these records")
    parser.add_argument("--test", action="store_true", help="say nothing in between, and give a score at the end")
    parser.add_argument("--cache", metavar="SIZE", help="memory for another goal than the mean (default: half of it)")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the positions as one JSON object; with --test, the score of moves on stdin, one for each",
    )


def run(options: argparse.Namespace) -> str:
    """Hold a sitting, or print what it would ask."""
    if options.test:
        refuse_flags(options, ["deck", "from"], "test: draws positions of its own")
    n = (IN_A_TEST if options.test else USUAL) if options.count is None else options.count
    if not 1 <= n <= MOST:
        raise UsageError(f"count: expected 1 to {MOST}, found {n}")
    if options.deck is not None:
        check_file(options.deck)
    rules = None if options.rules is None else load_rules(options.rules)
    files = getattr(options, "from") or []
    if "-" in files and not options.json:
        raise UsageError("from: standard input is for the moves; name files")
    games = read_games(files, rules)
    rules = games[0].rules if games else rules
    deck = read_deck(options.deck, rules) if options.deck is not None and Path(options.deck).exists() else None
    goal = _goal(options, deck, games)
    limit = half_of_memory() if options.cache is None else parse_bytes(options.cache)
    with Adviser(deck.rules if deck else rules or load_rules("yahtzee"), limit_bytes=limit) as adviser:
        return _Practice(options, adviser, goal, n).run(deck, games)


def _goal(options: argparse.Namespace, deck: Deck | None, games: Sequence[Record]) -> Goal:
    """The goal that is given, else that of the deck or of the games."""
    given = None if options.goal is None else parse_goal(options.goal)
    if deck:
        if given not in {None, deck.goal}:
            raise UsageError(f"goal: {options.deck} is a deck for {deck.goal}; name another deck")
        return deck.goal
    goals = {record.goal or str(MEAN) for record in games}
    if given is None and len(goals) > 1:
        raise UsageError("goal: these games were played for several goals; say which is meant")
    return given or parse_goal(next(iter(goals), str(MEAN)))


class _Practice:
    """A sitting with the flags of the command line."""

    def __init__(self, options: argparse.Namespace, adviser: Adviser, goal: Goal, n: int) -> None:
        self.options, self.adviser, self.goal, self.n = options, adviser, goal, n
        self.seed = seed_of(options)

    def run(self, deck: Deck | None, games: Sequence[Record]) -> str:
        """Draw or find the positions, and ask them."""
        found = self._of(games)
        if self.options.deck is None:
            exercises = found[: self.n] or draw(self.adviser, self.goal, self.n, self.seed)
            if not exercises:
                raise UsageError("goal: people hardly go wrong in this game; name another goal, or another game")
            if not self.options.json:
                return self._asked(exercises)
            return json.dumps(self._tested(exercises) if self.options.test else self._facts(exercises))
        now_s = time.time()
        deck = (deck or Deck(self.adviser.rules, self.goal)).with_exercises(found, now_s)
        missing = min(self.n - len(deck.due(now_s)), MOST_EXERCISES - len(deck.scheduled))
        if missing > 0 and not games:
            drawn = draw(self.adviser, self.goal, missing, self.seed, deck.exercises)
            deck = deck.with_exercises(drawn, now_s)
        exercises = deck.due(now_s)[: self.n]
        return json.dumps(self._facts(exercises)) if self.options.json else self._with_deck(deck, exercises)

    def _of(self, games: Sequence[Record]) -> tuple[Exercise, ...]:
        """The costliest decisions of games as exercises."""
        decided = [one for game in games for one in review(game, self.adviser, self.goal).costliest]
        exercises = []
        for one in sorted(decided, key=lambda one: -one.loss):
            assert one.position.card
            assert one.position.dice
            exercises.append(Exercise(one.position.card, one.position.dice, one.position.rolls_left))
        if games and not exercises:
            raise UsageError("from: no decision of these games could be better")
        return tuple(dict.fromkeys(exercises))

    def _asked(self, exercises: Sequence[Exercise]) -> str:
        """Ask exercises that belong to no deck."""
        said = talk(Sitting(self.adviser, self.goal, exercises, is_test=self.options.test))
        return f"{said}\nseed: {self.seed} asks the same positions again" if self.options.test else said

    def _with_deck(self, deck: Deck, exercises: Sequence[Exercise]) -> str:
        """Ask what is due. The deck is written after every answer."""
        file = self.options.deck
        write_deck(file, deck)
        if not exercises:
            hours = ((deck.next_due_s() or 0) - time.time()) / HOUR_S
            return f"{file}: nothing is due; the next position is in {hours:.1f} hours"

        def heard(answer: Answered) -> None:
            nonlocal deck
            deck = deck.answered(answer.exercise, answer.is_right, time.time())
            write_deck(file, deck)

        said = talk(Sitting(self.adviser, self.goal, exercises, heard=heard))
        return f"{said}\n{file}: {len(deck.due(time.time()))} of {len(deck.scheduled)} positions are due"

    def _facts(self, exercises: Sequence[Exercise]) -> dict[str, object]:
        asked = [exercise.to_dict() for exercise in exercises]
        seed = None if getattr(self.options, "from") else self.seed
        return {"rules": self.adviser.rules.name, "goal": str(self.goal), "seed": seed, "exercises": asked}

    def _tested(self, exercises: Sequence[Exercise]) -> dict[str, object]:
        """The score of the moves on standard input, a line for each exercise."""
        answers = []
        for number, (exercise, line) in enumerate(zip(exercises, sys.stdin, strict=False), 1):
            try:
                answers.append(judged(self.adviser, self.goal, exercise, line))
            except UsageError as error:
                raise UsageError(f"line {number}: {error}") from None
        asked = [answer.exercise for answer in answers]
        others = [one.to_dict() for one in rated(self.adviser, self.goal, asked)] if answers else []
        told = [answer.to_dict() for answer in answers]
        return self._facts(exercises) | Marks(tuple(answers)).to_dict() | {"answers": told, "strategies": others}
