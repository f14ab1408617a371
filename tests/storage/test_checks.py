"""Problems that contradict themselves, or answer what cannot be used, are refused before anything is computed."""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored import LISTED
from toy import Tours
from uniform import Enumerated, Uniform

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.objectives import OBJECTIVES
from yahtzee_cluster.storage.checks import check_problem
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.tables import open_table

N = 4
TICKS = count()


def even(subsets: Any) -> Any:
    """A proper answer: which subsets have an even number of elements."""
    return np.bitwise_count(subsets) % 2 == 0


def shifting(subsets: Any) -> Any:
    """An answer that spoils what it was asked."""
    subsets >>= 1
    return subsets % 2 == 0


def first_is_there(subsets: Any) -> Any:
    """An answer that depends on the order of the subsets."""
    found = even(subsets)
    found[:1] = True
    return found


def failing(_: Any) -> Any:
    """No answer."""
    raise LookupError("nowhere")


def failing_at_length(_: Any) -> Any:
    """No answer, in two lines."""
    raise LookupError("not here,\nnot there")


EXIST: dict[str, tuple[Callable[[Any], Any], str]] = {
    "numbers": (lambda s: even(s).astype(int), r"exist: expected an array of bool for \d+ subsets, found one of int64"),
    "list": (lambda s: even(s).tolist(), r"exist: expected an array of bool for \d+ subsets, found \[True"),
    "scalar": (lambda _: True, "found True"),
    "short": (lambda s: even(s)[:-1], "found one of bool, shape"),
    "column": (lambda s: even(s)[:, None], "found one of bool, shape"),
    "in place": (shifting, "exist: fails with ValueError: output array is read-only"),
    "by place": (first_is_there, r"exist: answers otherwise for subset \d+ when it is asked for alone"),
    "by chance": (lambda s: (s + next(TICKS)) % 2 == 0, "exist: answers otherwise for subset"),
    "failing": (failing, "exist: fails with LookupError: nowhere"),
    "two lines": (failing_at_length, r"exist: fails with LookupError: 'not here,\\nnot there'$"),
    "nothing": (lambda s: s < 0, "exist: no subset of this problem exists"),
}
SIZES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "fractions": (lambda s: s / 2, "sizes: expected an array of whole numbers .* found one of float64"),
    "negative": (lambda s: s - 1, "sizes: expected whole numbers from 0 to 1,099,511,627,776, found -1"),
    "too large": (lambda s: s << 50, "sizes: expected whole numbers from 0 to"),
    "scalar": (lambda _: 1, "sizes: expected an array of whole numbers .* found 1"),
    "by place": (lambda s: np.arange(len(s)), "sizes: answers otherwise for subset"),
    "layers too": (lambda s: s + 1, r"sizes: gives subset \d+ \d+ entries, and layer_sizes 1; leave one out"),
}
FIELDS: dict[str, tuple[str, Any, str]] = {
    "list of names": ("element_names", [*"abcd"], "element_names: expected a tuple of names, found \\['a'"),
    "one name": ("element_names", "abcd", "element_names: expected a tuple of names, found 'abcd'"),
    "numbers": ("element_names", (1, 2, 3, 4), "element_names: expected a tuple of names"),
    "no name": ("element_names", ("a", "b", "", "d"), "element_names: expected a tuple of names"),
    "twice": ("element_names", ("a", "b", "c", "b"), "element_names: two elements are called 'b'"),
    "none": ("element_names", (), "this problem has 0 elements; expected 1 to 62"),
    "too many": ("element_names", tuple(map(str, range(63))), "this problem has 63 elements; expected 1 to 62"),
    "set": ("identity", {"costs": {1, 2}}, "identity: expected numbers, texts, lists and dictionaries: .* set"),
    "array": ("identity", {"costs": np.arange(3)}, "identity: expected numbers, .* ndarray"),
    "no number": ("identity", {"costs": [np.nan]}, "identity: expected numbers, .* float values"),
    "no dictionary": ("identity", ["costs"], r"identity: expected a dictionary, found \['costs'\]"),
    "no list": ("layer_sizes", 3, "layer_sizes: expected a list of sizes, found 3"),
    "too few": ("layer_sizes", (1, 1), "layer_sizes: expected 5 sizes, of layers 0 to 4, found 2"),
    "fractions": ("layer_sizes", (1.0,) * 5, "layer_sizes: expected whole numbers from 0 to"),
    "huge": ("layer_sizes", (1, 1, 1, 1, 10**30), "layer_sizes: expected whole numbers from 0 to"),
}


