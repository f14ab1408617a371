"""Tables that somebody else has made, or that something has happened to: they are data, and stay where they are."""

import copy
import errno
import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launch import calling, compute, writable
from small_games import SMALL
from stored import ALL, LISTED, bits, class_with, complete, contents, copied, in_a_process, small_and_quick
from toy import Listed

from yahtzee_cluster.commands.cli import main
from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.errors import FileError, YahtzeeClusterError
from yahtzee_cluster.fields import MAX_COUNT
from yahtzee_cluster.game.rules import parse_rules
from yahtzee_cluster.objectives import OBJECTIVES
from yahtzee_cluster.storage.claim import claim
from yahtzee_cluster.storage.errors import DamagedError, ReplacedError, StoreError, StoreRefusedError
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.lock import writer
from yahtzee_cluster.storage.paths import ASIDE, SHARD
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.table import Table


def somebody_s(path: Path) -> Path:
    """A directory with things that are dear to somebody."""
    (path / "deep").mkdir(parents=True)
    (path / "novel.txt").write_text("It was a dark and stormy night.")
    (path / "deep" / "c.0").write_bytes(b"\1" * 100)
    return path


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A directory beside the store, in which nothing may change."""
    path = somebody_s(tmp_path / "outside")
    before = contents(path)
    yield path
    assert contents(path) == before


def delete(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def mended(path: Path) -> None:
    """Do what a run does with a table in which something is damaged."""
    with claim(path, LISTED, ALL, {}) as claimed:
        for cls in claimed.committed:
            if not claimed.is_sound(cls):
                claimed.remove(cls)
        for cls in set(claimed.partition.classes) - set(claimed.committed):
            claimed.write(cls, LISTED.block(claimed.partition, cls))


def complaint_of(action: Callable[..., object], *arguments: object) -> str:
    """What an action that may well be refused complains of, in one line."""
    complaint = ""
    try:
        action(*arguments)
    except YahtzeeClusterError as error:
        complaint = str(error)
    assert complaint.isprintable()
    return complaint


# ------------------------------------------------------------------------------------------------------ links


@pytest.mark.parametrize("name", [".partial", ".lock", "classes", "index", "zarr.json"])
@pytest.mark.parametrize("target", ["outside", "outside/novel.txt", "nowhere", "original"])
@pytest.mark.usefixtures("outside")
def test_links_in_a_table_are_refused(name: str, target: str, table: Store, tmp_path: Path) -> None:
    """A link where a run would write is refused before anything is touched, even if all that it leads to is right."""
    store = copied(table, tmp_path / "table")
    if (store.path / name).exists():
        (store.path / name).rename(tmp_path / "original")
    (store.path / name).symlink_to(tmp_path / target)
    before = contents(tmp_path)
    with pytest.raises(StoreRefusedError, match=f"{store.path / name}: is a symbolic link"):
        mended(store.path)
    with pytest.raises(StoreRefusedError, match="is a symbolic link"):
        read_header(store.path)
    assert contents(tmp_path) == before
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", [".partial", ".lock", "classes", "index"])
@pytest.mark.parametrize("target", ["outside", "nowhere"])
def test_links_where_a_table_is_to_be_begun_are_refused(name: str, target: str, outside: Path, tmp_path: Path) -> None:
    """The same where there is no table yet: nothing is made behind a link."""
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / name).symlink_to(outside if target == "outside" else tmp_path / target)
    before = contents(tmp_path)
    with pytest.raises(StoreRefusedError, match=f"{name}: is a symbolic link"):
        mended(tmp_path / "table")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("linked", ["", SHARD, "zarr.json"])
@pytest.mark.parametrize("right", [False, True])
def test_linked_classes_are_damaged(linked: str, right: bool, table: Store, outside: Path, tmp_path: Path) -> None:
    """A class that is a link, or holds one, is not read, even if all is right there; it goes, its target stays."""
    store = copied(table, tmp_path / "table")
    cls = class_with(store, 5)
    place = store.place(cls) / linked
    delete(place)
    place.symlink_to(table.place(cls) / linked if right else outside / "deep" / linked)
    for look in (store.block, lambda cls: store.row(cls, 0, 5)):
        with pytest.raises(DamagedError, match=str(store.place(cls))):
            look(cls)
    mended(store.path)
    assert not place.is_symlink()
    assert bits(store.block(cls).values) == bits(LISTED.block(store.partition, cls).values)
    assert table.is_sound(cls)


@pytest.mark.parametrize("linked", ["", "dropped"])
def test_nothing_is_dropped_elsewhere(linked: str, table: Store, tmp_path: Path) -> None:
    """Where a link stands for a class, or for the mark that it was dropped, nothing is made or taken away behind it."""
    store = copied(table, tmp_path / "table")
    cls = class_with(store, 5)
    place = store.place(cls) / linked
    delete(place)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / SHARD).touch()
    place.symlink_to(tmp_path / "elsewhere" / linked)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        writable(store).drop(cls)
    assert [*(tmp_path / "elsewhere").iterdir()] == [tmp_path / "elsewhere" / SHARD]


def test_what_is_swept_may_be_anything(outside: Path, tmp_path: Path) -> None:
    """Links, files, pipes and directories in `.partial` are all swept, and nothing that they lead to."""
    path = tmp_path / "table"
    aside = path / ASIDE
    (aside / "directory" / "deep").mkdir(parents=True)
    (aside / "file").write_text("")
    os.mkfifo(aside / "pipe")
    for name, target in [("link", outside), ("dangling", Path("nowhere")), ("to file", outside / "novel.txt")]:
        (aside / name).symlink_to(target)
        (aside / "directory" / "deep" / name).symlink_to(target)
    complete(path, LISTED, ALL)
    assert not aside.exists()


def test_the_root_may_be_a_link(table: Store, tmp_path: Path) -> None:
    """A user may name a table by a link."""
    (tmp_path / "link").symlink_to(tmp_path / "table")
    (tmp_path / "table").mkdir()
    store = complete(tmp_path / "link", LISTED, ALL)
    assert store.table_digest == table.table_digest
    assert Store.of(tmp_path / "table", LISTED, ALL).is_sound(class_with(table, 5))


def test_a_lock_that_has_another_name_is_not_written_into(table: Store, outside: Path, tmp_path: Path) -> None:
    """A lock that is a hard link to some other file is refused, and the file stays as it is."""
    store = copied(table, tmp_path / "table")
    os.link(outside / "novel.txt", store.path / ".lock")
    with pytest.raises(StoreRefusedError, match=r"\.lock: is the same file as one elsewhere; remove it here"):
        mended(store.path)


# ---------------------------------------------------------------------------------------------- special files


def look_and_mend(path: str) -> None:
    """Look at a table in every way, then go on with it; print what is complained of."""
    store = Store.of(Path(path), LISTED, ALL)
    with small_and_quick():
        for look in (read_header, writer, lambda _: [*map(store.is_sound, store.partition.classes)], mended):
            try:
                look(store.path)
            except YahtzeeClusterError as error:
                print(error)


def device(path: Path) -> None:
    try:
        os.mknod(path, 0o666 | 0o020000, os.makedev(1, 5))  # /dev/zero, which has no end
    except PermissionError:
        pytest.skip("only root can make a device")


@pytest.mark.parametrize("name", ["zarr.json", ".lock", "classes/02-3/zarr.json", "classes/02-3/c.0", "classes/02-3"])
@pytest.mark.parametrize("make", [os.mkfifo, device])
def test_special_files_are_not_read(make: Callable[[Path], None], name: str, table: Store, tmp_path: Path) -> None:
    """Nobody waits for a pipe to be filled or reads a device; in a class, they are damage that is mended."""
    store = copied(table, tmp_path / "table")
    cls = class_with(store, 9)
    delete(store.path / name)
    make(store.path / name)
    with in_a_process(look_and_mend, store.path) as process:
        try:
            printed, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0
    if name.startswith("classes"):
        assert printed == ""
        assert store.is_sound(cls)
    else:
        complaint = f"{store.path}: cannot be read" if name == "zarr.json" else str(store.path / name)
        assert printed == f"{complaint}: Not a regular file\n" * 2


@pytest.mark.parametrize("name", ["zarr.json", "classes/02-3/zarr.json"])
def test_long_metadata_are_not_read(name: str, table: Store, tmp_path: Path) -> None:
    """Metadata of a terabyte are refused without being read."""
    store = copied(table, tmp_path / "table")
    with (store.path / name).open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(StoreError, match="is longer than 1048576 bytes"):
        read_header(store.path) if name == "zarr.json" else store.digest(class_with(store, 9))


def test_long_shards_are_not_read(table: Store, tmp_path: Path) -> None:
    """A shard that is not as long as its class wants is refused before anything of it is read."""
    store = copied(table, tmp_path / "table")
    cls = class_with(store, 9)
    for n_bytes in (0, 1, 1 << 40):
        with (store.place(cls) / SHARD).open("r+b") as file:
            file.truncate(n_bytes)
        for look in (store.read, lambda cls: store.row(cls, 0, 1)):
            with pytest.raises(DamagedError, match="not as long as it should be"):
                look(cls)


# --------------------------------------------------------------------------------------------- what is written


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails at any file or directory leaves nothing of itself, and can be tried again."""
    with claim(tmp_path, LISTED, ALL, {}) as store:
        cls = class_with(store, 22)
        block = LISTED.block(store.partition, cls)
        for n_good in range(4):
            answers = iter([None] * n_good)

            def sync(_: int, answers: Iterator[None] = answers) -> None:
                if next(answers, "full"):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            with monkeypatch.context() as patch:
                patch.setattr("os.fsync", sync)
                with pytest.raises(OSError, match="No space left on device"):
                    store.write(cls, block)
            assert [*(tmp_path / ASIDE / store.run.token).iterdir()] == []
            assert (cls in store.committed) == (n_good == 3)  # the class is there, only not for good
        assert store.is_sound(cls)


