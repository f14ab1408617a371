"""Advice turn by turn at a terminal, and line by line for other programs."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module

from yahtzee_cluster.errors import UsageError, YahtzeeClusterError
from yahtzee_cluster.fields import WHOLE_NUMBER, whole_number
from yahtzee_cluster.game.dice import Keep
from yahtzee_cluster.game.notation import anchor_of, find_box, parse_dice
from yahtzee_cluster.objectives.goals import MEAN, Goal, parse_goal
from yahtzee_cluster.output import wrapped, write_stdout
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.consulted import Consulted
from yahtzee_cluster.play.position import START_OF_TURN, Position, Standing
from yahtzee_cluster.play.wording import figures_of, listing, with_strategy
from yahtzee_cluster.text import shown

SHOWN = 5
PATIENCE_S = 0.5
"""So long the player waits before a turn until the rest of the game is solved; then it goes on in the background."""
HELP = """\
22256            the dice you see, in any order
fh               score them there; 3k, ls, 6, yahtzee, or any name in full
all              every legal move, not only the best
goal beat 250    play to score more than 250; also `goal reach 250`, `goal mean`, `goal win:231`, `goal table`
card             the boxes that are free, and the score
fh=25            in another player's turn: the box that was filled, and its points
undo             take back the last dice or box
quit             leave"""


# ---------------------------------------------------------------------------------------------- at a terminal


@dataclass(frozen=True)
class State:
    """The state of a conversation: the position, the goal, and who is to move."""

    position: Position
    goal: Goal
    other: int | None = None
    """Whose turn it is, if it is that of one of the other players of the position."""

    @property
    def is_over(self) -> bool:
        """Whether nobody has a turn any more."""
        return self.other is None and not self.position.anchor.free

    def followed(self, other: int) -> State:
        """The same when the next turn is that of another player, or of one after that, or of the player again."""
        others = self.position.others
        following = (at for at in range(other, len(others)) if others[at].anchor.free)
        return replace(self, other=next(following, None))


class Conversation:
    """Advice during a game: the player types what the dice show and which box is filled."""

    def __init__(self, adviser: Adviser, position: Position, goal: Goal, strategy: Consulted | None = None) -> None:
        self._adviser = adviser
        self._strategy = strategy
        self._states = [State(position, goal)]

    @property
    def state(self) -> State:
        """The current state."""
        return self._states[-1]

    @property
    def prompt(self) -> str:
        """The prompt, which names what comes next."""
        position, other = self.state.position, self.state.other
        if other is not None:
            return f"{self._name(other)}, box> "
        turn = self._adviser.rules.all_free.bit_count() - position.anchor.free.bit_count() + 1
        if position.rolls_left == 0:
            return f"turn {turn}, box> "
        return f"turn {turn}, roll {START_OF_TURN - position.rolls_left + 1}> "

    def hear(self, line: str) -> str:
        """Carry out a line of input and return the answer. Invalid input changes nothing."""
        try:
            match self._command(line):
                case "?" | "help":
                    return HELP
                case "all":
                    return self.advice(None)
                case "card":
                    return self._card()
                case command:
                    states, said = self._after(command, line)
            said += self._advice(states[-1], SHOWN)
        except YahtzeeClusterError as error:
            return f"{error} (`?` lists what can be said)"
        self._states = states
        return said

    def leaves(self, line: str) -> bool:
        """Whether a line ends the conversation."""
        return self._command(line) in {"q", "quit", "exit"}

    def _command(self, line: str) -> str:
        """The first word of a line; empty where the line is the name of a box."""
        said = line.strip().lower()
        names = {category.name.lower() for category in self._adviser.rules.categories}
        return "" if said in names else said.partition(" ")[0]

    def _after(self, command: str, line: str) -> tuple[list[State], str]:
        """All states from the first on after a line of input, and the first part of the answer."""
        said = line.strip().lower()
        if command == "goal":
            return [*self._states, replace(self.state, goal=self._goal(said.partition(" ")[2]))], ""
        if command in {"undo", "u"}:
            if len(self._states) == 1:
                raise UsageError("nothing to take back")
            return self._states[:-1], ""
        if not said:
            return self._states, ""
        if self.state.other is not None:
            return [*self._states, self._filled(self.state.other, said)], ""
        if command[:1].isdigit() and len(said) > 2 and not re.search(r"[^\W\d]", said):
            return [*self._states, self._thrown(parse_dice(said))], ""
        return self._scored(find_box(said, self._adviser.rules))

    def advice(self, most: int | None = SHOWN) -> str:
        """Advice for the current position."""
        return self._advice(self.state, most)

    def _advice(self, state: State, most: int | None) -> str:
        position, goal = state.position, state.goal
        if state.other is not None:
            return f"{self._name(state.other).capitalize()} is to move: say which box is filled, as in full-house=25."
        if not position.anchor.free:
            others = "".join(f", {self._name(at)} has {other.score}" for at, other in enumerate(position.others))
            return f"The game is over: {position.score} points{others}."
        if position.roll is None and not self._adviser.prepare(position, goal, PATIENCE_S):
            return f"{self._card(position)}\nPlaying for {goal.words}; the rest of the game is being solved meanwhile."
        advice = self._adviser.advise(position, goal)
        if position.roll is None:
            figures = ", ".join(figure.in_a_sentence for figure in figures_of(advice[0], goal))
            return f"{self._card(position)}\nPlaying for {goal.words}: {figures}."
        said = self._strategy.said(position, advice) if self._strategy else None
        return with_strategy(listing(advice, goal, most), said, advice)

    def _goal(self, said: str) -> Goal:
        if said != "table":
            return goal_said(said)
        if self._adviser.goal == MEAN:
            raise UsageError("goal: there is no table of some utility to play by")
        return self._adviser.goal

    def _card(self, position: Position | None = None) -> str:
        rules, position = self._adviser.rules, position or self.state.position
        boxes = [category.name for c, category in enumerate(rules.categories) if position.anchor.free >> c & 1]
        upper = f", {position.anchor.upper or 0} of them in upper boxes" if rules.upper_bonus else ""
        return wrapped(f"{position.score} points{upper}; free: {', '.join(boxes) or 'nothing'}")

    def _name(self, other: int) -> str:
        """What one of the other players is called."""
        return "the other player" if len(self.state.position.others) == 1 else f"player {other + 2}"

    def _filled(self, other: int, said: str) -> State:
        """The state after another player has filled a box."""
        others = [*self.state.position.others]
        before = others[other].card
        assert before
        card = before.and_then(said if "=" in said else re.sub(r"\s+(?=\d+$)", "=", said))
        if card.anchor.free.bit_count() != before.anchor.free.bit_count() - 1:
            raise UsageError("expected one box and its points, as in full-house=25")
        others[other] = Standing.of(card)
        position = replace(self.state.position, others=tuple(others))
        return replace(self.state, position=position).followed(other + 1)

    def _thrown(self, roll: Keep) -> State:
        position = self.state.position
        if not position.anchor.free:
            raise UsageError("the game is over")
        if position.rolls_left == 0:
            raise UsageError("that was the last roll: say where to score it")
        return replace(self.state, position=replace(position, roll=roll, rolls_left=position.rolls_left - 1))

    def _scored(self, category: int) -> tuple[list[State], str]:
        position = self.state.position
        if position.roll is None:
            raise UsageError("no dice are on the table yet")
        after, points = self._adviser.score(position.anchor, position.roll, category)
        state = replace(self.state, position=Position(after, score=position.score + points, others=position.others))
        return [
            *self._states,
            state.followed(0),
        ], f"{self._adviser.rules.categories[category].name}: {points} points.\n"


def goal_said(text: str) -> Goal:
    """Parse a goal as it is typed: `beat 250`, `reach 250`, or as `parse_goal` reads it."""
    match text.split():
        case ["beat", number]:
            return parse_goal(f"above:{number}")
        case ["reach", number]:
            return parse_goal(f"reach:{number}")
    return parse_goal(text)


def talk(conversation: Conversation) -> str:
    """Hold a conversation until the player leaves or the game is over; return the last line to print."""
    if sys.stdin.isatty():
        with suppress(ImportError):
            import_module("readline")  # lets the player edit what is typed
    write_stdout(conversation.advice())
    while not conversation.state.is_over:
        try:
            line = input(conversation.prompt if sys.stdin.isatty() else "")
        except (EOFError, KeyboardInterrupt) as end:
            if sys.stdin.isatty():
                write_stdout("")  # after the prompt
            if isinstance(end, KeyboardInterrupt):
                raise
            break
        if conversation.leaves(line):
            break
        write_stdout(conversation.hear(line))
    return f"{conversation.state.position.score} points."


# ------------------------------------------------------------------------------------------------ line by line


def answer_lines(adviser: Adviser) -> None:
    """Answer every line of stdin with one on stdout; an invalid line with the reason."""
    n_refused = 0
    for number, line in enumerate(sys.stdin, start=1):
        try:
            write_stdout(answer(line, adviser))
        except UsageError as error:
            n_refused += 1
            write_stdout(f"error: line {number}: {error}")
    if n_refused:
        raise UsageError(f"lines that could not be answered: {n_refused}")


def answer(line: str, adviser: Adviser) -> str:
    """The best move in the position that a line states, after the expected points still to come.

    With a table of some utility, the expected utility comes first instead.
    """
    advice = adviser.advise(parse_line(line, adviser))[0]
    worth = advice.worth if advice.p is None else advice.p
    return f"{f'{advice.expected:.6f}' if worth is None else f'{worth:.12g}'} {advice.move.words}"


def parse_line(line: str, adviser: Adviser) -> Position:
    """The position that a line states.

    A mark for each box, `x` if it is used and `-` if not; the points in the upper boxes; whether further Yahtzees pay a
    bonus, `True` or `False`; how many rerolls are left, 3 before the first roll; five dice; and for a table of some
    utility the score so far.
    """
    rules = adviser.rules
    words, n_boxes = line.split(), len(rules.categories)
    last = ["the score so far"] if adviser.goal != MEAN else []
    if len(words) != n_boxes + 8 + len(last):
        wanted = [f"{n_boxes} marks", "upper total", "True or False", "rerolls left", "five dice", *last]
        raise UsageError(
            f"expected {', '.join(wanted[:-1])} and {wanted[-1]}: {n_boxes + 8 + len(last)} words, found {len(words)}"
        )
    score = words.pop() if last else "0"
    marks, (upper, active, left, *dice) = words[:n_boxes], words[n_boxes:]
    if not set(marks) <= {"x", "-"}:
        raise UsageError(f"marks: expected x for a used box and - for a free one, found {shown(' '.join(marks))}")
    numbers = {"upper total": upper, "score so far": score}
    for name, number in numbers.items():
        if whole_number(number) is None:
            raise UsageError(f"{name}: {WHOLE_NUMBER}, found {shown(number)}")
    if active not in {"True", "False"}:
        raise UsageError(f"bonus active: expected True or False, found {shown(active)}")
    if left not in {"0", "1", "2", "3"}:
        raise UsageError(f"rerolls left: expected 0, 1, 2 or 3, found {shown(left)}")
    used = sum(1 << box for box, mark in enumerate(marks) if mark == "x")
    anchor = anchor_of(adviser.anchors, used, int(upper), active == "True")
    if int(left) == START_OF_TURN:
        return Position(anchor, score=int(score))
    return Position(anchor, parse_dice(" ".join(dice)), int(left), int(score))
