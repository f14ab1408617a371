"""Two players who take turns: small games against the judge, and what must hold of every race."""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import pytest
import zarr
from in_process import command
from launch import compute, mpirun
from small_games import BONUS, SMALL, TWO_BOXES, race_table

from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.errors import KernelArgumentError, UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.possible_scores import leads
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels.race import Race as Kernel
from yahtzee_cluster.kernels.race import Side, reach
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.race import Race, RaceWins
from yahtzee_cluster.storage.errors import DamagedError
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.tables import open_table


def solved(problem: Race, fixed: int = 0) -> dict[int, np.ndarray[Any, np.dtype[np.float64]]]:
    """The entries of every subset."""
    partition, solve = problem.partition(fixed), problem.solver()
    blocks: dict[int, Block] = {}
    for cls in partition.classes:
        starts = partition.starts(cls)
        blocks[cls] = Block(partition.members(cls), starts, np.full(starts[-1], np.nan))
        below = [blocks.get(partition.below(cls, element)) for element in range(len(problem.element_names))]
        solve(blocks[cls], below)
        assert problem.complaint(blocks[cls]) is None
    return {subset: block[subset] for block in blocks.values() for subset in block.subsets.tolist()}


def card(rules: Rules, anchor: Anchor) -> tuple[int, int, bool]:
    return anchor.free, rules.upper_threshold if anchor.upper is None else anchor.upper, anchor.chip


@pytest.mark.parametrize(
    ("text", "n_sampled"),
    [
        pytest.param(TWO_BOXES, 50, id="two-boxes", marks=pytest.mark.whole),
        pytest.param(BONUS, 50, id="bonus"),
        pytest.param(SMALL["plain"], 10, id="plain", marks=pytest.mark.whole),
    ],
)
def test_races_are_the_judge_s(text: str, n_sampled: int) -> None:
    """In sampled states, the opening among them, value and chance of a win are what trying out everything finds."""
    rules = parse_rules(text, "test")
    plain, wins, judge = Race(rules), RaceWins(rules), reference.race(rules)
    values, both = solved(plain), solved(wins)
    random = np.random.default_rng(1)
    states = [(rules.all_free | rules.all_free << len(rules.categories), 0)]
    states += [(int(subset), int(random.integers(-15, 16))) for subset in random.choice([*values], n_sampled)]
    n_decided = 0
    for subset, lead in states:
        cards = subset & rules.all_free, subset >> len(rules.categories)
        places = [int(random.choice(np.arange(plain.anchors.n_places)[plain.anchors.places(free)])) for free in cards]
        if not plain.anchors.exists[places].all():
            continue
        one, two = (plain.anchors.anchor(place) for place in places)
        if lead not in leads((plain.anchors, one), (plain.anchors, two)):
            continue
        row = plain.row(one, two)
        n_decided += not row.lowest <= lead < row.lowest + row.length
        value, win = judge(card(rules, one), card(rules, two), lead)
        of_value, of_both = values[subset], both[subset]
        (found,) = plain.by_lead(row, lambda first, last, of=of_value: of[first:last])[lead]  # type: ignore[misc]
        again, won = wins.by_lead(row, lambda first, last, of=of_both: of[first:last])[lead]  # type: ignore[misc]
        assert found == again == pytest.approx(value, rel=1e-12, abs=1e-15)
        assert won == pytest.approx(win, rel=1e-12, abs=1e-15)
    assert n_decided > 0


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        (SMALL["free"], Race, "bcfc0916550ec206"),
        (SMALL["forced"], RaceWins, "ba150d46a3c89113"),
        (SMALL["exact"], RaceWins, "264114a4e1b678d4"),
        (SMALL["plain"], Race, "309690bde36fe0ee"),
    ],
    ids=["free", "forced", "exact", "plain"],
)
def test_tables_of_whole_races_keep_their_bytes(text: str, kind: type[Race], expected: str) -> None:
    """The entries are those of the time when a race could begin nowhere else, so that older tables can be read."""
    digest = hashlib.sha256()
    for subset, values in sorted(solved(kind(parse_rules(text, "test"))).items()):
        digest.update(str(subset).encode() + values.tobytes())
    assert digest.hexdigest()[:16] == expected


