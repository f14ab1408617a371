"""Headers made to do harm: a table is read and resumed as it is, or refused in one line."""

import copy
import json
import shutil
import sys
import time
from pathlib import Path

import pytest
from launch import compute
from small_games import SMALL
from stored import LISTED, complete
from suspect import complaint_of, put

from yahtzee_cluster.commands.cli import main
from yahtzee_cluster.errors import FileError
from yahtzee_cluster.fields import MAX_COUNT
from yahtzee_cluster.game.rule_files import parse_rules
from yahtzee_cluster.objectives import OBJECTIVES
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.errors import StoreError
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.table import Table


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished table of a small game."""
    path = tmp_path_factory.mktemp("game") / "table"
    compute(path, OBJECTIVES["maxprob"](parse_rules(SMALL["free"], "test"), 60), 0b11)
    return path


HOSTILE = {
    "huge": 10**4000,
    "large": 10**15,
    "negative": -1,
    "zero": 0,
    "yes": True,
    "fraction": 60.0,
    "endless": float("inf"),
    "nothing": None,
    "text": "maxprob",
    "controls": "\x1b[2J\x07\nyou have won\x7f\u202e\ud800",
    "long": "x" * 500_000,
    "list": [],
    "list of lists": [[1], ["a"]],
    "many": ["any"] * 100_000,
    "numbers": [*range(100_000)],
    "object": {},
    "other object": {"\x1b[2J": {"10" * 3000: "\x1b[2J"}},
    "deep": json.loads("[" * 900 + "]" * 900),
}
PLACES = [
    "identity", "identity objective", "identity target", "identity rules", "identity rules name",
    "identity rules category", "identity rules category 0", "identity rules category 0 name",
    "identity rules category 0 points", "identity rules category 2 groups", "identity rules category 2 faces",
    "identity rules upper_threshold", "identity rules joker", "identity rules yahtzee",
    "identity rules published_maxprob", "identity rules \x1b[2J", "identity \x1b[2J",
    "format", "elements", "elements 0", "fixed", "fixed 0", "provenance", "provenance host", "provenance \x1b[2J",
]  # fmt: skip


def asked(command: str, path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints of a table: its result, or one line of complaint; nothing that a terminal obeys."""
    code = main([*command.split(), "--store", str(path)])
    printed = capsys.readouterr()
    assert all(line.isprintable() for line in (printed.out + printed.err).split("\n"))
    assert (code, printed.err.count("\n")) in {(0, 0), (1, 1), (2, 1)}
    return printed.out


def going_on(path: Path, sound: Table) -> None:
    """Claim a table as a run does, and find all of it there."""
    with claim(path, sound.problem, sound.store.partition.fixed, {}) as store:
        assert all(map(store.is_sound, store.partition.classes))


@pytest.mark.parametrize("place", PLACES)
def test_hostile_headers(place: str, game: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever stands in a header, a table is asked and gone on with as it is, or refused in one line, and soon."""
    shutil.copytree(game, tmp_path / "table")
    group = json.loads((game / "zarr.json").read_bytes())
    sound = open_table(game)
    for value in HOSTILE.values():
        hostile = copy.deepcopy(group)
        put(hostile["attributes"]["yahtzee_cluster"], place, value)
        (tmp_path / "table" / "zarr.json").write_text(json.dumps(hostile))
        started = time.monotonic()
        asked("status", tmp_path / "table", capsys)
        curve = asked("curve --json", tmp_path / "table", capsys)
        assert not curve or json.loads(curve)["p"] == sound.curve().tolist()
        assert complaint_of(going_on, tmp_path / "table", sound) or curve
        assert time.monotonic() - started < 10


@pytest.mark.parametrize("command", ["status --json", "value --need 5", "verify --sample 3"])
@pytest.mark.parametrize("place", ["identity rules", "identity target", "provenance host"])
def test_hostile_headers_of_other_commands(
    command: str, place: str, game: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every other command prints its result, or refuses in one line, as well."""
    shutil.copytree(game, tmp_path / "table")
    group = json.loads((game / "zarr.json").read_bytes())
    put(group["attributes"]["yahtzee_cluster"], place, HOSTILE["controls"])
    (tmp_path / "table" / "zarr.json").write_text(json.dumps(group))
    assert bool(asked(command, tmp_path / "table", capsys)) == (place == "provenance host")


@pytest.mark.parametrize("target", [MAX_COUNT, MAX_COUNT + 1])
def test_targets_go_as_far_as_jobs(target: int, game: Path, tmp_path: Path) -> None:
    """What a job may ask for can be opened, and no more."""
    group = json.loads((game / "zarr.json").read_bytes())
    put(group["attributes"]["yahtzee_cluster"], "identity target", target)
    (tmp_path / "zarr.json").write_text(json.dumps(group))
    if target <= MAX_COUNT:
        assert open_table(tmp_path).target == target
    else:
        with pytest.raises(FileError, match=f"{tmp_path}: target: expected a whole number from 1 to {MAX_COUNT}"):
            open_table(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"fixed": ["a", "a"]},
        {"fixed": ["c", "a"]},
        {"fixed": "ac"},
        {"elements": "abc"},
        {"elements": ["c", "b", "a"]},
        {"elements": ["a", "b", "c", "d"]},
        {"identity": [["name", "listed"], ["lengths", [*LISTED.lengths]]]},
        {"provenance": [["began", "now"]]},
        {"signature": "mine"},
        {"provenance": {"began": json.loads("[" * 20 + "]" * 20)}},
        {"elements": [*map(str, range(50_000))], "fixed": [*map(str, range(50_000))]},
    ],
)
def test_headers_that_only_look_right(change: dict[str, object], tmp_path: Path) -> None:
    """A header that says the same in any other way than it is written here, or more, is refused, and soon."""
    complete(tmp_path, LISTED, 0b101)
    group = json.loads((tmp_path / "zarr.json").read_bytes())
    group["attributes"]["yahtzee_cluster"] |= change
    (tmp_path / "zarr.json").write_text(json.dumps(group))
    started = time.monotonic()
    with pytest.raises(StoreError, match=r"its zarr\.json is damaged"), claim(tmp_path, LISTED, 0b101, {}):
        pass
    assert time.monotonic() - started < 10


def test_readers_do_without_the_library(game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a table says of itself reaches the library, which would run the codecs that are asked for."""
    for name in [name for name in sys.modules if name.partition(".")[0] in {"zarr", "numcodecs"}]:
        monkeypatch.setitem(sys.modules, name, None)
    table = open_table(game)
    assert table.curve()[-1] >= 0
    assert table.verify(n_sampled=5, seed=1).table_sha256
