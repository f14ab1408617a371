"""Blocks of entries, and what a problem need not say of itself."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import Listed, Tours

from yahtzee_cluster.engine.recurrence import Block, Recurrence


def block_of(lengths: dict[int, int]) -> Block:
    starts = np.cumsum([0, *lengths.values()])
    return Block(np.array([*lengths], np.int64), starts, np.arange(starts[-1], dtype=float))


blocks = st.dictionaries(st.integers(0, 40), st.integers(0, 5)).map(lambda d: block_of(dict(sorted(d.items()))))


@given(blocks)
def test_entries_are_found_by_subset(block: Block) -> None:
    """A subset of a block is answered with its own entries, any other one with KeyError."""
    subsets = block.subsets.tolist()
    assert len(block) == len(subsets)
    for subset, (start, stop) in zip(subsets, pairwise(block.starts.tolist()), strict=True):
        assert block[subset].tolist() == [*range(start, stop)]
    for subset in {*range(-1, 43)} - {*subsets}:
        with pytest.raises(KeyError):
            block[subset]


@given(blocks, st.lists(st.integers(0, 40)))
def test_shares_make_up_the_block(block: Block, cuts: list[int]) -> None:
    """However a block is cut, each share has the entries of its own subsets, and what is written there is in place."""
    expected = [-block[subset] for subset in block.subsets.tolist()]
    shares = [block.share(*ends) for ends in pairwise(sorted([0, *(c for c in cuts if c < len(block)), len(block)]))]
    assert [subset for share in shares for subset in share.subsets.tolist()] == block.subsets.tolist()
    for share in shares:
        assert (share.starts[0], share.starts[-1]) == (0, len(share.values))
        for subset in share.subsets.tolist():
            assert np.array_equal(share[subset], block[subset])
            share[subset][:] *= -1
    assert all(map(np.array_equal, expected, [block[subset] for subset in block.subsets.tolist()]))


def test_a_problem_must_say_what_it_is() -> None:
    """A problem without elements, identity or solver cannot be made; all else can be left away."""
    assert Recurrence.__abstractmethods__ == {"element_names", "identity", "solver"}
    with pytest.raises(TypeError, match="abstract"):
        Recurrence()  # type: ignore[abstract]


@pytest.mark.parametrize("harbour_first", [False, True])
def test_defaults(harbour_first: bool) -> None:
    """By default all subsets exist and no row is listed; a problem's partition has its subsets, sizes and fixed set."""
    problem = Tours(harbour_first)
    assert Recurrence.exist(problem, np.arange(32)).tolist() == [True] * 32
    assert problem.plain_size == 107
    assert problem.row_index() == {}
    partition = problem.partition(0b00110)
    assert (partition.n_elements, partition.fixed) == (5, 0b00110)
    members = np.concatenate([partition.members(cls) for cls in partition.classes])
    assert len(members) == (24 if harbour_first else 32)
    assert sum(partition.n_values.values()) == problem.sizes(members).sum()


@pytest.mark.parametrize("lengths", [(0, 3, 1, 7, 2, 5, 4, 6), (9, 0), (0, 0, 0, 0)])
def test_plain_size(lengths: tuple[int, ...]) -> None:
    """The plain size is the largest of all subsets' sizes."""
    assert Listed(lengths).plain_size == max(lengths)


@given(st.sets(st.integers(0, 255)), st.sets(st.integers(0, 255)), st.integers(0, 7), st.data())
def test_lookup(having: set[int], lower: set[int], element: int, data: st.DataObject) -> None:
    """All subsets of a block, or of a share, are found in the block below, whatever that lacks or has besides."""
    block = block_of(dict.fromkeys(sorted(having), 1))
    first = data.draw(st.integers(0, len(block)))
    share = block.share(first, data.draw(st.integers(first, len(block))))
    full = {subset ^ 1 << element for subset in having if subset >> element & 1}
    for present in (lower, lower | full, full):
        below = block_of(dict.fromkeys(sorted(present), 1))
        here, there = share.lookup(element, below)
        found = dict(zip(share.subsets[here].tolist(), below.subsets[there].tolist(), strict=True))
        expected = [subset for subset in share.subsets.tolist() if subset >> element & 1]
        assert found == {subset: subset ^ 1 << element for subset in expected if subset ^ 1 << element in present}


@pytest.mark.parametrize("wrong", [0, 3, 6])
def test_complaint(wrong: int) -> None:
    """Values that are no numbers are complained of wherever they are; any number passes, infinity as well, and none."""
    block = block_of({0: 1, 2: 0, 5: 6})
    block.values[1] = np.inf
    assert Tours().complaint(block) is None
    assert Tours().complaint(block_of({})) is None
    block.values[wrong] = np.nan
    assert Tours().complaint(block) == "it holds values that are no numbers"