def with_method(name: str, answer: Callable[[Any], Any]) -> Uniform:
    """A sound problem but for what a method answers."""
    problem = Uniform((1,) * (N + 1))
    object.__setattr__(problem, name, answer)
    return problem


def test_sound_problems_pass() -> None:
    """Problems of every kind pass: with `sizes`, with `exist`, with layers, and games of one player and of two."""
    for problem in (Tours(), Tours(harbour_first=True), LISTED, Uniform((0, 3, 1)), Enumerated((0, 3, 1))):
        check_problem(problem)
    check_problem(with_method("exist", even))
    check_problem(with_method("exist", lambda subsets: subsets == 5))
    check_problem(Uniform((1,) * 63))
    for objective in ("maxprob", "scores", "race", "race-wins"):
        check_problem(OBJECTIVES[objective](load_rules("yacht"), 50))
    small = with_method("sizes", lambda subsets: np.ones(len(subsets), np.uint8))
    check_problem(small)
    partition = small.partition(0b11)
    assert all(partition.starts(cls).dtype == np.int64 for cls in partition.classes)


@pytest.mark.parametrize("fault", EXIST)
def test_what_exists(fault: str) -> None:
    """`exist` answers with as many truth values, the same for a subset whatever it is asked with, and changes none."""
    answer, complaint = EXIST[fault]
    with pytest.raises(UsageError, match=complaint) as refused:
        check_problem(with_method("exist", answer))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("fault", SIZES)
def test_how_many_entries(fault: str) -> None:
    """`sizes` answers with as many whole numbers, which `layer_sizes` does not contradict."""
    answer, complaint = SIZES[fault]
    with pytest.raises(UsageError, match=complaint) as refused:
        check_problem(with_method("sizes", answer))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("fault", FIELDS)
def test_fields(fault: str) -> None:
    """Names of elements are different and few enough, an identity is JSON, and every layer has a size."""
    name, value, complaint = FIELDS[fault]
    kind = type("Faulty", (Uniform,), {name: property(lambda _: value)})
    with pytest.raises(UsageError, match=complaint):
        check_problem(kind((1,) * (N + 1)))


@pytest.mark.parametrize("name", ["identity", "layer_sizes"])
def test_fields_that_change(name: str) -> None:
    """What is another one each time makes another problem of each rank."""

    def value(_: Uniform) -> Any:
        tick = next(TICKS)
        return {"seed": tick} if name == "identity" else (tick,) * (N + 1)

    kind = type("Fickle", (Uniform,), {name: property(value)})
    with pytest.raises(UsageError, match=f"{name}: .* each time"):
        check_problem(kind((1,) * (N + 1)))


def test_what_is_no_problem() -> None:
    """A class, or nothing, is no problem."""
    for other in (None, Uniform, "tours"):
        with pytest.raises(UsageError, match="problem: expected an object of a class derived from Recurrence"):
            check_problem(other)


def test_reading_is_refused_as_well(tmp_path: Path) -> None:
    """A table is not opened for a problem that answers differently for the same subset."""
    with claim(tmp_path, with_method("exist", even), 0, {}):
        pass
    with pytest.raises(UsageError, match="exist: answers otherwise"):
        open_table(tmp_path, with_method("exist", first_is_there))
