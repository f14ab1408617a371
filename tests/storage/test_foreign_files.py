"""Links, pipes, devices and endless files in a table: refused, or mended as damage; nothing outside changes."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from launch import writable
from stored import ALL, LISTED, bits, class_with, complete, contents, copied, in_a_process, small_and_quick
from suspect import delete, mended, valuable_files

from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.storage.errors import DamagedError, StoreError, StoreRefusedError
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.lock import writer
from yahtzee_cluster.storage.paths import ASIDE, SHARD
from yahtzee_cluster.storage.store import Store


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A directory beside the store, in which nothing may change."""
    path = valuable_files(tmp_path / "outside")
    before = contents(path)
    yield path
    assert contents(path) == before


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
