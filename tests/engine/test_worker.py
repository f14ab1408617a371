"""The workers' decisions, with a real schedule; messages and actions take any time, and end in any order."""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from functools import partial
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import ones_or_uneven, partitions, randoms

from yahtzee_cluster.engine.cache import PAGE_BYTES, Cache, size_of
from yahtzee_cluster.engine.frontier import Frontier
from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.schedule import (
    Committed,
    Compute,
    Event,
    Evicted,
    Instruction,
    Joined,
    Left,
    Loaded,
    Preload,
    Schedule,
    Solved,
)
from yahtzee_cluster.engine.worker import Action, Load, Solve, Worker, Write, bytes_at_once


class Job:
    """Some workers and their master, the messages between them, and what a computer would do for them."""

    def __init__(
        self, partition: Partition, n_workers: int, cache_bytes: int, done: Collection[ClassId], frontier_only: bool
    ) -> None:
        self.partition = partition
        self.schedule = Schedule.of(partition, done)
        self.frontier = Frontier(self.schedule) if frontier_only else None
        self.workers = [Worker(number, partition, Cache(cache_bytes)) for number in range(n_workers)]
        self.instructions: list[deque[Instruction]] = [deque() for _ in self.workers]
        self.events: list[deque[Event]] = [deque([Joined(worker.number)]) for worker in self.workers]
        self.under_way: list[list[Action]] = [[] for _ in self.workers]
        self.in_memory: list[set[ClassId]] = [set() for _ in self.workers]
        self.on_disk = set(done)
        self.dropped: set[ClassId] = set()
        self.drop()

    def possible(self) -> list[Callable[[], None]]:
        """All that could happen next."""
        steps: list[Callable[[], None]] = []
        for number in range(len(self.workers)):
            steps += [partial(self.deliver_event, number)] * bool(self.events[number])
            steps += [partial(self.deliver_instruction, number)] * bool(self.instructions[number])
            steps += [partial(self.end, number, action) for action in self.under_way[number]]
        return steps

    def deliver_event(self, number: int) -> None:
        """The master hears of a worker's next event."""
        for instruction in self.schedule.handle(self.events[number].popleft()):
            self.instructions[instruction.worker].append(instruction)
        self.drop()

    def drop(self) -> None:
        """Whatever the frontier has passed goes; then what is left are the classes that some class to come reads."""
        passed = set(self.frontier.passed() if self.frontier else ())
        assert passed <= self.on_disk
        self.on_disk -= passed
        self.dropped |= passed
        if self.frontier:
            users, done = self.schedule.dependents, self.schedule.done
            assert done - self.dropped == {cls for cls in done if not users[cls] or {*users[cls]} - done}

    def deliver_instruction(self, number: int) -> None:
        """A worker hears the master's next instruction."""
        self.take(number, self.workers[number].handle(self.instructions[number].popleft()))

    def end(self, number: int, action: Action) -> None:
        """An action is done."""
        self.under_way[number].remove(action)
        if isinstance(action, Load) and action.cls in self.dropped:
            assert not self.workers[number].needs(action.cls)
            self.take(number, self.workers[number].missed(action))
            return
        if isinstance(action, Write):
            self.on_disk.add(action.cls)
        else:
            self.in_memory[number].add(action.cls)
        self.take(number, self.workers[number].done(action))

    def take(self, number: int, decided: Iterable[Action | Event]) -> None:
        """Begin the actions and send the events, each of which must be right."""
        worker, memory, under_way = self.workers[number], self.in_memory[number], self.under_way[number]
        for item in decided:
            cls = ClassId(-1) if isinstance(item, Joined | Left) else item.cls
            match item:
                case Load():
                    assert cls in self.on_disk | self.dropped
                    assert cls not in memory
                    assert item not in under_way
                    assert cls in worker.cache
                case Solve():
                    needed = self.partition.dependencies(cls)
                    assert cls not in memory | self.on_disk
                    assert set(needed) <= memory & self.on_disk
                    assert all(other in worker.cache for other in (cls, *needed))
                    assert not any(isinstance(action, Solve) for action in under_way)
                case Write() | Solved():
                    assert cls in memory - self.on_disk
                case Loaded():
                    assert cls in memory
                case Committed():
                    assert cls in self.on_disk
                case Evicted():
                    memory.remove(cls)
                    assert cls not in worker.cache
                    assert cls not in self.used(number)
            if isinstance(item, Action):
                under_way.append(item)
            else:
                self.events[number].append(item)
        n_bytes = sum(size_of(self.partition.n_values[cls]) for cls in memory | {a.cls for a in under_way})
        assert n_bytes <= worker.cache.used_bytes <= worker.cache.peak_bytes <= worker.cache.limit_bytes

    def used(self, number: int) -> set[ClassId]:
        """What the actions under way use."""
        solved = [action.cls for action in self.under_way[number] if isinstance(action, Solve)]
        return {a.cls for a in self.under_way[number]}.union(*map(self.partition.dependencies, solved))


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """Any table, some of which may be there already, and some workers with little memory."""
    partition, random, n_done_of_four = draw(partitions(6, ones_or_uneven)), draw(randoms), draw(st.integers(0, 3))
    done = {cls for cls in partition.classes if n_done_of_four and random.randrange(4) < n_done_of_four}
    least = max(bytes_at_once(partition, cls) for cls in partition.classes)
    spare = draw(st.just(0) | st.integers(0, 8 * PAGE_BYTES))
    return Job(partition, draw(st.integers(1, 4)), least + spare, done, draw(st.booleans()))


