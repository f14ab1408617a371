"""MPI as the environment brings it: real ranks, started the way a user starts them."""

from launch import mpirun

PROGRAM = """
import hashlib
from mpi4py import MPI
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.game.rule_files import load_rules, preset_names

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
    result = mpirun(3, ["-c", PROGRAM])
    assert result.stdout == "3 1 3\n", result.stderr
