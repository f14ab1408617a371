"""Tables by scorecards, as rows and as labelled arrays that are read where they are looked at."""

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from launch import compute, computed, writable
from numpy.typing import NDArray
from small_games import SMALL, utility

from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.possible_scores import scores_so_far
from yahtzee_cluster.game.rest import rest_of, to_rest
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.game.scorecard import Scorecard, parse_scorecard
from yahtzee_cluster.objectives.probabilities import MaxProb, Reach
from yahtzee_cluster.storage.errors import StoreError
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.tables import open_table, table_of
from yahtzee_cluster.tables.memory import solve_in_memory
from yahtzee_cluster.tables.scorecards import ScorecardTable
from yahtzee_cluster.tables.table import Table

KINDS = "maxprob", "scores", "distribution", "approx", "utility", "expected"


def table_of_kind(kind: str, rules: str, path: Path) -> ScorecardTable:
    """A small table on disk."""
    if kind == "utility":
        compute(path, utility(parse_rules(SMALL[rules], rules), "power:2"), 0b11)
        return of_scorecards(open_table(path))
    return of_scorecards(computed(SMALL[rules], path, kind, target=40))


def of_scorecards(table: Table) -> ScorecardTable:
    assert isinstance(table, ScorecardTable)
    return table


def told(table: ScorecardTable, anchor: Anchor, number: int) -> list[float]:
    """All quantities of a state by the table's own methods, one question at a time; NaN for scores without meaning."""
    if table.objective == "utility":
        possible = number in scores_so_far(table.anchors, anchor)
        return [table.worth(anchor, number) if possible else np.nan]
    if table.objective == "expected":
        return [*table.moments(anchor)]
    return [table.value(anchor, number), *(table.moments(anchor, number) if table.objective == "scores" else ())]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rules", ["free", "forced", "exact"])