@settings(max_examples=300)
@given(jobs(), randoms)
def test_every_job_ends(job: Job, random: Random) -> None:
    """However tight memory is, all gets computed, every step is sound, and the master knows what is in memory.

    If only the frontier is kept, exactly what some class to come reads is on disk, and what no class reads at all.
    """
    while steps := job.possible():
        random.choice(steps)()
    assert job.schedule.finished
    assert job.on_disk | job.dropped == set(job.partition.classes)
    for worker, memory in zip(job.workers, job.in_memory, strict=True):
        assert memory == {cls for cls in job.partition.classes if cls in worker.cache}
        assert memory == {cls for cls in job.partition.classes if worker.number in job.schedule.caching[cls]}


@given(jobs(), randoms, st.integers(0, 300))
def test_nothing_begins_after_stop(job: Job, random: Random, n_steps: int) -> None:
    """A worker that was stopped loads and computes nothing more, but writes what it was computing."""
    for _ in range(n_steps):
        if steps := job.possible():
            random.choice(steps)()
    begun = [(number, action) for number, actions in enumerate(job.under_way) for action in actions]
    for worker in job.workers:
        worker.stop()
    while under_way := [(number, action) for number, actions in enumerate(job.under_way) for action in actions]:
        assert all(item in begun or isinstance(item[1], Write) for item in under_way)
        job.end(*random.choice(under_way))
    assert job.on_disk | job.dropped >= {action.cls for _, action in begun}


lopsided = Partition(4, 0b1111, sizes=lambda subsets: np.where(subsets == 0b1000, 2 * PAGE_BYTES // 8, 1))
empty, small, first, other, large, pair = map(lopsided.class_of, (0b0000, 0b0001, 0b0010, 0b0100, 0b1000, 0b1001))


def writing_first(n_pages: int) -> Worker:
    """A worker that has read the empty set and computed a set of one element, which is still being written."""
    worker = Worker(0, lopsided, Cache(n_pages * PAGE_BYTES))
    assert worker.handle(Compute(0, first)) == [Load(empty)]
    assert worker.done(Load(empty)) == [Loaded(0, empty), Solve(first)]
    assert worker.done(Solve(first)) == [Solved(0, first), Write(first)]
    return worker


def test_the_task_takes_room_from_what_comes_next() -> None:
    """What is kept for the next class goes, if the one to be computed has no room otherwise."""
    worker = writing_first(n_pages=bytes_at_once(lopsided, pair) // PAGE_BYTES)
    assert worker.handle(Compute(0, pair)) == [Load(small)]
    assert worker.handle(Preload(0, other)) == []
    assert worker.done(Write(first)) == [Committed(0, first), Evicted(0, first), Evicted(0, empty), Load(large)]


def test_what_comes_next_is_loaded_once_there_is_room() -> None:
    """A class that had no room is loaded for the next one when another is written; but not after `stop`."""
    for stopped in (False, True):
        worker = writing_first(n_pages=5)
        assert worker.handle(Compute(0, other)) == [Solve(other)]
        assert worker.handle(Preload(0, pair)) == [Load(small)]
        if stopped:
            worker.stop()
        begun = [] if stopped else [Evicted(0, first), Load(large)]
        assert worker.done(Write(first)) == [Committed(0, first), *begun]


def test_what_is_gone_is_not_waited_for() -> None:
    """A class that could not be loaded in advance takes no room, nor does anything wait for what it was loaded for."""
    worker = writing_first(n_pages=6)
    assert worker.handle(Compute(0, other)) == [Solve(other)]
    assert worker.handle(Preload(0, pair)) == [Load(small), Load(large)]
    assert not worker.needs(large)
    used = worker.cache.used_bytes
    assert worker.missed(Load(large)) == []
    assert (large in worker.cache, worker.next) == (False, None)
    assert worker.cache.used_bytes == used - 2 * PAGE_BYTES
    # A worker that still needs it loads it again.
    assert worker.done(Load(small)) == [Loaded(0, small)]
    assert worker.done(Solve(other)) == [Solved(0, other), Write(other)]
    assert worker.done(Write(first)) == [Committed(0, first)]
    assert worker.handle(Compute(0, pair)) == [Evicted(0, first), Load(large)]
    assert worker.needs(large)
