"""The folder in which the page keeps games, as the records that `yahtzee-cluster review` reads."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.fields import MAX_BYTES
from yahtzee_cluster.text import shown

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _-]{0,59}", re.ASCII)
SUFFIX = ".txt"
MOST_FILES = 1000


class SavedGames:
    """The games in a folder; nothing outside it is read or written, whatever a name says."""

    def __init__(self, folder: str) -> None:
        path = Path(folder)
        if not path.is_dir():
            raise FileError(folder, "expected a folder for games")
        self._folder = path

    def names(self) -> list[str]:
        """The names of the games, the latest first."""
        entries = [entry for entry in os.scandir(self._folder) if entry.is_file(follow_symlinks=False)]
        found = [entry for entry in entries if entry.name.endswith(SUFFIX) and NAME.fullmatch(_stem(entry.name))]
        found.sort(key=lambda entry: -entry.stat().st_mtime_ns)
        return [_stem(entry.name) for entry in found[:MOST_FILES]]

    def read(self, name: str) -> dict[str, Any]:
        """A game."""
        with self._opened(name, os.O_RDONLY | os.O_NONBLOCK) as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise UsageError(f"{name}: is too long for a game")
        return {"name": name, "text": text.decode("utf-8", "replace")}

    def write(self, name: str, text: str) -> None:
        """Write a new game; one that is there already is not replaced."""
        if len(self.names()) >= MOST_FILES:
            raise UsageError(f"there are {MOST_FILES} games in the folder; remove some")
        with self._opened(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
            file.write(text.encode())

    def _opened(self, name: str, flags: int) -> Any:
        if not NAME.fullmatch(name):
            expected = "expected letters, digits, spaces, _ and -, at most 60, and a letter or digit first"
            raise UsageError(f"name: {expected}, found {shown(name)}")
        try:
            handle = os.open(self._folder / f"{name}{SUFFIX}", flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            raise UsageError(f"there is a game called {name} already") from None
        except FileNotFoundError:
            raise UsageError(f"there is no game called {name}") from None
        except OSError as error:
            raise FileError(name, f"cannot be opened: {error.strerror}") from error
        return os.fdopen(handle, "wb" if flags & os.O_WRONLY else "rb")


def _stem(name: str) -> str:
    return name.removesuffix(SUFFIX)
