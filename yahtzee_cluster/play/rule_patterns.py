"""Rules for keeping and for scoring, compiled to what the kernel `rule_lists` follows.

A rule becomes one or more *parts*, which are tried in their order: a rule on pairs whose box is free has one part for
each face, as the box is another one each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import whole_number
from yahtzee_cluster.game.dice import FACES, INDEX, N_DICE, ROLLS, Keep
from yahtzee_cluster.kernels.rule_lists import NO_KEEP
from yahtzee_cluster.play.rule_words import QUANTITIES, Cards, Conditions, GameWords, Words
from yahtzee_cluster.text import shown

Options = Callable[[Keep, Sequence[int]], Iterator[tuple[int, Keep]]]
"""What a pattern may keep of a roll, with the face that its conditions speak of or 0; given the order of faces."""

EQUAL = {"five of a kind": 5, "four of a kind": 4, "three of a kind": 3, "triple": 3, "pair": 2, "single": 1}
PATTERNS = (
    *EQUAL, "large straight", "small straight", "run of N", "full house", "two pairs", "all dice", "nothing",
    "dice from N up", "faces such as 2 3 4",
)  # fmt: skip
ARTICLES = ("a", "any", "the")
FIRST = ("high first", "low first")


@dataclass(frozen=True)
class KeepPart:
    """One part of a rule for keeping."""

    keep: NDArray[np.uint16]
    """[first or second keep, roll]: an index into KEEPS, or NO_KEEP."""
    applies: Cards


@dataclass(frozen=True)
class ScorePart:
    """One part of a rule for scoring."""

    box: int
    rows: NDArray[np.bool_]
    """[row of `Moves`]: whether it matches."""
    applies: Cards
    for_bonus: bool = False


# -------------------------------------------------------------------------------------------------- keeping


def read_keep(words: Words, game: GameWords) -> list[KeepPart]:
    """Read a rule for keeping."""
    start = words.next
    options, has_face = _pattern(words, game)
    order = [*FACES]
    if first := words.take_any([form for name in FIRST for form in (f", {name}", name)]):
        if not (has_face or (isinstance(options, partial) and options.func is _run)):
            raise UsageError(f"`{first.strip(', ')}` goes with equal dice and runs, not after {shown(start)}")
        order = order if "low" in first else order[::-1]
    else:
        order.reverse()
    conditions = Conditions(words, game, keeps=True, has_face=has_face)
    condition = conditions.read()
    parts = []
    for face in order if conditions.uses_face else [0]:
        keep = np.array([_first_keep(options(roll, order), face) for roll in ROLLS], np.uint16)
        first_time, second_time = condition(face, 2), condition(face, 1)
        never = np.full_like(keep, NO_KEEP)
        if np.array_equal(first_time, second_time):
            parts.append(KeepPart(np.stack([keep, keep]), first_time))
        else:
            parts.append(KeepPart(np.stack([keep, never]), first_time))
            parts.append(KeepPart(np.stack([never, keep]), second_time))
    return parts


def _first_keep(options: Iterator[tuple[int, Keep]], face: int) -> int:
    return next((INDEX[keep] for shown, keep in options if face in {0, shown}), NO_KEEP)


def _pattern(words: Words, game: GameWords) -> tuple[Options, bool]:
    """Read a pattern, and whether it has a face."""
    exactly = words.take("exactly")
    words.take_any(ARTICLES)
    if equal := words.take_any([*EQUAL]):
        faces = _faces(words) if words.take("of") else (*FACES,)
        return partial(_equal, EQUAL[equal], exactly, faces), True
    if exactly:
        words.refuse(f"one of {', '.join(EQUAL)} after `exactly`", [*EQUAL])
    return _pattern_without_face(words, game), False


def _pattern_without_face(words: Words, game: GameWords) -> Options:
    for name, options in PLAIN.items():
        if words.take(name):
            return options
    if words.take("run of"):
        length = words.number("dice")
        if not 2 <= length <= N_DICE:
            raise UsageError(f"run of: expected 2 to {N_DICE} dice, found {length}")
        found: Options = partial(_run, length)
    elif words.take("all dice"):
        found = _scoring(words, game) if words.take("scoring") else _all_dice
    elif words.take("dice from"):
        found = partial(_from_up, words.number("pips"))
        if not words.take("up"):
            words.refuse("`up`")
    elif whole_number(words.next) is not None:
        wanted = [_faces(words)]
        while words.take("or"):
            wanted.append(_faces(words))
        found = partial(_named, wanted)
    else:
        words.refuse(f"what to keep: {', '.join(PATTERNS)}", PATTERNS)
    return found


def _faces(words: Words) -> Keep:
    found: list[int] = []
    while whole_number(words.next) is not None or not found:
        face = words.number("pips")
        if face not in FACES or len(found) == 6:
            words.refuse(f"at most six faces from {FACES[0]} to {FACES[-1]} before this")
        found.append(face)
    return tuple(sorted(found))


def _equal(n: int, exactly: bool, faces: Sequence[int], roll: Keep, order: Sequence[int]) -> Iterator[tuple[int, Keep]]:
    for face in order:
        count = roll.count(face)
        if face in faces and (count == n if exactly else count >= n):
            yield face, (face,) * count


def _run(length: int, roll: Keep, order: Sequence[int]) -> Iterator[tuple[int, Keep]]:
    for first in order:
        run = tuple(range(first, first + length))
        if set(run) <= set(roll):
            yield 0, run


def _named(wanted: Sequence[Keep], roll: Keep, _: Sequence[int]) -> Iterator[tuple[int, Keep]]:
    for faces in wanted:
        if all(roll.count(face) >= faces.count(face) for face in faces):
            yield 0, faces


def _two_pairs(roll: Keep, order: Sequence[int]) -> Iterator[tuple[int, Keep]]:
    pairs = [face for face in order if roll.count(face) >= 2]
    if len(pairs) == 2:
        yield 0, tuple(sorted(pairs * 2))


def _full_house(roll: Keep, _: Sequence[int]) -> Iterator[tuple[int, Keep]]:
    if sorted(roll.count(face) for face in set(roll)) == [2, 3]:
        yield 0, roll


def _from_up(lowest: int, roll: Keep, _: Sequence[int]) -> Iterator[tuple[int, Keep]]:
    if high := tuple(face for face in roll if face >= lowest):
        yield 0, high


def _all_dice(roll: Keep, _: Sequence[int]) -> Iterator[tuple[int, Keep]]:
    yield 0, roll


def _nothing(_: Keep, __: Sequence[int]) -> Iterator[tuple[int, Keep]]:
    yield 0, ()


PLAIN: dict[str, Options] = {
    "large straight": partial(_run, 5),
    "small straight": partial(_run, 4),
    "full house": _full_house,
    "two pairs": _two_pairs,
    "nothing": _nothing,
}


def _scoring(words: Words, game: GameWords) -> Options:
    """All dice of a roll that scores so many points in a box, as no joker."""
    quantity = words.take_any([*QUANTITIES])
    points = words.number("points")
    if not words.take("in"):
        words.refuse("`in` and a box")
    category = game.rules.categories[game.box(words)]

    def options(roll: Keep, _: Sequence[int]) -> Iterator[tuple[int, Keep]]:
        if QUANTITIES[quantity or "exactly"](np.array([category.score(roll)]), points)[0]:
            yield 0, roll

    return options


# -------------------------------------------------------------------------------------------------- scoring


def read_score(words: Words, game: GameWords) -> list[ScorePart]:
    """Read a rule for scoring."""
    by_points = words.take("most points")
    with_bonus = by_points and words.take("and bonus")
    everywhere = by_points and not words.take("of")
    boxes = [*range(len(game.rules.categories))] if everywhere else _boxes(words, game)
    points = _own_points(game)
    matches: NDArray[np.bool_] | None = None
    for_bonus = False
    while True:
        if words.take("with") or words.take(", with"):
            found = _matching(words, game, points, boxes)
            matches = found if matches is None else matches & found
        elif words.take("winning the upper bonus") or words.take(", winning the upper bonus"):
            for_bonus = True
        else:
            break
    if matches is None:
        matches = points > 0
    applies = Conditions(words, game, keeps=False, has_face=False).read()(0, 0)
    if not by_points:
        return [ScorePart(box, matches[:, box], applies, for_bonus) for box in boxes]
    ranked = [(worth, -n, box, False) for n, box in enumerate(boxes) for worth in set(points[:, box].tolist())]
    if with_bonus:
        ranked += [(worth + game.rules.upper_bonus, n, box, True) for worth, n, box, _ in ranked]
    return [
        ScorePart(box, rows, applies, wins or for_bonus)
        for worth, _, box, wins in sorted(ranked, reverse=True)
        if (rows := matches[:, box] & (points[:, box] == worth - wins * game.rules.upper_bonus)).any()
    ]


def _boxes(words: Words, game: GameWords) -> list[int]:
    if not words.take("upper box"):
        return game.boxes(words)
    first = words.take_any([form for name in FIRST for form in (f", {name}", name)])
    return game.upper if "low" in first else game.upper[::-1]


def _own_points(game: GameWords) -> NDArray[np.int64]:
    """[row, box]: the points there, without the bonus for a further Yahtzee."""
    outcomes = game.moves.outcome_of[:, : len(game.rules.categories)]
    return np.array([outcome.points - outcome.extra for outcome in game.moves.outcomes])[outcomes]


def _matching(words: Words, game: GameWords, points: NDArray[np.int64], boxes: Sequence[int]) -> NDArray[np.bool_]:
    """[row, box]: whether a row scores as many points, or dice, as the words say; more than zero unless they do."""
    quantity = words.take_any([*QUANTITIES]) or "exactly"
    n = words.number("points or dice")
    what = words.take_any(("points", "point", "dice", "die"))
    if not what:
        words.refuse("`points` or `dice`", ("points", "dice"))
    if what.startswith("di"):
        faces = [category.face or 0 for category in game.rules.categories]
        if not all(faces[box] for box in boxes):
            words.refuse("dice counted in upper boxes only, before this")
        points = points // np.maximum(faces, 1)
    found = QUANTITIES[quantity](points, n)
    return found if (quantity, n) == ("exactly", 0) else found & (points > 0)


def last_resort(game: GameWords, order: Sequence[int]) -> list[ScorePart]:
    """The boxes to sacrifice where no rule matches, in their order."""
    rows = np.ones(len(game.moves.scoring), bool)
    return [ScorePart(box, rows, np.ones_like(game.free, bool)) for box in order]
