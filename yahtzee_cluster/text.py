"""How values are shown to people: names, sizes, and whatever somebody typed."""

from __future__ import annotations

from collections.abc import Sequence


def printable(text: str) -> str:
    """A text as a message may hold it: on one line, with nothing in it that a terminal obeys."""
    return text if text.isprintable() else repr(text)


def short(text: str, most: int = 60) -> str:
    """The same, and not too long."""
    text = printable(text)
    return text if len(text) <= most else text[: most - 3] + "..."


def shown(value: object) -> str:
    """Any value, in short."""
    try:
        return "nothing" if value is None else short(repr(value))
    except (ValueError, RecursionError):
        return "something too large to show"


def names_in(subset: int, names: Sequence[str]) -> list[str]:
    """The names of the members of a bit set, where bit i stands for `names[i]`."""
    return [name for i, name in enumerate(names) if subset >> i & 1]


def as_cache_size(n_bytes: int) -> str:
    """A size as `--cache` takes it, rounded up to whole megabytes."""
    return f"{-(-n_bytes >> 20)}MB"


def rough_size(n_bytes: int) -> str:
    """A size in MB or GB, with two digits or more."""
    unit, size = ("GB", 1 << 30) if n_bytes >= 10 << 30 else ("MB", 1 << 20)
    return f"{n_bytes / size:.{0 if n_bytes >= 10 * size else 1}f} {unit}"


def beside_published(value: str | None) -> str:
    """What stands beside a figure that was published before; nothing where none was."""
    return f"   published {value}" if value else ""
