"""The lattice of the 462 multisets of at most five dice.

A keep is any of them, a roll one of the 252 with all five dice.
"Add one die" leads up to a keep's six children, "take one die away" down to its parents, one per distinct face.
Everything a turn does moves along these edges, so this module is all that the kernel generator needs to know;
it is plain Python without imports from the rest of the package, because it also runs at build time.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import factorial, prod

N_DICE = 5
N_FACES = 6
FACES = range(1, N_FACES + 1)

Keep = tuple[int, ...]
"""A multiset of faces, written in rising order."""

KEEPS: tuple[Keep, ...] = tuple(
    keep for size in range(N_DICE + 1) for keep in combinations_with_replacement(FACES, size)
)
"""All multisets: fewest dice first, then in lexicographic order; a keep's place here is its index."""

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
"""For every keep with fewer than five dice, the six keeps that one more die makes of it, by face."""

PARENTS: tuple[tuple[int, ...], ...] = tuple(
    tuple(INDEX[without_die(keep, face)] for face in sorted(set(keep))) for keep in KEEPS
)
"""For every keep, the keeps with one die less, lowest face taken first."""


def counts(keep: Keep) -> tuple[int, ...]:
    """How many dice show each face, from one to six."""
    return tuple(keep.count(face) for face in FACES)


def ways(keep: Keep) -> int:
    """In how many orders the dice of a keep can fall."""
    return factorial(len(keep)) // prod(factorial(n) for n in counts(keep))


ROLL_WAYS: tuple[int, ...] = tuple(ways(roll) for roll in ROLLS)
"""In how many of the 7776 equally likely throws of five dice each roll comes up."""

FIVES: tuple[int, ...] = tuple(ROLLS.index((face,) * N_DICE) for face in FACES)
"""The six rolls of five equal dice, as places in `ROLLS`."""