def test_many_write_the_same_class(tmp_path: Path) -> None:
    """Stores that write the same class at once never meet, wherever they run, and the class is there once and sound."""
    with claim(tmp_path, LISTED, ALL, {}) as store:
        cls = class_with(store, 22)
        stores = [Store.of(tmp_path, LISTED, ALL, store.run.token) for _ in range(8)]
        with ThreadPoolExecutor(8) as pool:
            for _ in range(20):
                [*pool.map(lambda other: other.write(cls, LISTED.block(store.partition, cls)), stores)]
                assert store.is_sound(cls)
                store.remove(cls)
        assert [*(tmp_path / ASIDE / store.run.token).iterdir()] == []


BIG = Listed((500_000, 400_000))
"""More than 7 MB."""


def fill_small_disk(path: str) -> None:
    """Mount a disk of 8 MB, on which nobody else can see what goes on; try to put tables there."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", path], check=True)
    root = Path(path)
    try:
        complete(root / "larger", Listed((800_000, 400_000)), 1)
    except StoreRefusedError as error:
        print(error)
    (root / "ballast").write_bytes(bytes(4 << 20))
    try:
        complete(root / "table", BIG, 1)
    except StoreRefusedError as error:
        print(error)
    (root / "ballast").unlink()
    with claim(root / "table", BIG, 1, {}) as store:
        classes = store.partition.classes
        store.write(classes[0], BIG.block(store.partition, classes[0]))
        (root / "ballast").write_bytes(bytes(2 << 20))
        free = shutil.disk_usage(root).free
        try:
            store.write(classes[1], BIG.block(store.partition, classes[1]))
        except OSError as error:
            print(error.strerror)
        assert shutil.disk_usage(root).free == free
        assert store.committed == [classes[0]]
        (root / "ballast").unlink()
    print(complete(root / "table", BIG, 1).committed == [*classes])


def test_small_disks(tmp_path: Path) -> None:
    """A disk too small for what is missing is refused at once; one that fills up is not left fuller by a failure."""
    alone = ["unshare", "--mount", "--map-root-user"]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    result = subprocess.run(
        [*alone, *calling(fill_small_disk, tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    advice = "; make room, or name a --store on another disk"
    assert result.stdout.splitlines() == [
        f"{tmp_path}/larger: has room for 8.0 MB, and the table still takes 9.2 MB{advice}",
        f"{tmp_path}/table: has room for 4.0 MB, and the table still takes 6.9 MB{advice}",
        "No space left on device",
        "True",
    ], result.stderr


def test_a_disk_that_does_not_say_how_large_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that reports no sizes at all is tried."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(total=0, used=0, free=0))
    assert complete(tmp_path, LISTED, ALL).table_digest


@pytest.mark.parametrize("provenance", [{}, {"program": "test"}])
def test_where_it_was_may_be_left_out(
    provenance: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without provenance, nothing on disk says where a run is; with it, the lock does."""
    monkeypatch.setattr("socket.gethostname", lambda: "host-of-this-test")
    with claim(tmp_path, LISTED, ALL, provenance):
        named = {path for path, content in contents(tmp_path).items() if b"host-of-this-test" in (content or b"")}
        assert named == ({tmp_path / ".lock"} if provenance else set())
        assert (writer(tmp_path) == f"process {os.getpid()}") == (not provenance)
    header = read_header(tmp_path)
    assert header
    assert header.provenance == provenance


