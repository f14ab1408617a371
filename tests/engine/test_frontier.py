"""How much of a table of which only the frontier is kept is on disk at a time."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import ones_or_uneven, partitions, randoms

from yahtzee_cluster.engine.frontier import growth
from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.schedule import Committed, Compute, Joined, Schedule, Solved


def bytes_to_be_read(partition: Partition, users: dict[ClassId, list[ClassId]], done: set[ClassId]) -> int:
    """How much of these classes some class to come reads, or none at all."""
    return 8 * sum(partition.n_values[cls] for cls in done if not users[cls] or {*users[cls]} - done)


@settings(max_examples=50)
@given(partitions(6, ones_or_uneven), randoms, st.integers(0, 3))
def test_growth(partition: Partition, random: Random, n_done_of_four: int) -> None:
    """With one worker, the disk grows by what the classes to be read take, with the one that is being computed."""
    done = {cls for cls in partition.classes if n_done_of_four and random.randrange(4) < n_done_of_four}
    schedule = Schedule.of(partition, done)
    at_first = most = bytes_to_be_read(partition, schedule.dependents, done)
    instructions = schedule.handle(Joined(0))
    while begun := [said.cls for said in instructions if isinstance(said, Compute)]:
        on_disk = bytes_to_be_read(partition, schedule.dependents, schedule.done)
        most = max(most, on_disk + 8 * partition.n_values[begun[0]])
        instructions = [*schedule.handle(Solved(0, begun[0])), *schedule.handle(Committed(0, begun[0]))]
    assert schedule.finished
    assert growth(partition, done, n_workers=1) == most - at_first
    several = growth(partition, [], n_workers=3)
    assert max(8 * n for n in partition.n_values.values()) <= several <= 8 * sum(partition.n_values.values())