def test_what_holds_of_every_race() -> None:
    """More of a lead is never worse; what one player gains the other loses; a player with no box left waits."""
    problem = RaceWins(parse_rules(SMALL["plain"], "plain"))
    entries, n = solved(problem), 3
    for subset, found in entries.items():
        one, two = subset & 0b111, subset >> n
        value, win = np.split(found, 2)
        tie, loss = 2 * (value - win), 1 - win - 2 * (value - win)
        for chance in (win, tie, loss):
            assert (chance >= -1e-14).all()
        assert (np.diff(value) >= -1e-14).all()
        if one == two == 0:
            assert found.tolist() == [0.5, 0.0]
    everything = entries[0b111111]
    assert len(everything) == 2
    # The second to move knows what to beat.
    assert 0.45 < everything[0] < 0.55
    assert everything[0] != 0.5


def test_leads_that_are_stored_suffice() -> None:
    """However far a lead can go, it has an entry until it is decided: entries of neighbouring sets join up."""
    problem = Race(load_rules("yacht"))
    subsets = problem.partition(0).members(problem.partition(0).classes[5])[::97]
    one, two = subsets & 4095, subsets >> 12
    side = problem.sides[0]
    lowest, length = problem.leads(side.first[one], side.first[two])
    highest = lowest + length - 1
    assert (lowest <= 0).all()
    assert (highest >= 0).all()
    assert (highest <= side.most[two]).all()
    assert (highest <= side.scored[one]).all()
    assert (problem.sizes(subsets) == length).all()
    assert problem.sizes(np.array([(1 << 24) - 1])).tolist() == [1]


def test_how_many_subsets_there_are() -> None:
    """Only those exist that come about in turn order: 5,200,300 for `yacht`, 20,058,300 for `yaht`, as published."""
    for name, n_subsets in (("yacht", 5_200_300), ("yaht", 20_058_300)):
        problem = Race(load_rules(name))
        n = len(problem.rules.categories)
        # By counting one card's sets of each size: those of the other have as many elements, or one more.
        partition = problem.partition((1 << n) - 1)
        assert sum(len(partition.members(cls)) for cls in partition.classes) == n_subsets


@pytest.mark.program
def test_table(tmp_path: Path) -> None:
    """As a job: the same bytes for any ranks and G, verified by the judge, and the opening at the end."""
    (tmp_path / "rules.toml").write_text(SMALL["plain"])
    digests = set()
    for n_ranks, fixed in ((1, "0"), (4, "any/1,any/2,low/2")):
        store = tmp_path / f"{n_ranks}"
        flags = ["--rules", tmp_path / "rules.toml", "--objective", "race-wins", "--G", fixed, "--store", store]
        result = mpirun(n_ranks, ["-m", "yahtzee_cluster.run", *flags])
        assert result.returncode == 0, result.stderr
        digests |= {line for line in result.stdout.splitlines() if line.startswith("sha256")}
    assert len(digests) == 1
    value, win, tie, loss = (float(line.split()[1]) for line in result.stdout.splitlines()[-4:])
    everything = solved(RaceWins(parse_rules(SMALL["plain"], "plain")))[0b111111]
    assert value == pytest.approx(everything[0], abs=1e-9)
    assert win == pytest.approx(100 * everything[1], abs=1e-6)
    assert win + tie + loss == pytest.approx(100, abs=1e-5)
    problem = Race(parse_rules(SMALL["plain"], "plain"))
    compute(tmp_path / "race", problem, 0b1001)
    table = race_table(tmp_path / "race")
    assert table.opening() == (everything[0],)
    verdict = table.verify()
    assert verdict.complaints == ()
    assert verdict.n_judged == len(table.store.partition.classes) - 1  # nothing is to be judged when the game is over


