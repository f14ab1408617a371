"""The environment variables that a process sets for the libraries it uses. Nothing is set by importing this module."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
SMALL_BYTES = 256 << 20
NETMOD = "MPIR_CVAR_CH4_NETMOD"
LAUNCHED_RANKS = (
    *("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "JSM_NAMESPACE_SIZE"),
    *("MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS"),
)
"""Variables in which launchers tell a process how many ranks they have started."""
RANK = ("PMIX_RANK", "PALS_RANKID")
"""Variables in which others tell a process its rank, and not how many there are."""
LOCAL_RANK = (
    *("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "JSM_NAMESPACE_LOCAL_RANK"),
    *("PALS_LOCAL_RANKID", "SLURM_LOCALID"),
)
"""Variables in which launchers number the ranks of a host."""


def prepare_numerics() -> None:
    """Keep NumPy's linear algebra to one thread; to be called before NumPy is imported.

    Nothing here multiplies matrices, and idle BLAS threads cost each rank time and memory.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def prepare_mpi() -> None:
    """Choose how ranks exchange messages; to be called before MPI is initialised."""
    if SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).total < SMALL_BYTES:
        # Usual in containers: 64 MB. MPICH's default, UCX, crashes with a dozen ranks; OFI needs a third as much.
        os.environ.setdefault(NETMOD, "ofi")
    if _all_on_this_host():  # then MPI need not listen on the network
        os.environ.setdefault("UCX_TLS", "self,posix")
        os.environ.setdefault("FI_PROVIDER", "shm")


def launched_ranks() -> dict[str, int]:
    """Number of ranks that a launcher has started, at least, if more than one, by the variable that tells it."""
    numbers = _numbers(LAUNCHED_RANKS) or {name: rank + 1 for name, rank in _numbers(RANK).items()}
    return {name: number for name, number in numbers.items() if number > 1}


def may_have_company() -> bool:
    """Whether a launcher has started this process that does not say that it has started no other."""
    return bool(launched_ranks() or (_numbers(RANK) and not _numbers(LAUNCHED_RANKS)))


def is_first_on_host() -> bool:
    """Whether this is the rank that speaks for all ranks of its host."""
    return next(iter(_numbers(LOCAL_RANK).values()), 0) == 0


def _numbers(names: Iterable[str]) -> dict[str, int]:
    """The numbers in those of these variables that are set."""
    said = {name: os.environ.get(name, "") for name in names}
    return {name: int(number) for name, number in said.items() if number.isdecimal()}


def _all_on_this_host() -> bool:
    """Whether all ranks are known to be on this host."""
    if "PMI_SIZE" in os.environ:
        return os.environ.get("MPI_LOCALNRANKS") == os.environ["PMI_SIZE"]
    return not any(re.search("(MPI|PMI|SLURM|PALS|LSB).*(RANK|SIZE|PROC|TASK)", name) for name in os.environ)
