"""Advice turn by turn at a terminal: a companion through a whole game."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from yahtzee_cluster.errors import FileError, UsageError, YahtzeeClusterError
from yahtzee_cluster.fields import read_text
from yahtzee_cluster.game.dice import FACES, N_DICE, Keep
from yahtzee_cluster.game.notation import check_kept, find_box, listed, parse_dice, parse_keep
from yahtzee_cluster.objectives.goals import MEAN, Goal, parse_goal
from yahtzee_cluster.output import wrapped, write_file
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.answer import Advice
from yahtzee_cluster.play.card_view import in_columns, paid_in_words
from yahtzee_cluster.play.choices import TIE
from yahtzee_cluster.play.consulted import Consulted, Decision, decision_of
from yahtzee_cluster.play.judgement import judge
from yahtzee_cluster.play.position import START_OF_TURN, Position, Standing
from yahtzee_cluster.play.record import Record, Roll, Turn, begun_at, parse_record
from yahtzee_cluster.play.review import in_figures, review
from yahtzee_cluster.play.wording import columns_of, listing, percentiles, with_strategy
from yahtzee_cluster.text import shown

SHOWN = 5
PATIENCE_S = 0.5
"""So long the player waits before a turn until the rest of the game is solved; then it goes on in the background."""
TO_ROLL = "say first what the other dice show, or `roll` them"
COSTLIEST = 3
"""Decisions that a review at the prompt names."""
HELP = """\
22256            the dice you see, in any order
k 2 2 2          keep these and roll the others; then their faces are enough, or `roll` rolls for you
fh               score the dice there; 3k, ls, 6, yahtzee, or any name in full
all              every legal move, not only the best
goal beat 250    play to score more than 250; also `goal reach 250`, `goal mean`, `goal win:231`, `goal table`
card             the scorecard
dist             how the final score is distributed from here
review           how much was luck so far, and what the moves cost
save FILE        write the game down; `load FILE` goes on with it
fh=25            in another player's turn: the box that was filled, and its points
undo             take back what was said last: dice, a keep, a box, a goal
quit             leave"""


@dataclass(frozen=True)
class State:
    """The state of a conversation: the position, the goal, and who is to move."""

    position: Position
    goal: Goal
    other: int | None = None
    """Whose turn it is, if it is that of one of the other players of the position."""
    record: Record | None = None
    """The game so far; None where nothing tells what is in the boxes."""
    rolls: tuple[Roll, ...] = ()
    """The rolls of this turn before the dice on the table."""
    kept: Keep | None = None
    """What is kept of the dice on the table, if that was said; the others are about to be rolled."""

    @property
    def is_over(self) -> bool:
        """Whether nobody has a turn any more."""
        return self.other is None and not self.position.anchor.free

    def followed(self, other: int) -> State:
        """The same when the next turn is that of another player, or of one after that, or of the player again."""
        others = self.position.others
        following = (at for at in range(other, len(others)) if others[at].anchor.free)
        return replace(self, other=next(following, None))


Reply = tuple[list[State], str]
"""All states from the first on, and the first part of the answer."""


class Conversation:
    """Advice during a game: the player types what the dice show and which box is filled."""

    def __init__(
        self,
        adviser: Adviser,
        position: Position,
        goal: Goal,
        strategy: Consulted | None = None,
        seed: int | None = None,
    ) -> None:
        self._adviser = adviser
        self._strategy = strategy
        self._random = np.random.default_rng(seed)
        self._states = [State(position, goal, record=begun_at(position, adviser.rules))]
        self._questions: dict[str, Callable[[str], str]] = {
            "?": lambda _: HELP,
            "help": lambda _: HELP,
            "all": lambda _: self.advice(None),
            "card": lambda _: self._whole_card(),
            "dist": lambda _: self._distribution(),
            "review": lambda _: self._review(self.state),
            "save": self._save,
        }
        self._commands: dict[str, Callable[[str], Reply]] = {
            "goal": lambda said: ([*self._states, replace(self.state, goal=self._goal(said))], ""),
            "load": lambda file: ([*self._states, self._loaded(file)], ""),
            "undo": self._undo,
            "u": self._undo,
            "k": self._keep,
            "keep": self._keep,
            "roll": self._roll,
        }

    @property
    def state(self) -> State:
        """The current state."""
        return self._states[-1]

    @property
    def opening(self) -> str:
        """Advice for the first position."""
        return self.advice()

    @property
    def is_over(self) -> bool:
        """Never: the last box can still be taken back."""
        return False

    @property
    def closing(self) -> str:
        """The score."""
        return f"{self.state.position.score} points."

    @property
    def prompt(self) -> str:
        """The prompt, which names what comes next."""
        position, other = self.state.position, self.state.other
        if other is not None:
            return f"{self._name(other)}, box> "
        if not position.anchor.free:
            return "game over> "
        turn = self._adviser.rules.all_free.bit_count() - position.anchor.free.bit_count() + 1
        if self.state.kept is not None:
            left = N_DICE - len(self.state.kept)
            return f"turn {turn}, roll {START_OF_TURN - position.rolls_left + 1}, {left} dice> "
        if position.rolls_left == 0:
            return f"turn {turn}, box> "
        return f"turn {turn}, roll {START_OF_TURN - position.rolls_left + 1}> "

    def hear(self, line: str) -> str:
        """Carry out a line of input and return the answer. Invalid input changes nothing."""
        command = self._command(line)
        rest = line.strip()[len(command) :].strip()
        try:
            if command in self._questions:
                return self._questions[command](rest)
            states, said = self._after(command, rest, line.strip().lower())
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
        if said in names:
            return ""
        return "k" if re.match(r"k\d", said) else said.partition(" ")[0]

    def _after(self, command: str, rest: str, said: str) -> Reply:
        """All states from the first on after a line of input, and the first part of the answer."""
        if command in self._commands:
            return self._commands[command](rest)
        if not said:
            return self._states, ""
        if self.state.other is not None:
            return [*self._states, self._filled(self.state.other, said)], ""
        has_faces = len(said) > 1 or self.state.kept is not None
        if command and said[0].isdigit() and has_faces and not re.search(r"[^\W\d]", said):
            return [*self._states, self._thrown(said)], ""
        return self._scored(find_box(said, self._adviser.rules))

    def _undo(self, _: str) -> Reply:
        if len(self._states) == 1:
            raise UsageError("nothing to take back")
        return self._states[:-1], ""

    def _roll(self, _: str) -> Reply:
        """Roll all dice, or those that were not kept."""
        if self.state.other is not None:
            raise UsageError("roll: it is another player's turn")
        if self.state.position.dice and self.state.kept is None:
            raise UsageError("roll: say first what you keep, as in k 2 2 2")
        dice = self._random.integers(1, len(FACES) + 1, N_DICE - len(self.state.kept or ())).tolist()
        state = self._thrown("".join(map(str, dice)))
        return [*self._states, state], f"{listed(state.position.dice or ())}\n"

    def advice(self, most: int | None = SHOWN) -> str:
        """Advice for the current position."""
        return self._advice(self.state, most)

    def _advice(self, state: State, most: int | None) -> str:
        position, goal = state.position, state.goal
        if state.kept is not None and most is not None:
            return self._of_kept(state, state.kept)
        if state.other is not None:
            return f"{self._name(state.other).capitalize()} is to move: say which box is filled, as in full-house=25."
        if not position.anchor.free:
            others = "".join(f", {self._name(at)} has {other.score}" for at, other in enumerate(position.others))
            return "\n".join([f"The game is over: {position.score} points{others}.", *self._end(state)])
        if position.roll is None and not self._adviser.prepare(position, goal, PATIENCE_S):
            return f"{self._card(position)}\nPlaying for {goal.words}; the rest of the game is being solved meanwhile."
        advice = self._adviser.advise(position, goal)
        if position.roll is None:
            figures = ", ".join(figure.in_a_sentence for figure in columns_of(advice[:1], goal))
            return f"{self._card(position)}\nPlaying for {goal.words}: {figures}."
        said = self._strategy.said(position, advice) if self._strategy else None
        return with_strategy(listing(advice, goal, most), said, advice) + self._same_as_scoring(state, advice[0])

    def _of_kept(self, state: State, kept: Keep) -> str:
        """What it is worth that these dice were kept, and what that costs."""
        advice = self._adviser.advise(state.position, state.goal)
        made = next(one for one in advice if decision_of(one.move) == kept)
        figures = ", ".join(figure.in_a_sentence for figure in columns_of([made], state.goal))
        return f"{made.move.words}: {figures}. {self._cost(state, kept) or 'That is the best.'}"

    def _same_as_scoring(self, state: State, best: Advice) -> str:
        """That to keep all dice is to score them at once, where that is best."""
        if best.move.keep is None or len(best.move.keep) < N_DICE:
            return ""
        (box, chance), *_ = self._adviser.answer(state.position, state.goal).ends
        return f"\nTo keep all dice comes to the same as to score {box} at once." if chance > 1 - TIE else ""

    def _end(self, state: State) -> list[str]:
        """The scorecard, and the review of the game if there can be one."""
        if state.record is None or state.position.others:
            return []
        return ["", *in_columns(state.record.cards[-1]), "", self._review(state)]

    def _goal(self, said: str) -> Goal:
        if not said:
            raise UsageError(f"goal: say which, as in goal reach 250; now it is {self.state.goal.words}")
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

    def _whole_card(self) -> str:
        """The scorecard, or what is known of it."""
        record = self.state.record
        return self._card() if record is None else "\n".join(in_columns(record.cards[-1]))

    def _distribution(self) -> str:
        """Percentiles of the final score when playing for the goal from here on."""
        state = self.state
        if not state.position.anchor.free:
            raise UsageError("the game is over")
        if state.kept is not None:
            raise UsageError(TO_ROLL)
        found = self._adviser.answer(state.position, state.goal, with_distribution=True).distribution
        assert found
        return "\n".join(percentiles(found.to_dict()["percentiles"]))

    def _review(self, state: State) -> str:
        """Luck and loss so far, and the costliest decisions."""
        if state.record is None or state.position.others:
            raise UsageError("review: only of a game whose boxes are all known, and without other players")
        if not state.record.turns:
            raise UsageError("review: no turn is over yet")
        found = review(state.record, self._adviser, state.goal)
        figures = {name: value for name, value in found.figures.items() if name not in {"start", "result"}}
        return "\n".join([*in_figures(figures), *(decision.words for decision in found.costliest[:COSTLIEST])])

    def _save(self, file: str) -> str:
        """Write the game down, without the turn that is not finished."""
        if not file or self.state.record is None:
            raise UsageError("save: name a file" if not file else "save: nothing tells what is in the boxes")
        try:
            write_file(file, self.state.record.text)
        except FileError as error:
            raise UsageError(f"save: {file} {error.problem}") from error
        n_turns = len(self.state.record.turns)
        return f"{file} has {n_turns} turn{'s' * (n_turns != 1)}."

    def _loaded(self, file: str) -> State:
        """The state after the turns that a file records."""
        if not file:
            raise UsageError("load: name a file")
        record = parse_record(read_text(file), file, self._adviser.rules)
        if record.rules.table != self._adviser.rules.table:
            raise UsageError(f"load: {file} is a game of {record.rules.name}")
        if self.state.position.others:
            raise UsageError("load: only without other players, whose boxes a record does not have")
        return State(Position.of(record.cards[-1]), self.state.goal, record=record)

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

    def _thrown(self, text: str) -> State:
        """The state after a roll: all dice, or those that were not kept."""
        state = self.state
        position, kept = state.position, state.kept
        if not position.anchor.free:
            raise UsageError("the game is over")
        if position.rolls_left == 0:
            raise UsageError("that was the last roll: say where to score it")
        faces = re.sub(r"[\s,]+", "", text)
        if kept is not None and len(faces) < N_DICE:
            if len(faces) != N_DICE - len(kept):
                rolled = f"those rolled, {N_DICE - len(kept)} in number"
                raise UsageError(f"dice: expected {rolled}, or all {N_DICE}; found {shown(text)}")
            faces += "".join(map(str, kept))
        roll = parse_dice(faces if kept is not None else text)
        if kept is not None and Counter(kept) - Counter(roll):
            raise UsageError(f"dice: {listed(kept)} were kept, found {listed(roll)}")
        rolls = (*state.rolls, Roll(position.dice, kept)) if position.dice else ()
        after = replace(position, roll=roll, rolls_left=position.rolls_left - 1)
        return replace(state, position=after, rolls=rolls, kept=None)

    def _on_the_table(self) -> Keep:
        """The dice, if all five lie there."""
        if self.state.kept is not None:
            raise UsageError(TO_ROLL)
        if self.state.position.dice is None:
            raise UsageError("no dice are on the table yet: say what they show, or `roll` them")
        return self.state.position.dice

    def _keep(self, said: str) -> Reply:
        """The states after a keep, and what it costs."""
        state, position, dice = self.state, self.state.position, self._on_the_table()
        if position.rolls_left == 0:
            raise UsageError("no roll is left: say where to score the dice")
        keep = parse_keep(f"keep {said}", dice) or ()
        check_kept(keep, dice)
        if len(keep) < N_DICE:
            return [*self._states, replace(state, kept=keep)], ""
        cost = self._cost(state, keep)
        after = replace(position, rolls_left=position.rolls_left - 1)
        rolls = (*state.rolls, Roll(dice, keep))
        return [*self._states, replace(state, position=after, rolls=rolls)], f"{cost}\n" * bool(cost)

    def _scored(self, category: int) -> Reply:
        state, position, dice = self.state, self.state.position, self._on_the_table()
        name = self._adviser.rules.categories[category].name
        after, points = self._adviser.score(position.anchor, dice, category)
        record, told = state.record, f"{name}: {points} points"
        if record is not None:
            rolls = [*state.rolls]
            while rolls and rolls[-1].kept == dice:  # to keep all dice and then score is to score at once
                rolls.pop()
            record = record.with_turn(Turn((*rolls, Roll(dice)), category))
            before, latest = record.cards[-2:]
            told = paid_in_words(before, latest, category)
        card = record.cards[-1] if record else None
        then = Position(after, score=position.score + points, card=card, others=position.others)
        told = " ".join(filter(None, [f"{told}.", self._cost(state, name)]))
        return [*self._states, State(then, state.goal, record=record).followed(0)], f"{told}\n"

    def _cost(self, state: State, decision: Decision) -> str:
        """What a move costs, if it is not the best; with the best one, and how to take it back."""
        found = judge(self._adviser, state.position, state.goal, decision)
        return f"{found.in_words} `undo` takes it back." if found.loss else ""


def goal_said(text: str) -> Goal:
    """Parse a goal as it is typed: `beat 250`, `reach 250`, or as `parse_goal` reads it."""
    match text.split():
        case ["beat", number]:
            return parse_goal(f"above:{number}")
        case ["reach", number]:
            return parse_goal(f"reach:{number}")
    return parse_goal(text)
