"""MPI as the environment brings it: real ranks, started the way a user starts them."""

import os
import subprocess
import sys
from pathlib import Path

# What Open MPI wants before it starts more ranks than cores, or anything as root; other MPIs do not look.
PERMITTED = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}

PROGRAM = """
import hashlib
from mpi4py import MPI
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.rules import load_rules, preset_names

world = MPI.COMM_WORLD
names = preset_names()
table = solve_expected(load_rules("yahtzee"))
mine = hashlib.sha256(table.mean.tobytes()).hexdigest()
other = solve_expected(load_rules(names[1 + world.rank])).mean[-1]
hashes, others = world.gather(mine), world.gather(other)
if world.rank == 0:
    print(world.size, len(set(hashes)), len(set(others)))
"""


def test_ranks_agree() -> None:
    """`mpirun` starts as many ranks as asked for, and all of them compute the same bytes for the same rules."""
    mpirun = Path(sys.executable).parent / "mpirun"
    command = [str(mpirun) if mpirun.exists() else "mpirun", "-n", "3", sys.executable, "-c", PROGRAM]
    environment = os.environ | PERMITTED
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout == "3 1 3\n", result.stderr
