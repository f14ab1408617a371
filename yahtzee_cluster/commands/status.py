"""`yahtzee-cluster status`: how much of a table is finished."""

from __future__ import annotations

import argparse
import json
from typing import Any

from yahtzee_cluster.commands.shared import add_store
from yahtzee_cluster.storage.header import read_header
from yahtzee_cluster.storage.lock import writer
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.text import printable


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
    status: dict[str, Any] = {
        "objective": table.objective,
        "rules": table.rules.name,
        "target": header.identity.get("target"),
        "G": header.fixed_names,
        "classes": len(sizes),
        "classes_done": len(sizes) - len(missing),
        "values": sum(sizes.values()),
        "values_done": sum(n for cls, n in sizes.items() if cls not in missing),
        "classes_dropped": len(dropped),
        "table_sha256": None if missing else store.table_digest,
        "writer": writer(store.path),
        "provenance": header.provenance,
    }
    if options.json:
        return json.dumps(status)
    provenance = status.pop("provenance")
    shown = status | {"G": ", ".join(status["G"]) or "nothing"}
    facts = [*shown.items(), *provenance.items()]
    return "\n".join(f"{printable(key):17}{printable(str(value))}" for key, value in facts if value is not None)
