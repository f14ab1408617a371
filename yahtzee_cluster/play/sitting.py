"""A sitting at a terminal: positions are asked one by one, to practise or as a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.game.notation import listed
from yahtzee_cluster.objectives.goals import MEAN, Goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.card_view import in_columns
from yahtzee_cluster.play.practice import Answered, Exercise, Marks, Rated, judged, rated

HELP = """\
k 2 2 2   keep these dice and roll the others; `k all` keeps all, `k nothing` rolls all
fh        score the dice there; 3k, ls, 6, yahtzee, or any name in full
quit      leave, with the score so far
An empty line shows the position again."""


class Sitting:
    """Asks for the moves of some exercises. In practice, those that were wrong come again, until all are right."""

    def __init__(
        self,
        adviser: Adviser,
        goal: Goal,
        exercises: Sequence[Exercise],
        *,
        is_test: bool = False,
        heard: Callable[[Answered], None] = lambda _: None,
    ) -> None:
        self._adviser, self._goal = adviser, goal
        self._n, self._left = len(exercises), [*exercises]
        self._is_test = is_test
        self._heard = heard
        """Is told of every answer."""
        self._first: dict[Exercise, Answered] = {}
        """The first answer to each exercise, which counts."""

    @property
    def marks(self) -> Marks:
        """The score so far."""
        return Marks(tuple(self._first.values()))

    @property
    def opening(self) -> str:
        """What is asked, and the first position."""
        return f"Playing for {self._goal.words}; `?` lists what can be said.\n\n{self._position}"

    @property
    def prompt(self) -> str:
        """The prompt, which names what is asked."""
        return f"{self._number}, {'keep' if self._left[0].rolls_left else 'box'}> "

    @property
    def is_over(self) -> bool:
        """Whether all exercises are answered."""
        return not self._left

    @property
    def closing(self) -> str:
        """The score; after a test, also what named strategies score, and the costliest mistakes."""
        if not self._first:
            return "No position was answered."
        return "\n".join(["", *score_in_words(self.marks, self._goal, self.rated if self._is_test else [])])

    @cached_property
    def rated(self) -> list[Rated]:
        """What named strategies score on the exercises that were answered."""
        return rated(self._adviser, self._goal, [*self._first])

    def hear(self, line: str) -> str:
        """Take a move and return what comes next. Invalid input changes nothing."""
        said = self._command(line)
        if said in {"", "?", "help"}:
            return HELP if said else self._position
        try:
            answer = judged(self._adviser, self._goal, self._left[0], line)
        except YahtzeeClusterError as error:
            return f"{error} (`?` lists what can be said)"
        exercise = self._left.pop(0)
        self._first.setdefault(exercise, answer)
        self._heard(answer)
        if not (self._is_test or answer.is_right):
            self._left.append(exercise)
        told = [] if self._is_test else ["Right." if answer.is_right else answer.judgement.in_words]
        return "\n".join([*told, f"\n{self._position}"] if self._left else told)

    def leaves(self, line: str) -> bool:
        """Whether a line ends the sitting."""
        return self._command(line) in {"q", "quit", "exit"}

    def _command(self, line: str) -> str | None:
        """A line in lower case; None for the name of a box."""
        names = {category.name for category in self._adviser.rules.categories}
        return None if line.strip() in names else line.strip().lower()

    @property
    def _number(self) -> str:
        n_first = len(self._first)
        return "once more" if self._left[0] in self._first else f"{n_first + 1} of {self._n}"

    @property
    def _position(self) -> str:
        """The scorecard and the dice, in lines."""
        exercise = self._left[0]
        dice = listed(exercise.dice)
        left = f"{exercise.rolls_left or 'no'} roll{'s' * (exercise.rolls_left != 1)} left"
        return "\n".join([f"{self._number}:", *in_columns(exercise.card), "", f"dice {dice}, {left}"])


def score_in_words(marks: Marks, goal: Goal, others: Sequence[Rated] = ()) -> list[str]:
    """A score in lines: by the kind of decision, beside those of strategies if there are any, and the mistakes."""
    unit = "points" if goal == MEAN else "chance" if goal.is_chance else "worth"
    lines = [f"{'':26}{'positions':>10}{'right':>7}{'loss':>10}"]
    for kind, part in [("all", marks), *marks.by_kind.items()]:
        lines.append(f"{kind:26}{len(part.answers):>10}{part.n_right:>7}{_loss(part.loss, goal):>10}")
    if others:
        yours = Rated("you", marks, None)
        lines += ["", f"{'on these positions':36}{'right':>7}{'loss':>10}{'in a game':>11}".rstrip()]
        for one in sorted([yours, *others], key=lambda one: one.marks.loss):
            in_a_game = "" if one.in_a_game is None else f"{one.in_a_game:11.4f}"
            lines.append(f"{one.name:36}{one.marks.n_right:>7}{_loss(one.marks.loss, goal):>10}{in_a_game}")
        lines += ["", "costliest mistakes:", *map(_in_words, marks.costliest)] if marks.costliest else []
    return [*lines, "", f"loss: {unit} lost in a position, on average"]


def _loss(loss: float, goal: Goal) -> str:
    return f"{100 * loss:.4f} %" if goal.is_chance else f"{loss:.4f}"


def _in_words(answer: Answered) -> str:
    """A mistake in a line."""
    exercise, judged_so = answer.exercise, answer.judgement
    dice, card = listed(exercise.dice), exercise.card.text or "every box is free"
    move = f"{judged_so.made.words}; best was {judged_so.best.words}"
    return f"{answer.loss:>9.4f}  {dice}, {exercise.kind}: {move} ({card})"