@pytest.mark.program
def test_keeping_the_frontier_alone(tmp_path: Path) -> None:
    """Classes that nothing to come reads are dropped, but for their digests; what is missing is computed again."""
    (tmp_path / "rules.toml").write_text(SMALL["plain"])
    flags = ["--rules", tmp_path / "rules.toml", "--objective", "race", "--G", "2"]

    def run(store: Path, *more: str) -> tuple[str, int]:
        result = mpirun(3, ["-m", "yahtzee_cluster.run", *flags, "--store", store, "--json", *more])
        assert result.returncode == 0, result.stderr
        summary = json.loads(result.stdout)
        return summary["table_sha256"], summary["classes_computed"]

    digest, n_classes = run(tmp_path / "all")
    problem = Race(parse_rules(SMALL["plain"], "plain"))
    header = read_header(tmp_path / "all")
    assert header
    store = Store.of(tmp_path / "frontier", problem, header.fixed)
    assert run(store.path, "--keep", "frontier") == (digest, n_classes)
    partition = store.partition
    assert store.dropped == {*partition.classes[:-1]}
    assert not any((store.place(cls) / "c.0").exists() for cls in store.dropped)
    table = race_table(store.path)
    assert table.opening() == race_table(tmp_path / "all").opening()
    verdict = table.verify()
    assert (verdict.n_missing, verdict.complaints) == (len(store.dropped), ())
    with pytest.raises(DamagedError, match="was dropped when nothing to come read it; run its job with --keep all"):
        store.block(partition.classes[0])
    assert run(store.path, "--keep", "frontier") == (digest, 0)
    # What is lost takes those below with it that it needs, and no others.
    lost = next(cls for cls in partition.classes if partition.layer(cls) == 5)
    rmtree(store.place(lost))
    needed, found = {lost}, [lost]
    while found:
        below = {cls for cls in partition.dependencies(found.pop()) if cls in store.dropped} - needed
        needed |= below
        found += below
    assert run(store.path, "--keep", "frontier") == (digest, len(needed))
    # So does a class of which not even the digest is left.
    (store.place(lost) / "zarr.json").write_text("{}")
    assert run(store.path, "--keep", "frontier") == (digest, len(needed))
    n_dropped = len(store.dropped)
    assert run(store.path) == (digest, n_dropped)
    assert run(store.path) == (digest, 0)
    assert store.dropped == set()


@pytest.mark.parametrize("text", [BONUS, SMALL["exact"], SMALL["plain"]], ids=["bonus", "exact", "plain"])
def test_a_stranger_finds_every_row(text: str, tmp_path: Path) -> None:
    """With Zarr alone, the index leads to every quantity of every state."""
    problem = RaceWins(parse_rules(text, "test"))
    compute(tmp_path, problem, 0b10)
    index = zarr.open_group(tmp_path, mode="r")["index"]
    assert isinstance(index, zarr.Group)
    at = {name: np.asarray(column[:]) for name, column in index.arrays()}
    subsets, n = at["subset"].tolist(), len(problem.rules.categories)
    assert subsets == sorted(subset for subset in range(1 << 2 * n) if problem.exist(np.array([subset]))[0])
    anchors = list(zip(at["anchor_free"], at["anchor_upper"], at["anchor_chip"], at["anchor_number"], strict=True))
    table, n_found = race_table(tmp_path), 0
    for line, subset in enumerate(subsets):
        there = zarr.open_array(tmp_path / "classes" / f"{at['layer'][line]:02}-{at['part'][line]:x}", mode="r")
        values, first, length = np.asarray(there[:]), int(at["offset"][line]), int(at["length"][line])
        one, two = ([row for row in anchors if row[0] == free] for free in (subset & (1 << n) - 1, subset >> n))
        for (free, upper, chip, mine), (other_free, other_upper, other_chip, theirs) in product(one, two):
            mover = Anchor(free, None if upper < 0 else upper, bool(chip))
            other = Anchor(other_free, None if other_upper < 0 else other_upper, bool(other_chip))
            rows = [(q * at["anchors_1"][line] + mine) * at["anchors_2"][line] + theirs for q in range(2)]
            for i, lead in enumerate(range(at["lowest"][line], at["lowest"][line] + length)):
                found = [float(values[first + int(row) * length + i]) for row in rows]
                if n_found % 97 == 0 and lead in leads((problem.anchors, mover), (problem.anchors, other)):
                    assert tuple(found) == table.values(mover, other, lead)
                n_found += 1