def test_every_value_is_in_its_place(kind: str, rules: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The view of a whole table has every value of every state, by its coordinates, however it is read in pieces."""
    table = table_of_kind(kind, rules, tmp_path)
    view = table.to_xarray()
    anchors = [table.anchors.anchor(place) for place in np.flatnonzero(table.anchors.exists).tolist()]
    assert view.sizes["state"] == len(anchors)
    assert [*view.box.values] == [category.name for category in table.rules.categories]
    found = np.stack([view[name].values.reshape(len(anchors), -1) for name in view.data_vars])
    for at, anchor in enumerate(anchors):
        state = view.isel(state=at)
        assert int(state.is_free.values @ (1 << np.arange(len(view.box)))) == anchor.free
        assert (int(state.upper), bool(state.chip)) == (-1 if anchor.upper is None else anchor.upper, anchor.chip)
        for number in table.numbers:
            assert np.array_equal(found[:, at, number], told(table, anchor, number), equal_nan=True), (anchor, number)
    monkeypatch.setattr("yahtzee_cluster.tables.scorecards.NEAR", 3)
    monkeypatch.setattr("yahtzee_cluster.tables.scorecards.MOST", 17)
    again = np.stack([view[name].values.reshape(len(anchors), -1) for name in view.data_vars])
    assert np.array_equal(found, again, equal_nan=True)


@pytest.mark.parametrize("kind", KINDS)
def test_any_selection(kind: str, tmp_path: Path) -> None:
    """Whatever part is selected, in whatever order, it is that part of the whole."""
    table = table_of_kind(kind, "free", tmp_path)
    view = table.to_xarray()
    whole = view.load()
    view = table.to_xarray()
    n = view.sizes["state"]
    states: list[Any] = [
        3,
        slice(5, 20, 4),
        [7, 2, 2, n - 1],
        slice(n, n),
        np.arange(n) % 5 == 1,
        slice(None, None, -3),
    ]
    numbers: list[Any] = [0, slice(1, 30, 7), [9, 0, 4], slice(0, 0), slice(None, None, -1)]
    for state in states:
        for number in numbers if table.number else [None]:
            chosen = {"state": state} | ({table.number: number} if table.number else {})
            xr.testing.assert_identical(view.isel(chosen).load(), whole.isel(chosen))
    if table.number:
        points = xr.DataArray([1, 5, 3], dims="point"), xr.DataArray([8, 0, 2], dims="point")
        pointwise = dict(zip(("state", table.number), points, strict=True))
        xr.testing.assert_identical(view.isel(pointwise).load(), whole.isel(pointwise))
    ones = view.is_free.sel(box="ones", drop=True)
    some = view.isel(state=ones)
    assert 0 < some.sizes["state"] < n
    assert some.is_free.sel(box="ones").all()
    xr.testing.assert_identical(some.load(), whole.isel(state=np.flatnonzero(ones)))


@pytest.mark.parametrize("kind", KINDS)
def test_by_card(kind: str, tmp_path: Path) -> None:
    """A card in any form, alone or among others, has the row of its state, and `sel` the values asked for."""
    table = table_of_kind(kind, "free", tmp_path)
    text = "twos=4,five=11"
    card = parse_scorecard(text, table.rules)
    row = table[card]
    for same in (text, {"twos": 4, "five": 11}, card.anchor):
        assert np.array_equal(table[same], row, equal_nan=True)
    random = np.random.default_rng(3).choice(len(table.anchors), 30)
    anchors = [table.anchors.anchor(int(np.flatnonzero(table.anchors.exists)[at])) for at in random]
    shuffled, whole = table.to_xarray(anchors).load(), table.to_xarray().isel(state=random).load()
    for name in whole.data_vars:
        assert np.array_equal(shuffled[name], whole[name], equal_nan=True)
    number = {"score": 15, "need": 7}.get(table.number or "", 0)
    values = told(table, card.anchor, number)
    first = row if table.number is None else row[number : number + 1]
    assert np.array_equal(first, values[: len(first)])
    several = table.to_xarray([text, "", {"house": 0}])
    assert several.card.values.tolist() == [text, "", "house=0"]
    for at, name in enumerate(several.data_vars):
        chosen = several[name].sel({"card": text} | ({table.number: number} if table.number else {}))
        assert chosen.item() == values[at]
    asked = {table.number: number} if table.number else {}
    xr.testing.assert_identical(table.sel(text, **asked), several.sel({"card": text} | asked).load())
    assert table.sel([text, ""], **asked).sizes["card"] == 2
    everywhere = table.sel(None, **asked)
    assert everywhere.sizes == {"state": len(table.anchors), "box": 4}


def test_curve_from_a_card(tmp_path: Path) -> None:
    """A row by card is indexed by the need itself: from the start it is the curve."""
    table = table_of_kind("maxprob", "forced", tmp_path)
    assert np.array_equal(table[""], table.curve())
    assert table["five=8"][12] == table.value(Anchor(0b1110, 0, True), 12)


def n_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collects how many values each access to a store asks for."""
    sizes: list[int] = []
    row = Store.row

    def counted(store: Store, cls: Any, start: int, stop: int) -> NDArray[np.float64]:
        sizes.append(stop - start)
        return row(store, cls, start, stop)

    monkeypatch.setattr(Store, "row", counted)
    return sizes


@pytest.fixture(scope="module")
def yacht(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScorecardTable]:
    """The table of a real game, in short chunks."""
    path = tmp_path_factory.mktemp("yacht")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("yahtzee_cluster.storage.shard.CHUNK_VALUES", 1 << 10)
        compute(path, MaxProb(load_rules("yacht"), 300), 0b111)
        yield of_scorecards(open_table(path))


def test_only_what_is_looked_at_is_read(yacht: ScorecardTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view reads nothing until it is looked at, and then little more than what is asked for."""
    sizes = n_read(monkeypatch)
    view = yacht.to_xarray()
    wanted = view.p.isel(state=[5, 4000]).sel(need=slice(100, 120))
    repr(view), repr(wanted)
    assert sizes == []
    assert wanted.values.shape == (2, 21)
    assert sum(sizes) <= 2 * 21
    sizes.clear()
    three = yacht.sel(["aces=3", "yacht=50, chance=20", "deuces=0"], need=[150, 40])
    assert three.p.shape == (3, 2)
    assert sum(sizes) <= 3 * 111
    sizes.clear()
    monkeypatch.setattr("yahtzee_cluster.tables.scorecards.NEAR", 1 << 10)
    ends = yacht.sel([Anchor(0b000000111111, None), Anchor(0b111000000111, None)], need=1)  # at both ends of a class
    assert (ends.p > 0).all()
    assert sum(sizes) == 2


def test_a_column_of_a_table_larger_than_the_memory(yacht: ScorecardTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """All states at one need are read piece by piece, most values once, and take a fraction of the table's memory."""
    n_bytes = 8 * sum(yacht.store.partition.n_values.values())
    assert n_bytes > 4.9e6
    monkeypatch.setattr("yahtzee_cluster.tables.scorecards.NEAR", 1 << 10)
    monkeypatch.setattr("yahtzee_cluster.tables.scorecards.MOST", 1 << 13)
    sizes = n_read(monkeypatch)
    view = yacht.to_xarray()
    view.p.isel(state=slice(0, 2), need=0).load()
    tracemalloc.start()
    try:
        column = view.p.sel(need=120).load()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n_bytes / 3  # of which the buffer of an open file may be a megabyte
    assert sum(sizes) < n_bytes / 8
    assert max(sizes) < 2 * (1 << 13)
    assert len(sizes) < 1000
    anchors = [yacht.anchors.anchor(place) for place in range(yacht.anchors.n_places)]
    assert column.values.tolist() == [yacht.value(anchor, 120) for anchor in anchors]


def test_tables_in_memory() -> None:
    """A table in memory is asked as one on disk is; of the rest of a game, by the cards of the whole game."""
    rules = parse_rules(SMALL["free"], "free")
    whole = of_scorecards(table_of(problem := MaxProb(rules, 40), solve_in_memory(problem)))
    begun = parse_scorecard("twos=2", rules).anchor
    rest = rest_of(rules, begun)
    part = of_scorecards(table_of(problem := MaxProb(rest, 40), solve_in_memory(problem)))
    for card in ("twos=2", "twos=2,ones=3", "twos=2,five=11", "twos=2,ones=5,five=11,bonus=9"):
        assert np.array_equal(part[card], whole[card])
        assert np.array_equal(part.to_xarray(card).p, whole[card])
    with pytest.raises(UsageError, match="the scorecard is none that play can lead to"):
        part["ones=3"]
    assert part.to_xarray().sizes["state"] == len(Anchors(rest))


def test_rows_with_only_the_needs_that_occur() -> None:
    """Needs that do not occur on the way to a target are NaN, and all others are those of MaxProb."""
    rules = parse_rules(SMALL["free"], "free")
    whole = of_scorecards(table_of(problem := MaxProb(rules, 30), solve_in_memory(problem)))
    reach = of_scorecards(table_of(problem := Reach(rules, 30), solve_in_memory(problem)))
    found, all_needs = reach.to_xarray().p.values, whole.to_xarray().p.values
    missing = np.isnan(found)
    assert 0.1 < missing.mean() < 0.9
    assert np.array_equal(found[~missing], all_needs[~missing])
    for place in np.flatnonzero(reach.anchors.exists).tolist():
        at = int(np.flatnonzero(np.flatnonzero(reach.anchors.exists) == place)[0])
        anchor = reach.anchors.anchor(place)
        needs = {max(0, 30 - score) for score in scores_so_far(reach.anchors, anchor)}
        assert not missing[at, sorted(needs)].any()


def test_impossible_values_are_refused(tmp_path: Path) -> None:
    """Values that cannot be, although they were committed as if they were right, are never handed out."""
    table = table_of_kind("maxprob", "free", tmp_path)
    subset = parse_scorecard("ones=2", table.rules).anchor.free
    cls = table.store.partition.class_of(subset)
    sound = table.store.block(cls)
    writable(table.store)
    table.store.remove(cls)
    table.store.write(cls, Block(sound.subsets, sound.starts, sound.values + 1))
    for ask in (lambda: table["ones=2"], lambda: table.sel("ones=2", need=3), lambda: table.to_xarray().p.values):
        with pytest.raises(StoreError, match="holds values that cannot be"):
            ask()
    assert table["five=11"][3] > 0.5


@pytest.mark.parametrize(
    ("ask", "complaint"),
    [
        (lambda table: table["ones=6"], "ones: no roll scores 6 there"),
        (lambda table: table["once=1"], "no box 'once'; did you mean ones?"),
        (lambda table: table[5], "card: expected points by the names of boxes, found 5"),
        (lambda table: table.to_xarray(5), "card: expected points by the names of boxes, found 5"),
        (lambda table: table.to_xarray([None]), "card: expected points by the names of boxes, found nothing"),
        (lambda table: table[Scorecard.of(load_rules("yacht"), {})], "card: is one of yacht, and this table is of"),
        (lambda table: table[Anchor(1 << 9, 0)], "no such scorecard"),
        (lambda table: table.sel("ones=1", need=41), "need: this table has 0 to 40, found 41"),
        (lambda table: table.sel("ones=1", need=-1), "need: this table has 0 to 40, found -1"),
        (lambda table: table.sel("ones=1", need=2.5), "need: this table has 0 to 40, found 2.5"),
        (lambda table: table.sel("ones=1", score=4), "score: this table has a need instead"),
        (list, "is not iterable"),
    ],
)  # fmt: skip
def test_what_a_table_does_not_have(ask: Callable[[Table], object], complaint: str, tmp_path: Path) -> None:
    """Cards and numbers that there are not are refused in one sentence."""
    with pytest.raises((UsageError, TypeError)) as refused:
        ask(table_of_kind("maxprob", "free", tmp_path))
    assert complaint in str(refused.value)


def test_two_players(tmp_path: Path) -> None:
    """A table of two players has no rows by one card, and says so in one line."""
    table = computed(SMALL["plain"], tmp_path, "race")
    assert repr(table) == f"RaceTable('{tmp_path}', race of plain)"
    for ask in (lambda: table[""], lambda: table.sel(""), table.to_xarray):
        with pytest.raises(UsageError, match=r"holds the table of two players, which `value` can be asked for$"):
            ask()
    expected = table_of_kind("expected", "free", tmp_path / "expected")
    with pytest.raises(UsageError, match="need: this table has none instead"):
        expected.sel("ones=1", need=4)


def test_anchors_of_the_rest() -> None:
    """An anchor is one of the table's own game, so that its methods accept what it returns."""
    rules = parse_rules(SMALL["free"], "free")
    begun = parse_scorecard("twos=2", rules).anchor
    table = of_scorecards(table_of(problem := MaxProb(rest_of(rules, begun), 40), solve_in_memory(problem)))
    assert np.array_equal(table[table.start], table["twos=2"])
    assert np.array_equal(table[to_rest(table.rules, begun)], table["twos=2"])
