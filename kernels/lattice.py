"""Writes `lattice.h`: the turn's lattice as straight-line C.

Index tables would cost more than the arithmetic they steer, and code for all 462 keeps would not fit where a
processor keeps decoded instructions.
So the lattice is cut into 56 *blocks*: keeps that agree in their fours, fives and sixes.
All blocks with equally many such dice have the same inside, and a neighbour in another block stands at the same
position there.
Straight-line code for one inside, run over the blocks by a short loop, therefore needs nothing but constant offsets.
Where the inside is small, the loop would cost more than the code, and all blocks are written out.

`turn_body.h` supplies the vector type and its few operations as macros, once for each instruction set.
Every sum is written in one fixed order, so that every machine computes the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations_with_replacement
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

# The lattice as the package defines it, read by path: at build time the package is not installed yet.
dice = SimpleNamespace(**run_path(str(Path(__file__).resolve().parent.parent / "yahtzee_cluster" / "dice.py")))
INSIDE_FACES = (1, 2, 3)
BLOCK_FACES = (4, 5, 6)
WRITTEN_OUT = 4
"""Bodies of up to so many lines are written out for every block."""


def _multisets(faces: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [keep for size in range(dice.N_DICE + 1) for keep in combinations_with_replacement(faces, size)]


INSIDES = _multisets(INSIDE_FACES)
BLOCKS = _multisets(BLOCK_FACES)
POSITION = {inside: position for position, inside in enumerate(INSIDES)}


def insides(block_size: int, n_dice: int = dice.N_DICE) -> list[tuple[int, ...]]:
    """What can stand inside a block of so many dice, without exceeding `n_dice` together: fewest dice first."""
    return [inside for inside in INSIDES if len(inside) + block_size <= n_dice]


def _starts() -> dict[tuple[int, ...], int]:
    starts, start = {}, 0
    for block in BLOCKS:
        starts[block] = start
        start += len(insides(len(block)))
    return starts


START = _starts()


def place_of(keep: tuple[int, ...]) -> int:
    """Where the vector of a keep lies."""
    block = tuple(face for face in keep if face in BLOCK_FACES)
    return START[block] + POSITION[keep[: len(keep) - len(block)]]


def chain(operation: str, terms: list[str]) -> str:
    """One term after the other: the one order for everybody, and each operand can come straight from memory."""
    result = terms[0]
    for term in terms[1:]:
        result = f"{operation}({result}, {term})"
    return result


def tree(operation: str, terms: list[str]) -> str:
    """A balanced tree, where a chain would be long enough to wait for."""
    if len(terms) == 1:
        return terms[0]
    half = (len(terms) + 1) // 2
    return f"{operation}({tree(operation, terms[:half])}, {tree(operation, terms[half:])})"


def table(name: str, rows: list[list[int]]) -> str:
    """A constant table in C."""
    body = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
    return f"static const uint16_t {name}[{len(rows)}][{len(rows[0])}] = {{{body}}};"


Where = Callable[[int, int], str]
"""How code names the vector at a position of a block: of the block itself (-1), or of a neighbour (0, 1, …)."""


def over_blocks(name: str, starts: list[list[int]], body: Callable[..., Iterator[str]], second: bool) -> Iterator[str]:
    """The body for every block of one size: `starts` has where it starts, and where its neighbours do.

    Large bodies run in a loop, in which p stands at the block and q0, q1, … at its neighbours (s, t0, t1, … in the
    second values); small ones are written out for every block, because the loop would cost more than it saves.
    """

    def in_loop(block: str, neighbour: str) -> Where:
        return lambda n, position: f"{block if n < 0 else neighbour + str(n)}[{position}]"

    def written_out(vectors: str, row: list[int]) -> Where:
        return lambda n, position: f"{vectors}[{row[n + 1] + position}]"

    if not second and len(list(body(in_loop("p", "q")))) <= WRITTEN_OUT:
        for row in starts:
            yield from body(written_out("v", row))
        return
    yield f"for (int i = 0; i < {len(starts)}; i++) {{"
    yield f"    const uint16_t *start = {name}[i];"
    for vectors, block, neighbour in (("v", "p", "q"), ("w", "s", "t"))[: 1 + second]:
        yield f"    vec *{block} = {vectors} + start[0];"
        for n in range(len(starts[0]) - 1):
            yield f"    const vec *{neighbour}{n} = {vectors} + start[{n + 1}];"
    places = [in_loop("p", "q"), in_loop("s", "t")][: 1 + second]
    for line in body(*places):
        yield f"    {line}"
    yield "}"


Starts = dict[str, list[list[int]]]
"""The tables that loops over blocks read, by name."""


def means() -> tuple[Starts, list[str]]:
    """The value of a keep is the mean of its six children, largest keeps first."""
    tables: Starts = {}
    lines = ["const vec sixth = SET1(1.0 / 6.0);"]
    for size in reversed(range(dice.N_DICE)):
        starts = [
            [START[block], *(START[dice.with_die(block, face)] for face in BLOCK_FACES)]
            for block in BLOCKS
            if len(block) == size
        ]
        tables[f"above_{size}"] = starts
        lines += over_blocks(f"above_{size}", starts, partial(_means_inside, size), second=False)
    return tables, lines


def _means_inside(size: int, value: Where) -> Iterator[str]:
    for inside in reversed(insides(size, dice.N_DICE - 1)):
        here = POSITION[inside]
        children = [value(-1, POSITION[dice.with_die(inside, face)]) for face in INSIDE_FACES]
        children += [value(n, here) for n in range(len(BLOCK_FACES))]
        yield f"{value(-1, here)} = MUL({chain('ADD', children)}, sixth);"


def maxima(second: bool) -> tuple[Starts, list[str]]:
    """The best of a keep and everything inside it, smallest keeps first.

    With second values, also the greatest of those that stand beside a best one.
    """
    tables: Starts = {}
    lines = ["vec best, bar, second;"] if second else []
    for size in range(dice.N_DICE + 1):
        for n_faces in range(min(size, 1), min(size, len(BLOCK_FACES)) + 1):
            name = f"below_{size}_{n_faces}"
            starts = [
                [START[block], *(START[dice.without_die(block, face)] for face in sorted(set(block)))]
                for block in BLOCKS
                if len(block) == size and len(set(block)) == n_faces
            ]
            tables[name] = starts
            lines += over_blocks(name, starts, partial(_maxima_inside, size, n_faces), second)
    return tables, lines


def _maxima_inside(size: int, n_faces: int, value: Where, beside: Where | None = None) -> Iterator[str]:
    for inside in insides(size):
        here = POSITION[inside]
        places = [(-1, here)]
        places += [(-1, POSITION[dice.without_die(inside, face)]) for face in sorted(set(inside))]
        places += [(n, here) for n in range(n_faces)]
        best = chain("MAX", [value(*place) for place in places])
        if beside is not None:
            yield f"best = {best}; bar = BAR(best); second = LEAST;"
            for place in places:
                yield f"second = MAX_WHERE(second, {value(*place)}, bar, {beside(*place)});"
            yield f"{value(-1, here)} = best; {beside(-1, here)} = second;"
        elif len(places) > 1:
            yield f"{value(-1, here)} = {best};"


def expectation() -> Iterator[str]:
    """The mean over the 7776 throws of all dice, rolls that are equally likely added up first."""
    by_ways: dict[int, list[str]] = {}
    for roll, ways in zip(dice.ROLLS, dice.ROLL_WAYS, strict=True):
        by_ways.setdefault(ways, []).append(f"v[{place_of(roll)}]")
    terms = [f"MUL({tree('ADD', rolls)}, SET1({ways}.0))" for ways, rolls in sorted(by_ways.items())]
    yield f"return MUL({tree('ADD', terms)}, SET1(1.0 / {sum(dice.ROLL_WAYS)}.0));"


def function(name: str, arguments: str, body: Iterator[str] | list[str], result: str = "void") -> str:
    """A function in C, one for each instruction set."""
    lines = "\n".join(f"    {line}" for line in body)
    return f"static NOINLINE {result} YC({name})({arguments})\n{{\n{lines}\n}}\n"


def header() -> str:
    """The text of `lattice.h`."""
    above, means_lines = means()
    below, choices_lines = maxima(second=True)
    _, maxima_lines = maxima(second=False)
    loops = "\n".join([*means_lines, *maxima_lines, *choices_lines])
    tables = [table(name, starts) for name, starts in (above | below).items() if f"{name}[i]" in loops]
    return "\n".join(
        [
            "/* Written by kernels/lattice.py; included by turn.c for the tables, then for each instruction set. */",
            "#ifndef YC",
            f"static const uint16_t place_of[] = {{{', '.join(str(place_of(keep)) for keep in dice.KEEPS)}}};",
            *tables,
            "#else",
            function("means", "vec *v", means_lines),
            function("maxima", "vec *v", maxima_lines),
            function("choices", "vec *restrict v, vec *restrict w", choices_lines),
            function("expectation", "const vec *v", expectation(), result="vec"),
            "#endif",
            "",
        ]
    )


def write(path: Path) -> None:
    """Write the header, and leave it alone when nothing changed, so that nothing is compiled anew."""
    text = header()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
