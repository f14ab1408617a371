"""Writes `lattice.h`: the turn's lattice as straight-line C.

Index tables would cost more than the arithmetic they steer, so each pass over the lattice is unrolled here,
once for every machine: `turn_body.h` supplies the vector type and its few operations as macros.
Each sum and each maximum is written in one fixed order, so that every machine computes the same bits.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType


def _load_dice() -> ModuleType:
    """The lattice as the package defines it, read by path: at build time the package is not installed yet."""
    path = Path(__file__).resolve().parent.parent / "yahtzee_cluster" / "dice.py"
    spec = importlib.util.spec_from_file_location("_dice", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


dice = _load_dice()


def sum_of(terms: list[str]) -> str:
    """A balanced sum: short chains for the processor, and one order for everybody."""
    if len(terms) == 1:
        return terms[0]
    half = (len(terms) + 1) // 2
    return f"ADD({sum_of(terms[:half])}, {sum_of(terms[half:])})"


def function(name: str, arguments: str, body: Iterator[str], result: str = "void") -> str:
    lines = "\n".join(f"    {line}" for line in body)
    return f"static NOINLINE {result} YC({name})({arguments})\n{{\n{lines}\n}}\n"


def means() -> Iterator[str]:
    """The value of a keep is the mean of its six children, largest keeps first."""
    yield "const vec sixth = SET1(1.0 / 6.0);"
    for keep in reversed(range(dice.FIRST_ROLL)):
        children = [f"v[{child}]" for child in dice.CHILDREN[keep]]
        yield f"v[{keep}] = MUL({sum_of(children)}, sixth);"


def maxima() -> Iterator[str]:
    """The best of a keep and everything inside it, smallest keeps first."""
    for keep in range(1, len(dice.KEEPS)):
        best = f"v[{keep}]"
        for parent in dice.PARENTS[keep]:
            best = f"MAX({best}, v[{parent}])"
        yield f"v[{keep}] = {best};"


def choices() -> Iterator[str]:
    """As `maxima`; beside it, the greatest second value among those that attain the maximum."""
    yield "vec best, bar, second;"
    for keep in range(1, len(dice.KEEPS)):
        candidates = [keep, *dice.PARENTS[keep]]
        best = f"v[{keep}]"
        for parent in dice.PARENTS[keep]:
            best = f"MAX({best}, v[{parent}])"
        yield f"best = {best}; bar = BAR(best); second = LEAST;"
        for candidate in candidates:
            yield f"second = MAX_WHERE(second, v[{candidate}], bar, w[{candidate}]);"
        yield f"v[{keep}] = best; w[{keep}] = second;"


def expectation() -> Iterator[str]:
    """The mean over the 7776 throws of all dice, rolls that are equally likely added up first."""
    by_ways: dict[int, list[str]] = {}
    for place, ways in enumerate(dice.ROLL_WAYS):
        by_ways.setdefault(ways, []).append(f"v[{dice.FIRST_ROLL + place}]")
    terms = [f"MUL({sum_of(rolls)}, SET1({ways}.0))" for ways, rolls in sorted(by_ways.items())]
    yield f"return MUL({sum_of(terms)}, SET1(1.0 / {sum(dice.ROLL_WAYS)}.0));"


def header() -> str:
    """The text of `lattice.h`."""
    return "\n".join(
        [
            "/* Written by kernels/lattice.py; included by turn_body.h once for each instruction set. */",
            function("means", "vec *v", means()),
            function("maxima", "vec *v", maxima()),
            function("choices", "vec *v, vec *w", choices()),
            function("expectation", "const vec *v", expectation(), result="vec"),
        ]
    )


def write(path: Path) -> None:
    """Write the header, and leave it alone when nothing changed, so that nothing is compiled anew."""
    text = header()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
