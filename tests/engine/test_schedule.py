"""The master's decisions, whatever happens in whatever order: a naive account is kept beside every schedule."""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from partitions import partitions, randoms

from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.schedule import (
    N_COMPARED,
    Committed,
    Compute,
    Drop,
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

MOST_LEAVE = 4


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Any table with any costs, any of whose classes may be there already."""
    partition, random = draw(partitions(7)), draw(randoms)
    n_done_of_four = draw(st.integers(0, 3))
    done = {cls for cls in partition.classes if n_done_of_four and random.randrange(4) < n_done_of_four}
    if draw(st.booleans()):
        return Schedule.of(partition, done)
    costs = {cls: float(random.randint(1, 9)) for cls in partition.classes}
    reads = {cls: partition.dependencies(cls) for cls in partition.classes}
    return Schedule(reads, costs, done)


@dataclass
class Account:
    """What has happened up to now, and what was said."""

    schedule: Schedule
    done: set[ClassId]
    idle: set[int] = field(default_factory=set)
    computing: dict[int, ClassId] = field(default_factory=dict)
    writing: dict[ClassId, int] = field(default_factory=dict)
    preloading: dict[int, ClassId] = field(default_factory=dict)
    cached: set[tuple[int, ClassId]] = field(default_factory=set)
    dropped: set[tuple[int, ClassId]] = field(default_factory=set)
    to_load: set[tuple[int, ClassId]] = field(default_factory=set)
    """What workers were told to compute or to preload needs these, and they may load them at any time."""
    lost: list[ClassId] = field(default_factory=list)
    """What a worker that left had begun."""
    n_left: int = 0

    @property
    def ready(self) -> set[ClassId]:
        """What can be computed and was not begun."""
        begun = {*self.done, *self.writing, *self.computing.values()}
        return {cls for cls, reads in self.schedule.dependencies.items() if cls not in begun and self.done >= {*reads}}

    def possible(self, n_workers: int) -> list[Event]:
        """All that could happen next."""
        events: list[Event] = [
            Joined(worker) for worker in range(n_workers) if worker not in {*self.idle, *self.computing}
        ]
        if self.n_left < MOST_LEAVE:
            events += [Left(worker) for worker in {*self.idle, *self.computing}]
        events += [Solved(worker, cls) for worker, cls in self.computing.items()]
        events += [Committed(worker, cls) for cls, worker in self.writing.items()]
        events += [Loaded(worker, cls) for worker, cls in sorted(self.to_load - self.cached)]
        return events + [Evicted(worker, cls) for worker, cls in sorted(self.cached)]

    def note(self, news: Event | Instruction) -> None:
        """Something happened, or was said."""
        worker, key = news.worker, (news.worker, ClassId(-1) if isinstance(news, Joined | Left) else news.cls)
        match news:
            case Joined():
                self.idle.add(worker)
            case Left():
                self.leave(worker)
            case Solved(_, cls):
                del self.computing[worker]
                self.idle.add(worker)
                self.writing[cls] = worker
                self.cached.add(key)
            case Committed(_, cls):
                del self.writing[cls]
                self.done.add(cls)
            case Loaded():
                self.to_load.remove(key)
                self.cached.add(key)
            case Evicted():
                self.cached.remove(key)
                self.dropped.discard(key)
            case Drop():
                self.dropped.add(key)
            case Preload(_, cls):
                self.to_load |= {(worker, other) for other in self.schedule.dependencies[cls]}
                self.preloading[worker] = cls
            case Compute(_, cls):
                self.to_load |= {(worker, other) for other in self.schedule.dependencies[cls]}
                self.idle.remove(worker)
                self.computing[worker] = cls
                self.preloading = {w: c for w, c in self.preloading.items() if w != worker and c != cls}

    def leave(self, gone: int) -> None:
        """A worker takes with it whatever it has not committed."""
        self.n_left += 1
        self.lost += [cls for worker, cls in self.computing.items() if worker == gone]
        self.lost += [cls for cls, worker in self.writing.items() if worker == gone]
        self.idle.discard(gone)
        for by_worker in (self.computing, self.preloading):
            by_worker.pop(gone, None)
        self.writing = {cls: worker for cls, worker in self.writing.items() if worker != gone}
        for pairs in (self.cached, self.dropped, self.to_load):
            pairs -= {pair for pair in pairs if pair[0] == gone}


def drive(schedule: Schedule, n_workers: int, random: Random) -> Iterator[tuple[Account, Instruction | None]]:
    """Let things happen until the table is done: the account before each instruction, and after each event's last."""
    account = Account(schedule, set(schedule.done))
    while not schedule.finished:
        possible = account.possible(n_workers)
        assert possible, "nothing more can happen, and the table is not done"
        account.note(event := random.choice(possible))
        for said in schedule.handle(event):
            yield account, said
            account.note(said)
        yield account, None


@given(schedules(), st.integers(1, 5), randoms)
def test_every_class_is_computed_once_and_in_time(schedule: Schedule, n_workers: int, random: Random) -> None:
    """A run ends, with each class that was not there computed once, by an idle worker, after all that it reads.

    What a worker that left had begun is computed once more.
    """
    todo = list(set(schedule.dependencies) - schedule.done)
    computed = []
    account = Account(schedule, set(schedule.done))
    for account, said in drive(schedule, n_workers, random):
        if isinstance(said, Compute):
            assert said.worker in account.idle
            assert account.done >= set(schedule.dependencies[said.cls])
            computed.append(said.cls)
        elif said is None:
            assert not (account.ready and account.idle)
    assert Counter(computed) == Counter(todo) + Counter(account.lost)
    assert account.done == set(schedule.dependencies)


@given(schedules(), st.integers(1, 5), randoms)
def test_what_nobody_needs_is_dropped(schedule: Schedule, n_workers: int, random: Random) -> None:
    """A worker is told once to drop a committed class, and is told so as soon as no class to come needs it."""
    users = schedule.dependents
    for account, said in drive(schedule, n_workers, random):
        if isinstance(said, Drop):
            assert (said.worker, said.cls) in account.cached - account.dropped
            assert account.done >= {said.cls, *users[said.cls]}
        elif said is None:
            assert account.dropped == {(w, cls) for w, cls in account.cached if account.done >= {cls, *users[cls]}}


@given(schedules(), st.integers(1, 5), randoms)
def test_preloads_do_not_collide(schedule: Schedule, n_workers: int, random: Random) -> None:
    """Only a worker that computes and does not preload is told to, for a ready class that no other preloads for."""
    for account, said in drive(schedule, n_workers, random):
        if isinstance(said, Preload):
            assert said.worker in set(account.computing) - set(account.preloading)
            assert said.cls in account.ready - set(account.preloading.values())
        elif said is None:
            assert schedule.preloading == account.preloading


@given(schedules(), st.integers(1, 5), randoms)
def test_least_to_read_among_the_most_urgent(schedule: Schedule, n_workers: int, random: Random) -> None:
    """A single worker that asks gets, of the most urgent ready classes, the one that it must read least for."""
    for account, said in drive(schedule, n_workers, random):
        if not isinstance(said, Compute) or account.idle != {said.worker}:
            continue
        most = max(schedule.path[cls] for cls in account.ready)
        assert schedule.path[said.cls] >= most - schedule.slack
        others = {cls for worker, cls in account.preloading.items() if worker != said.worker}
        to_read = {
            cls: (cls in others, sum(schedule.costs[r] for r in reads if (said.worker, r) not in account.cached))
            for cls, reads in schedule.dependencies.items()
        }
        compared = sorted(account.ready, key=lambda cls: (-schedule.path[cls], cls))[:N_COMPARED]
        assert to_read[said.cls] == min(to_read[c] for c in compared if schedule.path[c] >= most - schedule.slack)


def test_one_worker_goes_layer_by_layer() -> None:
    """With classes of one size each, the longest path is that of the lowest layer: one worker ends it first."""
    partition = Partition(6, 0b111111)
    schedule = Schedule.of(partition)
    order = [said.cls for said in schedule.handle(Joined(0)) if isinstance(said, Compute)]
    for cls in order:  # and those that come to it
        events = (Solved(0, cls), Committed(0, cls))
        order += [said.cls for event in events for said in schedule.handle(event) if isinstance(said, Compute)]
    assert order == sorted(partition.classes, key=partition.layer)


@given(partitions(7), st.integers(1, 5))
def test_schedule_of_a_table(partition: Partition, n_workers: int) -> None:
    """A table's schedule knows its dependencies and longest chains, and is finished at once if everything is there."""
    schedule = Schedule.of(partition)
    assert {cls: tuple(reads) for cls, reads in schedule.dependencies.items()} == {
        cls: partition.dependencies(cls) for cls in partition.classes
    }
    for cls, cost in schedule.costs.items():
        users = [user for user in partition.classes if cls in partition.dependencies(user)]
        assert set(schedule.dependents[cls]) == set(users)
        assert schedule.path[cls] == cost + max((schedule.path[user] for user in users), default=0)
    complete = Schedule.of(partition, partition.classes)
    assert complete.finished
    assert [said for worker in range(n_workers) for said in complete.handle(Joined(worker))] == []


def test_no_more_compute_than_there_are_cores() -> None:
    """On each host as many workers compute at a time as it has cores for, and no core idles while a class is ready."""
    partition = Partition(6, 0b111)
    schedule = Schedule.of(partition, n_threads=2)
    both, four = frozenset({0, 1}), frozenset({4, 5, 6, 7})
    joined = [Joined(1, "a", both), Joined(2, "a", both), Joined(3, "b", four), Joined(4, "b", four), Joined(5, "b")]
    pending = deque(instruction for event in joined for instruction in schedule.handle(event))
    most: Counter[str] = Counter()
    while pending:
        now = Counter(schedule.host[worker] for worker in schedule.computing)
        most |= now
        assert now["a"] <= 1
        assert now["b"] <= 2
        instruction = pending.popleft()
        if isinstance(instruction, Compute):
            worker, cls = instruction.worker, instruction.cls
            pending += [*schedule.handle(Solved(worker, cls)), *schedule.handle(Committed(worker, cls))]
    assert schedule.finished
    assert most == Counter(a=1, b=2)
    assert schedule.n_at_once == 3
