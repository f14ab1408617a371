"""The lattice of keeps."""

import pytest

from yahtzee_cluster.game import dice, reference


def test_size() -> None:
    """There are 462 multisets of at most five dice, 252 of them rolls, and an index finds each."""
    assert (len(dice.KEEPS), len(dice.ROLLS), dice.FIRST_ROLL) == (462, 252, 210)
    assert dice.KEEPS[dice.FIRST_ROLL :] == dice.ROLLS
    assert all(dice.KEEPS[index] == keep for keep, index in dice.INDEX.items())


def test_larger_keeps_come_later() -> None:
    """A keep's index grows with the number of dice, then with the faces: the order in which ties are broken."""
    assert list(dice.KEEPS) == sorted(dice.KEEPS, key=lambda keep: (len(keep), keep))


def test_edges_are_mutual() -> None:
    """One die added and one die taken away undo each other; there are 1,260 such edges."""
    up = {(keep, child) for keep, children in enumerate(dice.CHILDREN) for child in children}
    down = {(parent, keep) for keep, parents in enumerate(dice.PARENTS) for parent in parents}
    assert up == down
    assert len(up) == 1260


def test_probabilities_sum_to_one() -> None:
    """The rolls cover all 7,776 throws, each as often as the judge finds by listing them."""
    assert sum(dice.ROLL_WAYS) == 6**5
    for roll, ways in zip(dice.ROLLS, dice.ROLL_WAYS, strict=True):
        assert reference.throws(())[roll] == pytest.approx(ways / 6**5, rel=1e-15)


def test_fives() -> None:
    """The places of five equal dice are known, in the order of the faces."""
    assert [dice.ROLLS[place] for place in dice.FIVES] == [(face,) * 5 for face in dice.FACES]
