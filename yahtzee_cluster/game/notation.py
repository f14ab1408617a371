"""Text notation of positions: dice, boxes and scorecards, parsed from what a user types."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import index

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.dice import FACES, N_DICE, Keep
from yahtzee_cluster.game.rules import Anchor, Category, Rules
from yahtzee_cluster.text import names_in, shown, suggestion

DIGIT_OF = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}
FILLERS = {"of", "a", "the"}


def parse_dice(text: str) -> Keep:
    """Five dice: `22256`, `2,2,2,5,6` or `2 2 2 5 6`, in any order."""
    said = re.sub(r"[\s,]+", "", text)
    if not set(said) <= set(map(str, FACES)):
        raise _no_dice(text.strip())
    return five_dice(map(int, said), text.strip())


def five_dice(faces: Iterable[int], said: object = None) -> Keep:
    """Five dice, given as numbers in any order; an error message shows `said` in their place, if given."""
    given = faces if said is None else said
    try:
        faces = [*faces]
        if any(isinstance(face, bool) for face in faces):
            raise _no_dice(given)
        dice = tuple(sorted(map(index, faces)))
    except TypeError:
        raise _no_dice(given) from None
    if len(dice) != N_DICE or not set(dice) <= set(FACES):
        raise _no_dice(given)
    return dice


def _no_dice(found: object) -> UsageError:
    return UsageError(f"dice: expected {N_DICE} faces from {FACES[0]} to {FACES[-1]}, found {shown(found)}")


def listed(dice: Keep) -> str:
    """Dice as they are shown: `2 2 2`."""
    return " ".join(map(str, dice))


def words_of(keep: Keep) -> str:
    """The advice to keep these dice, in words."""
    if len(keep) == N_DICE:
        return "keep all dice"
    return f"keep {listed(keep)}" if keep else "roll all dice again"


def parse_keep(text: str, dice: Keep) -> Keep | None:
    """The dice that a text says to keep, such as `keep 2 2 2`, `k 222`, `keep all` or `roll all dice again`.

    `dice` are those on the table; whether these are among them is not checked. None if the text says another thing.
    """
    said = text.strip().lower()
    if said in {"roll", "roll all", "roll all dice", "roll all dice again"}:
        return ()
    found = re.fullmatch(r"(?:keep|k(?=[\s\d]))(?![^\W\d])(.*)", said, re.DOTALL)
    if not found:
        return None
    faces = re.sub(r"[\s,]+", "", found[1])
    if faces in {"all", "alldice"}:
        return dice
    if faces == "nothing":
        return ()
    if not faces or not set(faces) <= set(map(str, FACES)):
        expected = f"expected faces from {FACES[0]} to {FACES[-1]}, `all` or `nothing`"
        raise UsageError(f"keep: {expected}, found {shown(found[1].strip())}")
    return tuple(sorted(map(int, faces)))


def check_kept(keep: Keep, dice: Keep) -> None:
    """Refuse to keep what is not on the table."""
    if Counter(keep) - Counter(dice):
        raise UsageError(f"keep: expected some of {listed(dice)}, found {listed(keep)}")


def quoted(text: str, special: str) -> str:
    """The text; in double quotes, as in a CSV file, if it has special characters or a blank at one of its ends."""
    if text == text.strip() and not {*text} & {*special, '"'}:
        return text
    return '"{}"'.format(text.replace('"', '""'))


def unquoted(text: str) -> str:
    """What a text says that may stand in double quotes."""
    return text[1:-1].replace('""', '"') if re.fullmatch(r'"(?:[^"]|"")*"', text) else text


def parse_move(text: str, dice: Keep, rules: Rules) -> Keep | int:
    """The dice to keep, as in `k 2 2 2`, `keep all` or `roll all`; or the box that a text names, as in `fh`."""
    if text.strip() not in names_of(rules.all_free, rules) and (keep := parse_keep(text, dice)) is not None:
        check_kept(keep, dice)
        return keep
    return find_box(text, rules)


def find_box(text: str, rules: Rules, beside: Sequence[str] = ()) -> int:
    """The category named by its name, the beginning of its name, its initials (`fh`, `3k`), or its face (`6`).

    An error message knows the names `beside` those of the boxes, too.
    """
    names, said = names_of(rules.all_free, rules), plain(text)
    for exact in (text, text.strip()):
        if exact in names:
            return names.index(exact)
    for matches in (
        [c for c, category in enumerate(rules.categories) if said and said in _short_forms(category)],
        [c for c, category in enumerate(rules.categories) if said and plain(category.name).startswith(said)],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise UsageError(f"box: {shown(text.strip())} may be any of {', '.join(names[c] for c in matches)}")
    raise UsageError(f"box: no box {_unknown(text.strip(), [*names, *beside])}")


def plain(text: str) -> str:
    """Lower-case letters and digits alone, by which names are compared."""
    return re.sub(r"[\W_]+", "", text.lower())


def _unknown(name: str, known: Sequence[str]) -> str:
    return f"{shown(name)}; {suggestion(name.lower(), known)}"


def _short_forms(category: Category) -> set[str]:
    words = [word for word in re.split(r"[\W_]+", category.name.lower()) if word not in FILLERS]
    forms = {plain(category.name)}
    if len(words) > 1:
        forms.add("".join(DIGIT_OF.get(word, word)[:1] for word in words))
    return forms | {f"{category.face}", f"{category.face}s"} if category.face else forms


def names_of(categories: int, rules: Rules) -> list[str]:
    """The names of a set of categories."""
    return names_in(categories, [category.name for category in rules.categories])


def parse_used(text: str, rules: Rules) -> int:
    """The set of used categories, from their full names separated by commas."""
    return used_of((part.strip() for part in text.split(",") if text.strip()), rules)


def used_of(names: Iterable[str], rules: Rules) -> int:
    """The set of used categories, from their full names; each may be named only once."""
    known = [category.name for category in rules.categories]
    used = 0
    for name in names:
        if name not in known:
            raise UsageError(f"used: no category {_unknown(name, known)}")
        if used >> known.index(name) & 1:
            raise UsageError(f"used: {name} is named twice")
        used |= 1 << known.index(name)
    return used


def anchor_of(anchors: Anchors, used: int, upper: int | None, chip: bool) -> Anchor:
    """The anchor with these used categories; raises UsageError if no sequence of plays reaches it.

    `upper` may be None if no upper category is used, or if the rules have no upper bonus.
    """
    rules = anchors.rules
    free = rules.all_free & ~used
    if upper is None and used & ~rules.lower_boxes:
        if anchors.bonus:
            raise UsageError("upper: say how many points the used upper categories hold, with --upper")
    else:
        upper = upper or 0
    if chip and anchors.place[free, 1] < 0:
        raise UsageError("chip: the Yahtzee box is not used, or this game has no use for it")
    anchor = Anchor(free, upper, chip)
    anchors.reachable(anchor)
    return anchor


def pattern_of(box: Category) -> str:
    """The rolls that a box accepts, in words."""
    if box.groups:
        sizes = " and ".join(map(str, box.groups))
        different = "" if box.distinct or len(box.groups) == 1 else ", which may be the same"
        return f"{sizes} equal dice{different}"
    if box.run:
        return f"{box.run} consecutive faces"
    return f"the faces {' '.join(map(str, box.faces))}" if box.faces else "any roll"


def points_of(box: Category) -> str:
    """The points of a roll that a box accepts, in words."""
    if box.face:
        return f"the sum of its dice with face {box.face}"
    return {"sum": "the sum of all dice", "matching": "the sum of these dice"}.get(str(box.points), str(box.points))
