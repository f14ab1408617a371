"""Starting real ranks, the way a user starts them."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

BESIDE = Path(sys.executable).parent / "mpirun"
MPIRUN = str(BESIDE) if BESIDE.exists() else "mpirun"

# What Open MPI wants before it starts more ranks than cores, or anything as root; other MPIs do not look.
PERMITTED = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def mpirun(
    n_ranks: int, arguments: Sequence[object], environment: dict[str, str] | None = None, timeout_s: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run Python on so many ranks, and wait for its end."""
    command = [MPIRUN, "-n", str(n_ranks), sys.executable, *map(str, arguments)]
    variables = os.environ | PERMITTED | (environment or {})
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=timeout_s, check=False)
