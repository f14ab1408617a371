"""Resources used by a rank."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass
class Usage:
    """Times, counts and peaks of one rank or several: addition takes the maximum of peaks and the sum of the rest."""

    kernel_s: float = 0.0
    """CPU time of the solvers, in all threads."""
    read_s: float = 0.0
    write_s: float = 0.0
    idle_s: float = 0.0
    """Wall-clock time in which no class was computed."""
    bytes_read: int = 0
    bytes_written: int = 0
    n_computed: int = 0
    cache_peak_bytes: int = 0
    rss_peak_bytes: int = 0

    def __add__(self, other: Usage) -> Usage:
        mine, theirs = asdict(self), asdict(other)
        return Usage(**{k: max(v, theirs[k]) if k.endswith("peak_bytes") else v + theirs[k] for k, v in mine.items()})
