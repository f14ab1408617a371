"""The costs that a forecast counts with: measured here, from the cache, from a file, or assumed.

Measured costs are kept for a day under $XDG_CACHE_HOME/yahtzee_cluster, or ~/.cache, by all that they depend on: the
problem, the file that defines its solver, the version and instruction set, the host, and the directory of the table.
A cached file that cannot be read, or says anything else, is measured anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from yahtzee_cluster import __version__
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.simulator import Costs
from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.runtime.calibration import calibrate
from yahtzee_cluster.runtime.configuration import RUNS, Computation
from yahtzee_cluster.storage.claim import table_path
from yahtzee_cluster.text import printable, short, shown

ASSUMED = "assumed"
KEPT_S = 24 * 3600
NO_COSTS = (ValueError, TypeError, KeyError, RecursionError, OverflowError)
"""What reading a file raises that is no file of costs."""
FORMAT = 1
MEASURED_THERE = "measured where it was written"
OBJECTIVE = "objective"
"""The part of what a plan is about, if it has this part, by which costs differ most."""


@dataclass(frozen=True)
class KnownCosts:
    """Costs, and where they are from."""

    costs: Costs
    origin: str


def costs_of(asked: Computation, problem: Recurrence, given: str | None = None, *, anew: bool = False) -> KnownCosts:
    """Costs of a problem: assumed or from a file if `given`, else cached or measured; always measured if `anew`."""
    if given == ASSUMED:
        return KnownCosts(Costs.assumed(problem), "assumed, not measured")
    if given is not None:
        return _from_file(given, asked)
    directory = RUNS if asked.store is None else table_path(asked.store)
    key = _key(asked, problem, directory)
    file = _cache_home() / f"costs-{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
    if not anew and (costs := _cached(file, key)):
        return KnownCosts(costs, "measured on this machine less than a day ago")
    try:
        began = time.perf_counter()
        asked.problem()  # as the master makes it, which takes long for some problems
        made_s = time.perf_counter() - began
        costs = calibrate(problem, directory)
        costs = replace(costs, start_s=costs.start_s + made_s)
    except Exception as error:  # a solver of one's own may refuse entries that are made up
        cause = f"measuring failed with {type(error).__name__}: {short(str(error))}"
        if anew:
            raise UsageError(f"--calibrate: {cause}; use --costs assumed") from error
        return KnownCosts(Costs.assumed(problem), f"assumed; {cause}")
    _keep(file, key, costs)
    return KnownCosts(costs, "measured on this machine now")


def _key(asked: Computation, problem: Recurrence, directory: Path) -> str:
    """All that measured costs depend on, as JSON."""
    source = getattr(sys.modules.get(type(problem).__module__), "__file__", None)
    solver = (source, *_stamp(Path(source))) if source else None
    return json.dumps(
        [
            *(FORMAT, __version__, type(problem).__qualname__, problem.identity, solver, dict(asked.provenance)),
            *(platform.node(), platform.machine(), len(os.sched_getaffinity(0)), str(directory.absolute())),
        ],
        sort_keys=True,
        default=str,
    )


def _stamp(file: Path) -> tuple[int, int]:
    with suppress(OSError):
        status = file.stat()
        return status.st_size, status.st_mtime_ns
    return 0, 0


def _cache_home() -> Path:
    """The directory of this program's cache, by the XDG Base Directory Specification."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path("~/.cache").expanduser()) / "yahtzee_cluster"  # noqa: PTH117


def _cached(file: Path, key: str) -> Costs | None:
    """Costs from the cache, if they are there, sound and not old."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        is_new = 0 <= time.time() - kept["measured"] < KEPT_S
        return _as_costs(kept["costs"]) if kept["key"] == key and is_new else None
    except (OSError, *NO_COSTS):
        return None


def _keep(file: Path, key: str, costs: Costs) -> None:
    """Write costs to the cache, whole or not at all; without one, they are measured again next time."""
    partial = file.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps({"key": key, "measured": time.time(), "costs": asdict(costs)}), encoding="utf-8")
        partial.replace(file)


def _from_file(file: str, asked: Computation) -> KnownCosts:
    """Costs from a file that `plan --json` has written for the same objective, perhaps on another machine."""
    try:
        plan = json.loads(Path(file).read_text(encoding="utf-8"))
        costs = _as_costs(plan["costs"])
    except OSError as error:
        raise FileError(file, f"cannot be read: {error.strerror}") from error
    except NO_COSTS as error:
        raise FileError(
            file, "holds no costs; write such a file with `plan --json` on the machine to plan for"
        ) from error
    objective = asked.about.get(OBJECTIVE)
    if plan.get(OBJECTIVE, objective) != objective:
        raise FileError(file, f"holds the costs of {shown(plan[OBJECTIVE])}; {objective} was asked for")
    origin = re.sub("^measured on this machine .*", MEASURED_THERE, str(plan.get("costs_origin", "of unknown origin")))
    return KnownCosts(costs, f"from {printable(file)}, {short(origin)}")


def _as_costs(found: Mapping[str, Any]) -> Costs:
    """Costs from JSON; ValueError unless every one of them is there, and a number that can be."""
    values = {field.name: found[field.name] for field in fields(Costs)}
    for name, value in values.items():
        least, most = (1.0, 1e15) if name.endswith("bytes_per_s") else (0.0, 1e6)
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
            raise ValueError(name)
    return Costs(**values)
