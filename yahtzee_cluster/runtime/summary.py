"""The summary printed after a run, for people or as JSON; and the provenance written into the header of a table."""

from __future__ import annotations

import json
import platform
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from yahtzee_cluster import __version__
from yahtzee_cluster.runtime.configuration import Computation
from yahtzee_cluster.runtime.usage import Usage


@dataclass(frozen=True)
class Summary:
    """Figures of a finished run."""

    asked: Computation
    fixed_names: list[str]
    directory: Path
    n_ranks: int
    usage: Usage
    elapsed_s: float
    n_classes: int
    n_computed: int
    table_sha256: str

    def as_text(self, result: Sequence[str]) -> str:
        """The summary as text, followed by the result."""
        computed = f"{self.n_computed} computed now" if self.n_computed else "all there already"
        ranks = f"{self.n_ranks} rank{'s' * (self.n_ranks > 1)}"
        lines = [
            f"table      {self.directory}",
            f"sha256     {self.table_sha256}",
            f"classes    {self.n_classes}, {computed}",
            f"elapsed    {self.elapsed_s:.2f} s on {ranks}, kernel {self.usage.kernel_s:.2f} s",
        ]
        return "\n".join([*lines, "", *result]).rstrip("\n")

    def as_json(self) -> str:
        """The summary as one JSON object."""
        own_rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return json.dumps(
            {
                **self.asked.about,
                "G": self.fixed_names,
                "classes": self.n_classes,
                "classes_computed": self.n_computed,
                "ranks": self.n_ranks,
                "threads": self.asked.threads,
                "elapsed_s": self.elapsed_s,
                "kernel_s": self.usage.kernel_s,
                "read_s": self.usage.read_s,
                "write_s": self.usage.write_s,
                "idle_s": self.usage.idle_s,
                "bytes_read": self.usage.bytes_read,
                "bytes_written": self.usage.bytes_written,
                "cache_peak_bytes": self.usage.cache_peak_bytes,
                "rss_peak_bytes": max(self.usage.rss_peak_bytes, own_rss),
                "table_sha256": self.table_sha256,
            }
        )


def provenance(asked: Computation, n_ranks: int, mpi: str) -> dict[str, Any]:
    """Provenance of a table: program, versions, host, and when it was begun."""
    return {
        "program": f"yahtzee_cluster {__version__}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "mpi": mpi,
        "host": platform.node(),
        "ranks": n_ranks,
        "threads": asked.threads,
        "cache": asked.cache,
        **asked.provenance,
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
    }