@pytest.mark.program
def test_asking(tmp_path: Path) -> None:
    """A table of two players is asked, looked at and verified with the same commands."""
    rules = parse_rules(SMALL["plain"], "plain")
    problem = RaceWins(rules)
    compute(tmp_path, problem, 0b11)
    one, two = Anchor(0b101, 0, False), Anchor(0b111, 0, False)
    flags = ["--store", tmp_path, "--used", "pairs", "--lead", "8"]
    found = json.loads(command("value", *flags, "--json").stdout)
    assert (found["used"], found["other_used"], found["lead"]) == (["pairs"], [], 8)
    assert (found["value"], found["win"]) == race_table(tmp_path).values(one, two, 8)
    value, win = reference.race(rules)((0b101, 0, False), (0b111, 0, False), 8)
    assert (found["value"], found["win"]) == pytest.approx((value, win), rel=1e-12)
    shown = command("value", *flags).stdout
    assert "used           pairs\n" in shown
    assert "other_used     nothing\n" in shown
    assert json.loads(command("value", *flags, "--other-used", "any", "--json").stdout)["value"] > found["value"]
    behind = ["--used", "pairs,any", "--other-used", "pairs,any", "--lead", "-9", "--json"]
    assert json.loads(command("value", "--store", tmp_path, *behind).stdout)["value"] == 0.0
    assert json.loads(command("status", "--store", tmp_path, "--json").stdout)["objective"] == "race-wins"
    assert "all sound" in command("verify", "--store", tmp_path).stdout
    for wrong, complaint in (
        (["value", "--used", "pairs"], "lead: say how many points the first player is ahead"),
        (["value", "--other-used", "any", "--lead", "0"], "the second player has used as many boxes as the first"),
        (["value", "--lead", "3"], "lead: no game comes to 3 here; the most is 0"),
        (["value", "--used", "pairs", "--lead", "7"], "lead: no game comes to 7 here; the nearest are 6 and 8"),
        (["value", "--used", "pairs", "--lead", "41"], "lead: no game comes to 41 here; the most is 24"),
        (["value", "--lead", "3x"], "argument --lead: expected a whole number of at most 9 digits, found '3x'"),
        (["curve"], "holds the table of two players, which `value` can be asked for"),
    ):
        refused = command(wrong[0], "--store", tmp_path, *wrong[1:])
        assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1), refused.stderr
        assert complaint in refused.stderr


def test_questions_for_tables_of_one_player(tmp_path: Path) -> None:
    """Whatever else is asked of a table of two players is refused with the one thing that it can be asked for."""
    compute(tmp_path, Race(parse_rules(TWO_BOXES, "test")), 0b11)
    table = open_table(f"{tmp_path}/")
    asked: list[Callable[[], object]] = [table.curve, table.curves, table.score_curve, table.for_goal]
    asked += [partial(ask, table.start) for ask in (table.row, table.moments)]
    asked += [partial(ask, table.start, 3) for ask in (table.value, table.moments, table.worth)]
    asked += [partial(ask, 3) for ask in (table.for_target, table.for_comparison)]
    asked.append(lambda: table.target)
    for ask in asked:
        with pytest.raises(UsageError, match=f"^{tmp_path}/: holds the table of two players, which `value` can be"):
            ask()
    assert table.goal is None


def test_refusals() -> None:
    """States that do not come about in turn order have no value."""
    problem = Race(parse_rules(SMALL["plain"], "plain"))
    with pytest.raises(UsageError, match="the second player has used as many boxes as the first, or one less"):
        problem.row(Anchor(0b111, 0, False), Anchor(0b011, 0, False))
    row = problem.row(Anchor(0b111, 0, False), Anchor(0b111, 0, False))
    assert (row.lowest, row.length) == (0, 1)