@pytest.mark.parametrize("umask", [0o027, 0o002, 0o077])
def test_modes_follow_the_umask(umask: int, tmp_path: Path) -> None:
    """Every file and directory of a table has the bits that the umask leaves, while it is written and afterwards."""
    before = os.umask(umask)
    try:
        with claim(tmp_path / "table", LISTED, ALL, {}) as store:
            for cls in store.partition.classes:
                store.write(cls, LISTED.block(store.partition, cls))
            modes = {path: path.stat().st_mode for path in [store.path, *store.path.rglob("*")]}
    finally:
        os.umask(before)
    assert {path.name for path in modes} >= {"table", ".lock", ".partial", "index", "classes", "zarr.json", SHARD, "c"}
    for path, mode in modes.items():
        assert stat.S_IMODE(mode) == (0o777 if stat.S_ISDIR(mode) else 0o666) & ~umask, path


def test_a_run_that_begins_while_another_ends(table: Store, tmp_path: Path) -> None:
    """A run that begins before any step in which another one tidies up has the table to itself, and keeps it."""
    path = copied(table, tmp_path / "table").path
    for number in count():
        steps = count()
        with ExitStack() as other, pytest.MonkeyPatch.context() as patch:

            def step(real: Callable[..., None], *arguments: Any, steps: Iterator[int] = steps, **options: Any) -> None:
                if next(steps) == number:  # noqa: B023  # called in this turn of the loop only
                    patch.undo()
                    other.enter_context(claim(path, LISTED, ALL, {}))
                real(*arguments, **options)

            with claim(path, LISTED, ALL, {}):
                for name in ("rmdir", "unlink"):
                    patch.setattr(f"os.{name}", partial(step, getattr(os, name)))
            if next(steps) == number:
                break  # there are no more steps
            assert writer(path) == f"process {os.getpid()}"
            with pytest.raises(StoreRefusedError, match="is being written by another run"):
                mended(path)
        assert not (path / ASIDE).exists()
    assert number >= 3


