"""The header of a table: identity, partition and provenance."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.storage.errors import StoreError, StoreRefusedError
from yahtzee_cluster.storage.files import MAX_METADATA_BYTES, content
from yahtzee_cluster.storage.paths import EVERYTHING, METADATA
from yahtzee_cluster.text import names_in, short, shown

FORMAT = 2
MAX_DEPTH = 16
"""Limit on the nesting of a header, which bounds every recursion over it."""
MAX_ELEMENTS = 62
"""Subsets are bit sets in signed 64-bit integers."""
NAMES = {"name", "objective"}
"""The fields of an identity that tell at once what is another table."""
HEADER = "yahtzee_cluster"
UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Exceptions that reading damaged metadata may raise."""


@dataclass(frozen=True)
class Header:
    """Contents of the header of a table."""

    identity: dict[str, Any]
    elements: tuple[str, ...]
    fixed: int
    provenance: dict[str, Any]

    @property
    def fixed_names(self) -> list[str]:
        """Names of the elements of the fixed set."""
        return names_in(self.fixed, self.elements)

    @property
    def stated(self) -> dict[str, Any]:
        """The header as JSON data, as it is stored."""
        facts = {"identity": self.identity, "elements": [*self.elements], "fixed": self.fixed_names}
        return {"format": FORMAT, **facts, "provenance": self.provenance}

    @property
    def key(self) -> bytes:
        """SHA-256 of the header without its provenance."""
        return hashlib.sha256(canonical_json(self.stated | {"provenance": {}}).encode()).digest()

    def describes(self, problem: Recurrence) -> bool:
        """Whether this is the header of a table of this problem."""
        return self.elements == problem.element_names and canonical_json(self.identity) == canonical_json(
            problem.identity
        )


def table_key(problem: Recurrence, fixed: int) -> bytes:
    """Key of a table, covered by the seal of each class: SHA-256 of format, identity, elements and fixed set."""
    return Header(problem.identity, problem.element_names, fixed, {}).key


def read_header(path: Path) -> Header | None:
    """Header of the table in a directory; None if there is no table, or its creation was interrupted."""
    try:
        refuse_links(path)
        stored = json.loads(content(path, METADATA))["attributes"].get(HEADER)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        kind = StoreRefusedError if error.errno in {errno.ENAMETOOLONG, errno.EACCES, errno.EPERM} else StoreError
        raise kind(f"{path}: cannot be read: {error.strerror}") from error
    except UNREADABLE as error:
        raise StoreError(f"{path}: its zarr.json is damaged: {error}") from error
    if stored is None:
        return None
    try:
        if stored["format"] != FORMAT:
            raise StoreRefusedError(
                f"{path}: has format {shown(stored['format'])}, and this version reads and writes format {FORMAT}; "
                "compute the table again, in another directory or after removing this one"
            )
        return _header(stored)
    except UNREADABLE as error:
        raise StoreError(f"{path}: its zarr.json is damaged: {error}") from error


def _header(stored: dict[str, Any]) -> Header:
    """Parse a stored header; ValueError unless it is exactly as this program writes it."""
    elements = tuple(stored["elements"][:MAX_ELEMENTS])
    fixed = sum(1 << elements.index(name) for name in stored["fixed"])
    header = Header(dict(stored["identity"]), elements, fixed, dict(stored["provenance"]))
    if _is_deeper(stored, MAX_DEPTH) or header.stated != stored:
        raise ValueError("its header is not as it is written here")
    return header


def _is_deeper(value: object, depth: int) -> bool:
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not depth or any(_is_deeper(item, depth - 1) for item in within)


def canonical_json(value: object) -> str:
    """JSON with sorted keys: a comparison that tells true from 1, and 1 from 1.0."""
    return json.dumps(value, sort_keys=True)


def first_metadata(path: Path, problem: Recurrence, fixed: int, provenance: Mapping[str, Any]) -> bytes:
    """Metadata of a new table; refuses a header that `read_header` would not accept."""
    header = Header(problem.identity, problem.element_names, fixed, dict(provenance)).stated
    metadata = group_metadata({HEADER: header})
    if len(metadata) > MAX_METADATA_BYTES or _is_deeper(json.loads(canonical_json(header)), MAX_DEPTH):
        limits = f"{MAX_METADATA_BYTES:,} bytes, {MAX_DEPTH} levels deep"
        raise StoreRefusedError(f"{path}: what this table holds takes more to say than a header may have: {limits}")
    return metadata


def group_metadata(attributes: dict[str, Any]) -> bytes:
    """Zarr's metadata of a group."""
    return json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}, indent=2).encode()


def check_same_table(path: Path, header: Header, problem: Recurrence, fixed: int) -> None:
    """Refuse a table of another problem or fixed set; the message names the difference."""
    difference = _first_difference(header.identity, json.loads(canonical_json(problem.identity)))
    if difference:
        raise StoreRefusedError(f"{path}: holds {difference} asked for; name another --store")
    if not header.describes(problem):
        raise StoreError(f"{path}: its zarr.json is damaged: the elements are not those of its identity")
    if fixed != header.fixed:
        there, here = (",".join(names) or "nothing" for names in (header.fixed_names, names_in(fixed, header.elements)))
        raise StoreRefusedError(f"{path}: is cut by another G: {there} there, {here} asked for; leave --G away")


def _first_difference(there: Any, here: Any, names: tuple[str, ...] = ()) -> str | None:
    """The first field in which two identities differ, as text: names before other fields, and lists and tables last."""
    match there, here:
        case dict(), dict():
            fields = [(key, there.get(key), here.get(key)) for key in sorted({*there, *here})]
            fields.sort(key=lambda field: (isinstance(field[1], dict | list), field[0] not in NAMES))
        case list(), list() if len(there) == len(here):
            fields = [(str(number), *pair) for number, pair in enumerate(zip(there, here, strict=True), start=1)]
        case _:
            if canonical_json(there) == canonical_json(here):
                return None
            one, other = (value if isinstance(value, str) else shown(value) for value in (there, here))
            field = "" if names[-1] in NAMES else f"{short('.'.join(names))} "
            return f"{field}{short(one)}, {short(other)}"
    return next(filter(None, (_first_difference(a, b, (*names, key)) for key, a, b in fields)), None)


def refuse_links(path: Path) -> None:
    """Refuse a directory in which a symbolic link stands for a file or directory of the table."""
    for name in EVERYTHING:
        if (path / name).is_symlink():
            raise StoreRefusedError(
                f"{path / name}: is a symbolic link, which is not followed; put its target in its place"
            )
