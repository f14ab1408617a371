"""Problems of full size that tests plan and simulate, and never solve."""

from yahtzee_cluster.engine.partition import Partition
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.objectives.probabilities import MaxProb

YACHT = MaxProb(load_rules("yacht"), 300)
YAHTZEE = MaxProb(load_rules("yahtzee"), 800)


def longest_chain(partition: Partition) -> int:
    """The most values in a chain of classes that read each other."""
    chain: dict[int, int] = {}
    for cls, n_values in partition.n_values.items():
        chain[cls] = n_values + max((chain[other] for other in partition.dependencies(cls)), default=0)
    return max(chain.values())
