"""What tests do to tables that they do not trust, and how they look at them afterwards."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stored import ALL, LISTED

from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.storage.claim import claim


def valuable_files(path: Path) -> Path:
    """A directory with files that must not be lost."""
    (path / "deep").mkdir(parents=True)
    (path / "novel.txt").write_text("It was a dark and stormy night.")
    (path / "deep" / "c.0").write_bytes(b"\1" * 100)
    return path


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


def put(header: Any, place: str, value: object) -> None:
    """Set one field of a header, named by the way to it."""
    *way, last = [int(name) if name.isdecimal() else name for name in place.split(" ")]
    for name in way:
        header = header[name]
    header[last] = value
