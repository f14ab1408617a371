"""The lattice of the 462 multisets of at most five dice.

A keep is any of them, a roll one of the 252 with all five dice.
"Add one die" leads up to a keep's six children, "take one die away" down to its parents, one per distinct face.
A turn moves only along these edges, so the generator of the kernels needs nothing but this module.
It imports nothing from the rest of the package, because it also runs at build time.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial, prod

N_DICE = 5
N_FACES = 6
FACES = range(1, N_FACES + 1)

Keep = tuple[int, ...]
"""A multiset of faces, in ascending order."""

KEEPS: tuple[Keep, ...] = tuple(
    keep for size in range(N_DICE + 1) for keep in combinations_with_replacement(FACES, size)
)
"""All multisets, ordered by the number of dice, then lexicographically; the index of a keep is its position here."""

INDEX: dict[Keep, int] = {keep: index for index, keep in enumerate(KEEPS)}

ROLLS: tuple[Keep, ...] = tuple(keep for keep in KEEPS if len(keep) == N_DICE)
FIRST_ROLL = len(KEEPS) - len(ROLLS)
"""Index of the first roll; every smaller index is a keep that still has dice to roll."""


def with_die(keep: Keep, face: int) -> Keep:
    """The multiset with one more die."""
    return tuple(sorted((*keep, face)))


def without_die(keep: Keep, face: int) -> Keep:
    """The multiset with one die less."""
    place = keep.index(face)
    return keep[:place] + keep[place + 1 :]


CHILDREN: tuple[tuple[int, ...], ...] = tuple(
    tuple(INDEX[with_die(keep, face)] for face in FACES) for keep in KEEPS[:FIRST_ROLL]
)
"""For every keep with fewer than five dice, the indices of the six keeps with one more die, by its face."""

PARENTS: tuple[tuple[int, ...], ...] = tuple(
    tuple(INDEX[without_die(keep, face)] for face in sorted(set(keep))) for keep in KEEPS
)
"""For every keep, the indices of the keeps with one die less, in the order of the removed face."""


def counts(keep: Keep) -> tuple[int, ...]:
    """The number of dice that show each face, from one to six."""
    return tuple(keep.count(face) for face in FACES)


def ways(keep: Keep) -> int:
    """The number of ordered throws that give this multiset."""
    return factorial(len(keep)) // prod(factorial(n) for n in counts(keep))


ROLL_WAYS: tuple[int, ...] = tuple(ways(roll) for roll in ROLLS)
"""For every roll, how many of the 7776 equally likely throws of five dice give it."""

FIVES: tuple[int, ...] = tuple(ROLLS.index((face,) * N_DICE) for face in FACES)
"""The six rolls of five equal dice, as indices into `ROLLS`."""
