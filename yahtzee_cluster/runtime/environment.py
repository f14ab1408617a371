"""The environment variables that a process sets for the libraries it uses. Nothing is set by importing this module."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
SMALL_BYTES = 256 << 20
NETMOD = "MPIR_CVAR_CH4_NETMOD"
LAUNCHED_RANKS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS")
"""Variables in which launchers tell a process how many ranks they have started."""


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
    """Number of ranks that a launcher has started, if more than one, by the variable that holds it."""
    said = {name: os.environ.get(name, "") for name in LAUNCHED_RANKS}
    return {name: int(number) for name, number in said.items() if number.isdecimal() and int(number) > 1}


def _all_on_this_host() -> bool:
    """Whether all ranks are known to be on this host."""
    if "PMI_SIZE" in os.environ:
        return os.environ.get("MPI_LOCALNRANKS") == os.environ["PMI_SIZE"]
    return not any(re.search("(MPI|PMI|SLURM|PALS|LSB).*(RANK|SIZE|PROC|TASK)", name) for name in os.environ)
