"""Formatting of values for messages: names, sizes and user input."""

from __future__ import annotations

from collections.abc import Sequence


def printable(text: str) -> str:
    """The text itself if it is printable, else its repr: one line, without control characters."""
    return text if text.isprintable() else repr(text)


def short(text: str, most: int = 60) -> str:
    """The same, cut to at most `most` characters."""
    text = printable(text)
    return text if len(text) <= most else text[: most - 3] + "..."


def shown(value: object) -> str:
    """Short representation of any value."""
    try:
        return "nothing" if value is None else short(repr(value))
    except (ValueError, RecursionError):
        return "something too large to show"


def names_in(subset: int, names: Sequence[str]) -> list[str]:
    """Names of the members of a bit set, where bit i stands for `names[i]`."""
    return [name for i, name in enumerate(names) if subset >> i & 1]


def as_cache_size(n_bytes: int) -> str:
    """A size in the form that `--cache` accepts, rounded up to whole megabytes."""
    return f"{-(-n_bytes >> 20)}MB"


def rough_size(n_bytes: int) -> str:
    """A size in MB or GB, with one decimal below 10."""
    unit, size = ("GB", 1 << 30) if n_bytes >= 10 << 30 else ("MB", 1 << 20)
    return f"{n_bytes / size:.{0 if n_bytes >= 10 * size else 1}f} {unit}"


def beside_published(value: str | None) -> str:
    """What stands beside a figure that was published before; nothing where none was."""
    return f"   published {value}" if value else ""