def test_what_outlives_its_run_commits_all_or_nothing(
    table: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank that still writes when the next run begins fails, or commits a whole class; never what is left of one."""
    path = copied(table, tmp_path / "table").path
    cls, outcomes, random = class_with(table, 22), set(), Random(1)
    monkeypatch.setattr("os.fsync", lambda _: time.sleep(0.004 * random.random()))
    with ThreadPoolExecutor(1) as late:
        for n in range(100):
            zombie = Store.of(path, LISTED, ALL, run=f"old-{n}")
            zombie.run.make()
            written = late.submit(zombie.write, cls, LISTED.block(zombie.partition, cls))
            while not (written.done() or any((path / ASIDE).glob("old-*/*/c.0"))):
                pass
            with claim(path, LISTED, ALL, {}) as store:
                failure = written.exception()
                assert isinstance(failure, FileNotFoundError | ReplacedError | None)
                assert store.is_sound(cls) or failure
                outcomes.add(failure is None)
                if cls in store.committed:
                    store.remove(cls)
                assert [entry.name for entry in (path / ASIDE).iterdir()] == [store.run.token]
    assert outcomes == {True, False}


# ---------------------------------------------------------------------------------------------------- headers


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


def put(header: Any, place: str, value: object) -> None:
    *way, last = [int(name) if name.isdecimal() else name for name in place.split(" ")]
    for name in way:
        header = header[name]
    header[last] = value


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


# ------------------------------------------------------------------------------------------------------- fuzz


def assert_right_or_refused(store: Store) -> None:
    """Whoever reads a table gets what was written, or one line; and a run that takes it makes it whole."""

    def look(cls: ClassId) -> None:
        written = bits(LISTED.block(store.partition, cls).values)
        assert bits(store.row(cls, 0, store.partition.n_values[cls])) == written
        assert bits(store.block(cls).values) == written

    complaint_of(read_header, store.path)
    complaint_of(writer, store.path)
    complaint_of(lambda: store.committed)
    for cls in store.partition.classes:
        assert bool(complaint_of(look, cls)) != store.is_sound(cls)
    if not complaint_of(mended, store.path):
        assert all(map(store.is_sound, store.partition.classes))


@contextmanager
def at_risk(table: Store) -> Iterator[Store]:
    """A table that may be spoilt; then it must be read as it was written, or refused, with nothing else touched."""
    with TemporaryDirectory(dir=table.path.parent) as path:
        outside = somebody_s(Path(path, "outside"))
        before = contents(outside)
        store = copied(table, Path(path, "table"))
        yield store
        assert_right_or_refused(store)
        assert contents(outside) == before
        assert {entry.name for entry in Path(path).iterdir()} == {"outside", "table"}


def test_every_flipped_bit_of_a_class_is_noticed(table: Store) -> None:
    """No bit of any file of a class can be another one."""
    cls = class_with(table, 2)
    for path in table.place(cls).iterdir():
        content = path.read_bytes()
        for n in range(8 * len(content)):
            flipped = bytearray(content)
            flipped[n // 8] ^= 1 << n % 8
            path.write_bytes(flipped)
            assert not table.is_sound(cls), (path, n)
        path.write_bytes(content)
    assert table.is_sound(cls)


@st.composite
def spoilt(draw: st.DrawFn, content: bytes) -> bytes:
    """A file that was cut off, has grown, was written over in places, or never was what it should be."""
    start, stop = sorted(draw(st.tuples(*[st.integers(0, len(content))] * 2)))
    return draw(
        st.sampled_from([content[:stop], content[start:], content[:start] + content[stop:], content + content[:stop]])
        | st.binary(max_size=8).map(lambda some: content[:start] + some + content[start + len(some) :])
        | st.binary(max_size=100)
    )


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
OWN_PLACES = ["identity", "identity name", "identity lengths", "identity lengths 2", "format", "elements",
              "elements 1", "fixed", "fixed 2", "provenance", "provenance began"]  # fmt: skip


@settings(max_examples=60)
@given(st.data())
def test_spoilt_files(table: Store, data: st.DataObject) -> None:
    """Whatever the bytes of a file are, a table is read as it was written, or refused in one line."""
    with at_risk(table) as store:
        place = store.place(class_with(store, data.draw(st.sampled_from([0, 5, 9]))))
        files = [place / SHARD, place / "zarr.json", store.path / "zarr.json", store.path / "classes" / "zarr.json"]
        path = data.draw(st.sampled_from(files))
        path.write_bytes(data.draw(spoilt(path.read_bytes())))


@settings(max_examples=60)
@given(st.sampled_from(OWN_PLACES), json_values)
def test_spoilt_headers(table: Store, place: str, value: object) -> None:
    """Whatever a header says in one place, a table is read as it was written, or refused in one line."""
    with at_risk(table) as store:
        group = json.loads((store.path / "zarr.json").read_bytes())
        put(group["attributes"]["yahtzee_cluster"], place, value)
        (store.path / "zarr.json").write_text(json.dumps(group))


FOLDERS = ["", "classes", "classes/02-3", "index", "index/part", ".partial", ".partial/02-3.0"]
STRAYS = ["c.0", "c.1", "zarr.json", ".zarray", "02-3", "03-7", "99-0", "index", "classes", ".lock", ".partial",
          "\x1b[2J\n", "x" * 255]  # fmt: skip
MAKERS: list[Callable[[Path], object]] = [
    os.mkfifo,
    lambda path: path.write_bytes(b"\xff\x1b[2J\n" * 50),
    lambda path: (path / "deep").mkdir(parents=True),
    lambda path: path.symlink_to(Path("/", *path.parts[1:-1], "nowhere")),
    lambda path: path.symlink_to(next(p for p in path.parents if (p / "outside").exists()) / "outside"),
]


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(st.sampled_from(FOLDERS), st.sampled_from(STRAYS), st.sampled_from(MAKERS)), min_size=1, max_size=4
    )
)
def test_strays(table: Store, strays: list[tuple[str, str, Callable[[Path], object]]]) -> None:
    """Whatever lies about in a table, or stands in place of its parts, it is read as it was written, or refused."""
    with at_risk(table) as store:
        for folder, name, make in strays:
            path = store.path / folder / name
            with suppress(FileExistsError, NotADirectoryError):
                path.parent.mkdir(parents=True, exist_ok=True)
                if path.parent.resolve() == path.parent:  # or something outside would be changed here
                    delete(path)
                    make(path)


@pytest.mark.parametrize("garbage", [b"\xff\x1b[2J\n", b"\0" * 300, b"x" + 200 * "é".encode(), b" "])
def test_garbage_in_a_lock_that_is_held(garbage: bytes, table: Store) -> None:
    """Whatever a lock says, who is refused is told so in one line, and the lock stays as it is."""
    lock = table.path / ".lock"
    lock.write_bytes(garbage)
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "is being written by another run" in complaint_of(mended, table.path)
        assert str(writer(table.path)).isprintable()
    assert lock.read_bytes() == garbage
    lock.unlink()
