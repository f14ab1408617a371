"""Formatting of values for messages: names, sizes and user input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def printable(text: str) -> str:
    """The text itself if it is printable and not empty, else its repr: one line, without control characters."""
    return text if text and text.isprintable() else repr(text)


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


def did_you_mean(said: str, known: Iterable[str]) -> str:
    """The question whether the closest of some known names is meant; empty if none is close."""
    near = get_close_matches(said[:100], [*known], n=1)
    return f"did you mean {near[0]}?" if near else ""


def suggestion(said: str, known: Sequence[str], otherwise: str = "there are") -> str:
    """The same question; if no known name is close, all of them after `otherwise`."""
    return did_you_mean(said, known) or f"{otherwise} {', '.join(known)}"


def names_in(subset: int, names: Sequence[str]) -> list[str]:
    """Names of the members of a bit set, where bit i stands for `names[i]`."""
    return [name for i, name in enumerate(names) if subset >> i & 1]


def as_cache_size(n_bytes: int) -> str:
    """A size in the form that `--cache` accepts, rounded up to whole megabytes."""
    return f"{-(-n_bytes >> 20)}MB"


def rough_size(n_bytes: int) -> str:
    """A size in MB, GB or TB, with one decimal below 10."""
    unit, size = "MB", 1 << 20
    for larger, next_size in (("GB", 1 << 30), ("TB", 1 << 40)):
        if n_bytes >= 10 * next_size:
            unit, size = larger, next_size
    return f"{n_bytes / size:.{0 if n_bytes >= 10 * size else 1}f} {unit}"


def as_percent(p: float) -> str:
    """A probability in percent: six decimals as in Cremers' thesis, as long as these show anything."""
    return f"{100 * p:.6f}" if p == 0 or p >= 1e-5 else f"{100 * p:.6e}"


def beside_published(value: str | None) -> str:
    """What stands beside a figure that was published before; nothing where none was."""
    return f"   published {value}" if value else ""
