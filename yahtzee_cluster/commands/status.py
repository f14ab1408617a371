"""`yahtzee-cluster status`: how much of a table is finished."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from yahtzee_cluster.commands.shared import add_store
from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.lock import writer
from yahtzee_cluster.storage.paths import LOCK
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.text import printable, rough_size


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this verb."""
    parser.description = "Print how much of a table is finished."
    add_store(parser)


def run(options: argparse.Namespace) -> str:
    """Describe a table, finished or not."""
    table = open_table(options.store)
    header, store = read_header(table.path), table.store
    assert header is not None
    sizes, dropped = store.partition.n_values, store.dropped
    missing = set(sizes) - set(store.committed)
    n_done = sum(n for cls, n in sizes.items() if cls not in missing)
    by = writer(store.path)
    status: dict[str, Any] = {
        "objective": table.objective,
        "rules": table.rules.name,
        "from": header.identity["rules"].get("from"),
        "target": header.identity.get("target"),
        "G": header.fixed_names,
        "classes": len(sizes),
        "classes_done": len(sizes) - len(missing),
        "values": sum(sizes.values()),
        "values_done": n_done,
        "share": n_done / sum(sizes.values()),
        "left_s": _left_s(store, sizes, missing) if by else None,
        "bytes": _n_bytes(store.path),
        "classes_dropped": len(dropped),
        "table_sha256": None if missing else store.table_digest,
        "writer": by,
        "provenance": header.provenance,
    }
    if options.json:
        return json.dumps(status)
    provenance = status.pop("provenance")
    left_s = status["left_s"]
    begun = status["from"] or {}
    shown = status | {
        "from": "; ".join(f"{key} {', '.join(v) if isinstance(v, list) else v}" for key, v in begun.items()) or None,
        "G": ", ".join(status["G"]) or "nothing",
        "share": f"{100 * status['share']:.4g} %",
        "left_s": None if left_s is None else f"{left_s:.0f}",
        "bytes": f"{status['bytes']} ({rough_size(status['bytes'])})",
    }
    facts = [*shown.items(), *provenance.items()]
    return "\n".join(f"{printable(key):17}{printable(str(value))}" for key, value in facts if value is not None)


def _n_bytes(path: Path) -> int:
    """Size of all files of a table."""
    n_bytes = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(FileNotFoundError):  # a run renames what it has begun
                n_bytes += Path(folder, name).lstat().st_size
    return n_bytes


def _left_s(store: Store, sizes: Mapping[ClassId, int], missing: Collection[ClassId]) -> float | None:
    """For how long the run that writes a table will go on as it has so far; None before it has committed a class.

    All times are those of files on the same disk, whose clock may differ from that of this host.
    """
    with suppress(FileNotFoundError):  # the run has just ended
        began_s = (store.path / LOCK).stat().st_mtime
        ended_s = {cls: store.place(cls).stat().st_mtime for cls in sizes.keys() - missing}
        n_new = sum(sizes[cls] for cls, at_s in ended_s.items() if at_s >= began_s)
        if n_new:
            return (max(ended_s.values()) - began_s) * sum(sizes[cls] for cls in missing) / n_new
    return None