def test_bad_arguments() -> None:
    """Arrays of the wrong size never reach the kernel."""
    problem = Race(parse_rules(TWO_BOXES, "test"))
    turn = Turn(compile_moves(problem.rules))
    place, zero = np.arange(4), np.zeros(4, np.int32)
    most, scored = problem.sides[0].most, problem.sides[0].scored
    side = Side(turn, problem.anchors, place, most, zero, scored)
    kernel = Kernel(side, side)
    partition = problem.partition(0)
    block = {}
    for cls in partition.classes[:3]:
        starts = partition.starts(cls)
        block[cls] = (partition.members(cls), starts, np.zeros(starts[-1]))
    (nothing, first, second), none = block.values(), [None] * 4
    below: list[Any] = [None, None, nothing, nothing]
    kernel.solve(*first, below)
    mixed = np.sort(np.append(first[0], second[0]))
    mixed_starts = np.append(0, np.cumsum(problem.sizes(mixed)))
    wrong: list[tuple[Any, str]] = [
        ((first[0][::-1].copy(), *first[1:], below), "subsets: expected rising sets"),
        ((first[0] + 16, *first[1:], below), "subsets: expected sets of both players"),
        ((-first[0], *first[1:], below), "subsets: expected sets of both players"),
        ((np.array([0b0001]), first[1][:2], first[2], below), "as many free categories for both, or one more"),
        ((first[0], first[1] + 1, first[2], below), "out: expected the sets end to end"),
        ((first[0], first[1], first[2][1:], below), "out: expected shape"),
        ((mixed, mixed_starts, np.zeros(mixed_starts[-1]), [first] * 4), "subsets: expected the same player to move"),
        (
            (*first, [None, None, (nothing[0], nothing[1] + 1, nothing[2]), nothing]),
            r"below\[2\]: expected the sets end",
        ),
        ((*first, [None, None, nothing, (*nothing[:2], nothing[2][:0])]), r"below\[3\]: expected shape"),
        ((*first, none), "below, places: expected every set and every anchor that a play leads to"),
    ]
    for arguments, complaint in wrong:
        with pytest.raises(KernelArgumentError, match=complaint):
            kernel.solve(*arguments)
    # Without the anchor at which the first box alone is free, from which the first player comes to the others.
    other = Kernel(Side(turn, problem.anchors, place[[0, 2, 3]], *(x[[0, 2, 3]] for x in (most, zero, scored))), side)
    before, after = np.array([0b1111]), np.array([0b1101, 0b1110])
    starts, starts_after = (np.append(0, np.cumsum(other.n_values(subsets))) for subsets in (before, after))
    there = (after, starts_after, np.zeros(starts_after[-1]))
    with pytest.raises(KernelArgumentError, match="below, places: expected every set and every anchor"):
        other.solve(before, starts, np.zeros(starts[-1]), [there] * 4)
    with pytest.raises(KernelArgumentError, match="quantities: expected 1 or 2, found 3"):
        Kernel(side, side, 0, 3)
    for arguments, complaint in (
        ((place[::-1].copy(), most, zero, scored), "places: expected places in increasing order"),
        ((place + 1, most, zero, scored), "places: expected places in increasing order"),
        ((place[:0], most[:0], zero[:0], zero[:0]), "places: expected places in increasing order"),
        ((place, most + 1, zero, scored), "nothing to score where nothing is free"),
        ((place, most, zero - 1, scored), "most, least, scored: expected none below 0"),
        ((place, most[1:], zero, scored), "most: expected shape"),
    ):
        with pytest.raises(KernelArgumentError, match=complaint):
            Side(turn, problem.anchors, *arguments)
    for start in (-1, 4):
        with pytest.raises(KernelArgumentError, match="start: expected 0 to 3, found"):
            reach(turn, problem.anchors, start)
