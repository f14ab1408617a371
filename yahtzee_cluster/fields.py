"""Reading and validating what users write, TOML and numbers; each error is one line that says what was expected."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from yahtzee_cluster.errors import FileError
from yahtzee_cluster.text import did_you_mean, short, shown, suggestion

MAX_BYTES = 100_000
MAX_TEXT = 200
MAX_COUNT = 1_000_000


def read_toml(source: str) -> dict[str, Any]:
    """Parse a TOML file; `source` is its path, as the user gave it."""
    return parse_toml(read_text(source), source)


def read_text(source: str, max_bytes: int = MAX_BYTES) -> str:
    """Read a UTF-8 file of limited size."""
    try:
        if Path(source).is_fifo():  # opening it may block for ever
            raise FileError(source, "is a pipe; expected a file")
        with Path(source).open("rb") as file:
            text = file.read(max_bytes + 1).decode("utf-8-sig")
    except OSError as error:
        raise FileError(source, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FileError(source, "is not UTF-8 text") from error
    except ValueError as error:  # such as a null byte
        raise FileError(shown(source), "is not the name of a file") from error
    if len(text) > max_bytes:
        raise FileError(source, f"is too long: more than {max_bytes} bytes")
    return text


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Parse TOML text; `source` names it in error messages."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # deep nesting, or numbers too long to convert
        raise FileError(source, f"is not valid TOML: {error}") from error


def read_numbers(source: str) -> list[float]:
    """Read a file of numbers with blanks, commas or line ends between them."""
    numbers = []
    for word in read_text(source).replace(",", " ").split():
        number = plain_number(word)
        if number is None:
            raise FileError(source, f"expected numbers with blanks, commas or line ends between, found {shown(word)}")
        numbers.append(number)
    return numbers


class Fields:
    """A TOML table being read: refuses unknown fields, and checks the type and range of each field it returns."""

    def __init__(self, table: Mapping[str, Any], source: str, known: tuple[str, ...], prefix: str = "") -> None:
        self.table = table
        self.source = source
        self.prefix = prefix
        for key, value in table.items():
            if key not in known:
                expected = f"expected no such field here, only {', '.join(known)}"
                raise self.error(key, expected, value, did_you_mean(key, known))

    def error(self, key: str, expected: str, found: object, question: str | bool = "") -> FileError:
        end = f"; {question}" if question else ""
        return FileError(self.source, f"{self.prefix}{short(key)}: {expected}, found {shown(found)}{end}")

    def text(self, key: str) -> str:
        value = self.optional_text(key)
        if not value or value.isspace():
            raise self.error(key, "expected a text", value)
        return value

    def optional_text(self, key: str) -> str | None:
        value = self.table.get(key)
        if value is not None and not is_text(value):
            raise self.error(key, f"expected a text on one line, of at most {MAX_TEXT} characters", value)
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self.table.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "expected true or false", value)
        return value

    def choice(self, key: str, choices: tuple[Any, ...], default: Any) -> Any:
        value = self.table.get(key, default)
        if value not in choices:
            question = isinstance(value, str) and did_you_mean(value, choices)
            raise self.error(key, f"expected one of {', '.join(choices)}", value, question)
        return value

    def integer(self, key: str, default: Any, low: int, high: int) -> Any:
        value = self.table.get(key)
        if value is None:
            return default
        if not is_integer(value, low, high):
            raise self.error(key, f"expected a whole number from {low} to {high}", value)
        return value

    def integers(self, key: str, low: int, high: int) -> tuple[int, ...]:
        value = self.table.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not value or not all(is_integer(item, low, high) for item in value):
            raise self.error(key, f"expected a list of one or more whole numbers from {low} to {high}", value)
        return tuple(value)

    def texts_of_numbers(self, key: str) -> tuple[tuple[int, str], ...]:
        value = self.table.get(key, {})
        known = isinstance(value, dict) and all(
            whole_number(n) is not None and isinstance(text, str) for n, text in value.items()
        )
        if not known:
            raise self.error(key, "expected whole numbers, with a text for each", value)
        return tuple((int(n), text) for n, text in value.items())


WHOLE_NUMBER = "expected a whole number of at most 9 digits"


def whole_number(text: str) -> int | None:
    """The number that a text of one to nine decimal digits stands for; None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def plain_number(text: str) -> float | None:
    """The finite number that a text in ASCII stands for, without underscores; None for any other text."""
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def check_name_or_file(said: str, known: Sequence[str], kind: str) -> None:
    """Refuse a text that is no known name and can be no file."""
    path = Path(said)
    if not (said in known or path.suffix == ".toml" or "/" in said or is_there(path)):
        kinds = f"{kind.removesuffix('y')}ies" if kind.endswith("y") else f"{kind}s"
        raise FileError(said, f"no such {kind} or file; {suggestion(said, known, f'{kinds} are')}")


def is_there(path: Path) -> bool:
    """Whether a file exists; False for a name that the file system cannot hold."""
    try:
        return path.exists()
    except OSError:
        return False


def is_text(value: object) -> bool:
    """Whether this is a printable string, on one line, of at most MAX_TEXT characters."""
    return isinstance(value, str) and value.isprintable() and len(value) <= MAX_TEXT


def is_integer(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
