"""What all tests share: rule sets small enough for the judge, and the settings of the property tests."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from mpi4py import MPI
from small_games import SMALL
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

import yahtzee_cluster
from yahtzee_cluster.engine.schedule import Event, Instruction, Schedule
from yahtzee_cluster.game.rule_files import parse_rules
from yahtzee_cluster.game.rules import Rules

hypothesis.settings.register_profile("default", deadline=None, derandomize=True)
hypothesis.settings.load_profile("default")

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it, and hands that on

ONE_BY_ONE = {
    "clock": {
        *("campaign", "command", "hosts", "load", "lost", "messages", "powercuts", "progress", "refusals", "replaced"),
        *("stalling", "stopping", "writes"),
    },
    "ranks": {
        *("advice", "balance", "cli", "from_a_card", "kept_frontier", "pasted", "run", "slurm", "yahtzee"),
    },
}
"""What kills, freezes or cuts off ranks, or looks at the clock, and what starts many ranks: one of each at a time."""


def queue_of(file: str) -> str | None:
    """The queue of those tests that run one after the other, if a file belongs to one."""
    name = Path(file).stem.removeprefix("test_")
    return next((queue for queue, names in ONE_BY_ONE.items() if name in names), None)


class Queues(LoadFileScheduling):  # type: ignore[misc]  # xdist carries no types
    """`pytest -n 4`: whole files go to the next free process, because of their fixtures; some files together."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return queue_of(file) or file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Queues:
    """Marks would say the same if they arrived: xdist 3.8 hands them on in a field that pytest 9.2 does not read."""
    return Queues(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest queues begin first, and the rest fills in beside them."""
    items.sort(key=lambda item: queue_of(item.path.name) or "rest")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Inside MPI, a failure on one rank ends the job: the others would wait for that rank."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed and item.get_closest_marker("mpi") and item.config.getoption("--only-mpi"):
        print(f"{item.nodeid}\n{report.longreprtext}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)


@pytest.fixture(params=sorted(SMALL))
def small_rules(request: pytest.FixtureRequest) -> Rules:
    return parse_rules(SMALL[request.param], source="test")


@pytest.fixture(scope="session", autouse=True)
def _cache_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing is read from the user's cache, nor written to it."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True)
def _valid_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the invariants of every schedule after each event that it handles in this process."""
    handle = Schedule.handle

    def handle_and_validate(schedule: Schedule, event: Event) -> list[Instruction]:
        instructions = handle(schedule, event)
        schedule.validate()
        return instructions

    monkeypatch.setattr(Schedule, "handle", handle_and_validate)


@pytest.fixture(scope="session", autouse=True)
def _tests_the_build_it_means_to() -> None:
    """A checked build stands in a tree of its own; a run against it must not find another one."""
    expected = os.environ.get("YAHTZEE_CLUSTER_EXPECT")
    if expected:
        assert Path(expected) in Path(yahtzee_cluster.__file__).parents
