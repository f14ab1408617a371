"""Generates `lattice.h`: the passes over the lattice of keeps as straight-line C.

Index tables would cost more than the arithmetic itself, and code for all 462 keeps would not fit into the cache for
decoded instructions.
The lattice is therefore divided into 56 *blocks* of keeps that agree in their fours, fives and sixes.
All blocks with the same number of such dice have the same structure inside, and a neighbour in another block has the
same position there.
Straight-line code for one block, run over all of them by a short loop, needs only constant offsets.
Where blocks are small, the loop would cost more than the code, and all of them are written out.

`turn_body.h` defines the vector type and its operations as macros, once for each instruction set.
Every sum is written in a fixed order, so that every machine computes the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations_with_replacement
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

# The lattice as the package defines it, read by path: at build time the package is not installed yet.
dice = SimpleNamespace(**run_path(str(Path(__file__).resolve().parent.parent / "yahtzee_cluster" / "game" / "dice.py")))
INSIDE_FACES = (1, 2, 3)
BLOCK_FACES = (4, 5, 6)
N_THROWS = float(sum(dice.ROLL_WAYS))
MOST_CRITERIA = 4
"""The most criteria that a pass may have, including the one for decisions."""
WRITTEN_OUT = 4
"""Bodies of up to this number of lines are written out for every block."""


def _multisets(faces: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [keep for size in range(dice.N_DICE + 1) for keep in combinations_with_replacement(faces, size)]


INSIDES = _multisets(INSIDE_FACES)
BLOCKS = _multisets(BLOCK_FACES)
POSITION = {inside: position for position, inside in enumerate(INSIDES)}


def insides(block_size: int, n_dice: int = dice.N_DICE) -> list[tuple[int, ...]]:
    """The parts of keeps inside a block of `block_size` dice, at most `n_dice` in all; fewest dice first."""
    return [inside for inside in INSIDES if len(inside) + block_size <= n_dice]


def _starts() -> dict[tuple[int, ...], int]:
    starts, start = {}, 0
    for block in BLOCKS:
        starts[block] = start
        start += len(insides(len(block)))
    return starts


START = _starts()


def place_of(keep: tuple[int, ...]) -> int:
    """The index of the vector of a keep."""
    block = tuple(face for face in keep if face in BLOCK_FACES)
    return START[block] + POSITION[keep[: len(keep) - len(block)]]


def chain(operation: str, terms: list[str]) -> str:
    """The terms combined from left to right, so that each operand can be read straight from memory."""
    result = terms[0]
    for term in terms[1:]:
        result = f"{operation}({result}, {term})"
    return result


def tree(operation: str, terms: list[str]) -> str:
    """The terms combined as a balanced tree, where the latency of a chain would be too long."""
    if len(terms) == 1:
        return terms[0]
    half = (len(terms) + 1) // 2
    return f"{operation}({tree(operation, terms[:half])}, {tree(operation, terms[half:])})"


def table(name: str, rows: list[list[int]]) -> str:
    """A constant table in C."""
    body = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
    return f"static const uint16_t {name}[{len(rows)}][{len(rows[0])}] = {{{body}}};"


Starts = dict[str, list[list[int]]]
"""The tables of block offsets that loops read, by name."""

Where = Callable[[int, int], str]
"""The C expression for the vector at a position of the block itself (-1) or of a neighbour (0, 1, …)."""


def over_blocks(name: str, starts: list[list[int]], body: Callable[..., Iterator[str]], criteria: int) -> Iterator[str]:
    """The body for every block of one size; a row of `starts` has the offsets of a block and of its neighbours.

    Large bodies run in a loop, in which pc points to the block and qc_0, qc_1, … to its neighbours, for every
    criterion c. Small ones are written out for every block, because the loop would cost more than it saves.
    """

    def in_loop(criterion: int) -> Where:
        return lambda n, position: f"{f'p{criterion}' if n < 0 else f'q{criterion}_{n}'}[{position}]"

    def written_out(row: list[int]) -> Where:
        return lambda n, position: f"v0[{row[n + 1] + position}]"

    if criteria == 1 and len(list(body(in_loop(0)))) <= WRITTEN_OUT:
        for row in starts:
            yield from body(written_out(row))
        return
    yield f"for (int i = 0; i < {len(starts)}; i++) {{"
    yield f"    const uint16_t *start = {name}[i];"
    lines = [*body(*map(in_loop, range(criteria)))]
    for criterion in range(criteria):
        pointers = [f"p{criterion}", *(f"q{criterion}_{n}" for n in range(len(starts[0]) - 1))]
        for n, pointer in enumerate(pointers):
            if any(f"{pointer}[" in line for line in lines):  # compilers complain about others
                yield f"    vec *{pointer} = v{criterion} + start[{n}];"
    for line in lines:
        yield f"    {line}"
    yield "}"


def _above(size: int) -> list[list[int]]:
    """The offsets of the blocks of this number of dice, each with those of the blocks with one more die."""
    return [
        [START[block], *(START[dice.with_die(block, face)] for face in BLOCK_FACES)]
        for block in BLOCKS
        if len(block) == size
    ]


ABOVE: Starts = {f"above_{size}": _above(size) for size in range(dice.N_DICE)}


def _children(inside: tuple[int, ...], value: Where) -> list[str]:
    children = [value(-1, POSITION[dice.with_die(inside, face)]) for face in INSIDE_FACES]
    return children + [value(n, POSITION[inside]) for n in range(len(BLOCK_FACES))]


def means() -> Iterator[str]:
    """The value of a keep is the mean of its six children, largest keeps first."""
    yield "const vec sixth = SET1(1.0 / 6.0);"
    for size, (name, starts) in reversed(list(enumerate(ABOVE.items()))):
        yield from over_blocks(name, starts, partial(_means_inside, size), criteria=1)


def _means_inside(size: int, value: Where) -> Iterator[str]:
    for inside in reversed(insides(size, dice.N_DICE - 1)):
        yield f"{value(-1, POSITION[inside])} = MUL({chain('ADD', _children(inside, value))}, sixth);"


def shares() -> Iterator[str]:
    """The adjoint of `means`: the weight of a keep goes to its six children in equal shares, smallest keeps first."""
    yield "const vec sixth = SET1(1.0 / 6.0);"
    yield "vec share;"
    for size, (name, starts) in enumerate(ABOVE.items()):
        yield from over_blocks(name, starts, partial(_shares_inside, size), criteria=1)


def _shares_inside(size: int, value: Where) -> Iterator[str]:
    for inside in insides(size, dice.N_DICE - 1):
        yield f"share = MUL({value(-1, POSITION[inside])}, sixth);"
        for child in _children(inside, value):
            yield f"{child} = ADD({child}, share);"


def maxima(criteria: int, carries: bool = False) -> tuple[Starts, list[str]]:
    """The maximum over a keep and all its sub-multisets, smallest keeps first.

    With several criteria, each is maximised over the candidates that tie for the best in all criteria before it.
    With `carries`, the second is only written: the name of a keep; and the third is the value of the keep of that name.
    """
    tables: Starts = {}
    lines = [f"vec bar, {', '.join(f'best{criterion}' for criterion in range(criteria))};"] if criteria > 1 else []
    for size in range(dice.N_DICE + 1):
        for n_faces in range(min(size, 1), min(size, len(BLOCK_FACES)) + 1):
            name = f"below_{size}_{n_faces}"
            starts = [
                [START[block], *(START[dice.without_die(block, face)] for face in sorted(set(block)))]
                for block in BLOCKS
                if len(block) == size and len(set(block)) == n_faces
            ]
            tables[name] = starts
            lines += over_blocks(name, starts, partial(_maxima_inside, size, n_faces, carries), criteria)
    return tables, lines


def _maxima_inside(size: int, n_faces: int, carries: bool, *values: Where) -> Iterator[str]:
    for inside in insides(size):
        here = POSITION[inside]
        places = [(-1, here)]
        places += [(-1, POSITION[dice.without_die(inside, face)]) for face in sorted(set(inside))]
        places += [(n, here) for n in range(n_faces)]
        if carries:
            yield from _choice_of_value(places, size + len(inside) < dice.N_DICE, *values)
        elif len(values) > 1:
            yield from _choice(places, values)
        elif len(places) > 1:
            yield f"{values[0](*places[0])} = {chain('MAX', [values[0](*place) for place in places])};"


def _choice(places: list[tuple[int, int]], values: tuple[Where, ...]) -> Iterator[str]:
    """The best by each criterion among ties in those before it; candidates that do not tie count as LEAST."""
    racing = [values[0](*place) for place in places]
    yield f"best0 = {chain('MAX', racing)};"
    for criterion, value in enumerate(values[1:], start=1):
        yield f"bar = BAR(best{criterion - 1}); best{criterion} = LEAST;"
        for n, place in enumerate(places):
            if criterion == len(values) - 1:
                yield f"best{criterion} = MAX_WHERE(best{criterion}, {racing[n]}, bar, {value(*place)});"
            else:
                name = f"racing{criterion}_{places[0][1]}_{n}"
                yield f"const vec {name} = MAX_WHERE(LEAST, {racing[n]}, bar, {value(*place)});"
                yield f"best{criterion} = MAX(best{criterion}, {name});"
                racing[n] = name
    yield " ".join(f"{value(*places[0])} = best{criterion};" for criterion, value in enumerate(values))


def _choice_of_value(
    places: list[tuple[int, int]], names: bool, worth: Where, name: Where, value: Where
) -> Iterator[str]:
    """The value of the keep with the greatest name among ties for the best worth; with `names`, its name, too.

    The keep itself has a greater name than all below it, which comes from a table.
    """
    here, *below = places
    yield f"best0 = {chain('MAX', [worth(*place) for place in places])}; bar = BAR(best0); best1 = LEAST;"
    for place in below:
        yield f"best1 = MAX_WHERE(best1, {worth(*place)}, bar, {name(*place)});"
    yield f"best2 = {value(*here)};"
    for place in below:
        yield f"best2 = IF_EQUAL({name(*place)}, best1, {value(*place)}, best2);"
    if below:
        yield f"{value(*here)} = IF_NOT_BELOW({worth(*here)}, bar, {value(*here)}, best2);"
    if names:
        own = f"SET1(name_of[start[0] + {here[1]}])"
        yield f"{name(*here)} = IF_NOT_BELOW({worth(*here)}, bar, {own}, best1);"
    yield f"{worth(*here)} = best0;"


def expectation() -> Iterator[str]:
    """The mean over the 7776 throws of all dice; the values of equally likely rolls are added first."""
    by_ways: dict[int, list[str]] = {}
    for roll, ways in zip(dice.ROLLS, dice.ROLL_WAYS, strict=True):
        by_ways.setdefault(ways, []).append(f"v[{place_of(roll)}]")
    terms = [f"MUL({tree('ADD', rolls)}, SET1({ways}.0))" for ways, rolls in sorted(by_ways.items())]
    yield f"return MUL({tree('ADD', terms)}, SET1(1.0 / {N_THROWS}));"


def function(name: str, arguments: str, body: Iterator[str] | list[str], result: str = "void") -> str:
    """A function in C, one for each instruction set."""
    lines = "\n".join(f"    {line}" for line in body)
    return f"static NOINLINE {result} YC({name})({arguments})\n{{\n{lines}\n}}\n"


def names() -> list[float]:
    """The index of each keep, in the order of their vectors."""
    by_place = {place_of(keep): float(index) for index, keep in enumerate(dice.KEEPS)}
    return [by_place[place] for place in range(len(by_place))]


def header() -> str:
    """The text of `lattice.h`."""
    bodies = {"means": list(means()), "shares": list(shares())}
    vectors = dict.fromkeys(bodies, "vec *v0")
    below: Starts = {}
    for criteria in range(1, MOST_CRITERIA + 1):
        name = f"maxima{criteria}"
        below, bodies[name] = maxima(criteria)
        vectors[name] = ", ".join(f"vec *restrict v{criterion}" for criterion in range(criteria))
    bodies["carried"], vectors["carried"] = maxima(3, carries=True)[1], vectors["maxima3"]
    loops = "\n".join(line for lines in bodies.values() for line in lines)
    tables = [table(name, starts) for name, starts in (ABOVE | below).items() if f"{name}[i]" in loops]
    return "\n".join(
        [
            "/* Written by kernels/lattice.py; included by turn.c for the tables, then for each instruction set. */",
            "#ifndef YC",
            f"static const uint16_t place_of[] = {{{', '.join(str(place_of(keep)) for keep in dice.KEEPS)}}};",
            f"static const double name_of[] = {{{', '.join(map(str, names()))}}};",
            f"static const double chance_of[] = {{{', '.join(f'{ways}.0 / {N_THROWS}' for ways in dice.ROLL_WAYS)}}};",
            *tables,
            "#else",
            *(function(name, vectors[name], lines) for name, lines in bodies.items()),
            function("expectation", "const vec *v", expectation(), result="vec"),
            "#endif",
            "",
        ]
    )


def write(path: Path) -> None:
    """Write the header, unless it is unchanged, so that nothing is recompiled without need."""
    text = header()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
