"""The folder in which the page keeps games, as the records that `yahtzee-cluster review` reads."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.fields import MAX_BYTES
from yahtzee_cluster.text import shown

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _-]{0,59}", re.ASCII)
SUFFIX = ".txt"
MOST_FILES = 1000


class NoGameError(UsageError):
    """There is no game of this name."""


class TakenError(UsageError):
    """There is a game of this name already."""


class SavedGames:
    """The games in a folder; nothing outside it is read or written, whatever a name says."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        if not folder or not os.path.isdir(folder):  # noqa: PTH112  # which is False for what can be no name
            raise FileError(folder, "expected a folder for games")

    def names(self) -> list[str]:
        """The names of the games, the latest first."""
        found = []
        try:
            for entry in os.scandir(self._folder):
                name = entry.name.removesuffix(SUFFIX)
                if name != entry.name and NAME.fullmatch(name) and entry.is_file(follow_symlinks=False):
                    found.append((-entry.stat().st_mtime_ns, name))
        except OSError as error:
            raise FileError("the folder of games", f"cannot be read: {error.strerror}") from error
        return [name for _, name in sorted(found)[:MOST_FILES]]

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
        file = self._opened(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with file:
                file.write(text.encode())
        except OSError as error:
            self._path(name).unlink()
            raise FileError(name, f"cannot be written: {error.strerror}") from error

    def _opened(self, name: str, flags: int) -> Any:
        try:
            handle = os.open(self._path(name), flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            raise TakenError(f"there is a game called {name} already") from None
        except FileNotFoundError:
            raise NoGameError(f"there is no game called {name}") from None
        except OSError as error:
            raise FileError(name, f"cannot be opened: {error.strerror}") from error
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise FileError(name, "is no file")
        return os.fdopen(handle, "wb" if flags & os.O_WRONLY else "rb")

    def _path(self, name: str) -> Path:
        if not NAME.fullmatch(name):
            expected = "expected letters, digits, spaces, _ and -, at most 60, and a letter or digit first"
            raise UsageError(f"name: {expected}, found {shown(name)}")
        return self._folder / f"{name}{SUFFIX}"
