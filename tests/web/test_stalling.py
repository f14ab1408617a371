"""Questions that take long, askers who leave or stall, workers that die: cheap questions never wait for any of them."""

import asyncio
import json
import os
import resource
import signal
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from launch import descendants, is_there, processor_s, signal_to
from web import LINES, Site, eventually, serving

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.web import workers
from yahtzee_cluster.web.listening import MOST_CONNECTIONS, STALL_S
from yahtzee_cluster.web.server import BODY_WITHIN_S, N_WORKERS
from yahtzee_cluster.web.workers import MOST_WAITING, BusyError, Workers

LONG = {"strategies": ["chance", "expected"], "games": 1_000_000}
"""A duel that takes minutes."""
SOON_S = 2.0
"""Within a second, on a machine that does other things as well."""


@pytest.fixture
def site() -> Iterator[Site]:
    """A server for one test, whose workers are ready."""
    with serving() as site:
        assert site.ask("advise").status == 200
        yield site


def busy(site: Site) -> list[int]:
    """The workers that have begun to compute something."""
    return [pid for pid in site.workers if is_there(pid) and processor_s(pid) > 1.2]


def begin_long(site: Site, n_questions: int = 1, **headers: str) -> list[socket.socket]:
    """Ask so many long questions, and wait until workers compute."""
    asked = [site.begin("duel", LONG | headers) for _ in range(n_questions)]
    assert eventually(lambda: len(busy(site)) == min(n_questions, N_WORKERS), 60)
    return asked


def cheap_s(site: Site) -> float:
    """How long a cheap question takes."""
    began = time.monotonic()
    assert site.ask("advise", {"dice": "22256"}).status == 200
    return time.monotonic() - began


# -------------------------------------------------------------------------------------------------- askers who leave


def test_cheap_questions_do_not_wait(site: Site) -> None:
    """While all workers are busy and more questions wait for them, a cheap question is answered at once."""
    asked = begin_long(site, N_WORKERS + 3)
    try:
        assert sorted(cheap_s(site) for _ in range(20))[10] < 0.2
        assert len(site.workers) == N_WORKERS
    finally:
        for connection in asked:
            connection.close()


@pytest.mark.parametrize("how", ["closed", "reset", "half-closed", "pipelined", "lines"])
def test_a_question_is_given_up_when_its_asker_leaves(site: Site, how: str) -> None:
    """However a connection ends, the worker is gone within a second, and the next question finds another one."""
    if how == "lines":
        body = json.dumps(LONG).encode()
        head = f"POST /api/duel HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: {LINES}\r\n"
        connection = site.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        assert eventually(lambda: busy(site), 60)
    else:
        (connection,) = begin_long(site)
    (worker,) = busy(site)
    if how == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if how == "half-closed":
        connection.shutdown(socket.SHUT_WR)
    elif how == "pipelined":
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000)
    began = time.monotonic()
    connection.close()
    assert eventually(lambda: not is_there(worker))
    assert time.monotonic() - began < SOON_S
    assert site.answer("duel", strategies=["greedy", "greedy"], games=10)["games"] == 10


def test_those_who_wait_may_leave(site: Site) -> None:
    """A question that waits for a worker is forgotten when its asker leaves, and too many are refused."""
    asked = begin_long(site, N_WORKERS)
    waiting = [site.begin("duel", LONG) for _ in range(MOST_WAITING)]
    assert eventually(lambda: site.ask("duel", LONG | {"games": 10}).status == 503, 60)
    assert "too many questions are waiting" in site.ask("advise", {"goal": "reach:5"}).error
    assert cheap_s(site) < SOON_S
    for connection in (*waiting, *asked):
        connection.close()
    assert site.answer("advise", goal="reach:5", card="chance=20")["value"] == 1


def test_two_sessions_have_a_worker_each(site: Site) -> None:
    """Of two sessions with long questions, each has its own worker; the questions of one session follow each other."""
    asked = [site.begin("duel", LONG | {"session": "one"}) for _ in range(3)]
    assert eventually(lambda: len(busy(site)) == 1, 60)
    assert site.answer("duel", strategies=["greedy", "greedy"], games=10, session="two")["games"] == 10
    for connection in asked:
        connection.close()


# ------------------------------------------------------------------------------------------------ workers and limits


def test_workers_that_are_killed(site: Site) -> None:
    """If a worker is killed from outside, its question is refused with 503, and the next one gets another worker."""
    (connection,) = begin_long(site)
    signal_to(busy(site)[0], signal.SIGKILL)
    connection.settimeout(10)
    assert connection.recv(1 << 16).startswith(b"HTTP/1.1 503 ")
    assert site.answer("duel", strategies=["greedy", "greedy"], games=10)["games"] == 10
    connection.close()
    for pid in site.workers:
        signal_to(pid, signal.SIGKILL)
    assert eventually(lambda: not any(map(is_there, site.workers)))
    assert site.answer("duel", strategies=["greedy", "greedy"], games=10)["games"] == 10


def test_a_question_that_takes_too_much_memory(site: Site) -> None:
    """A worker that gets no more memory refuses the question with 503, and the next question gets another worker."""
    assert eventually(lambda: len(site.workers) == 1)
    (worker,) = site.workers
    assert site.ask("advise", {"goal": "reach:200", "card": "chance=20"}).status == 200
    size = int(Path(f"/proc/{worker}/statm").read_text().split()[0]) * resource.getpagesize()
    resource.prlimit(worker, resource.RLIMIT_AS, (size + (8 << 20), 4 << 30))
    said = site.ask("advise", {"rules": "kniffel", "goal": "reach:250"})
    assert (said.status, said.error) == (503, "this question takes more memory than a question may take")
    assert site.ask("advise", {"dice": "22256"}).status == 200
    assert site.ask("advise", {"goal": "reach:200", "card": "chance=20"}).status == 200
    assert worker not in site.workers


def test_workers_are_modest(site: Site) -> None:
    """A worker gives way to the server, has a limit of memory, and goes first where memory is short."""
    assert eventually(lambda: len(site.workers) == 1)
    (worker,) = site.workers
    assert site.ask("advise", {"goal": "reach:5"}).status == 200
    assert os.getpriority(os.PRIO_PROCESS, worker) == 10
    assert resource.prlimit(worker, resource.RLIMIT_AS)[0] == 4 << 30
    assert Path(f"/proc/{worker}/oom_score_adj").read_text() == "1000\n"


def test_a_question_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question is given up at its limit; the worker is killed, and the next question is answered."""
    monkeypatch.setitem(workers.LIMIT_S, "duel", 1.0)

    async def asked() -> None:
        some = Workers(1)
        try:
            with pytest.raises(BusyError, match=r"^this question takes more than 1 seconds$"):
                await some.ask("duel", "", json.dumps(LONG), lambda _: None)
            with pytest.raises(UsageError, match=r"^goal: no goal 'x'"):
                await some.ask("advise", "", '{"goal": "x"}', lambda _: None)
        finally:
            some.close()
        while descendants(os.getpid()):
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.1)  # in which the loop notices that the process has ended

    asyncio.run(asked())


# -------------------------------------------------------------------------------------------------- slow connections


def test_slow_connections(site: Site) -> None:
    """More connections than are kept open, which send nothing, half a head, half a body, or take nothing, end in time.

    Meanwhile cheap questions are answered.
    """
    head = b"POST /api/advise HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n"
    with ExitStack() as stack:
        slow = [stack.enter_context(site.send(raw)) for raw in (b"", head, head + b"\r\n{")]
        greedy = site.send(b"")
        stack.enter_context(greedy).setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        greedy.setblocking(False)
        request = b"GET /api/facts HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for _ in range(50):
            try:
                greedy.send(request * 1000)
            except BlockingIOError:
                break
        opened = time.monotonic()
        for _ in range(MOST_CONNECTIONS + 50):
            stack.enter_context(site.send(b""))
            if _ % 100 == 0:
                assert cheap_s(site) < SOON_S
        assert b" 408 " in _until_closed(slow[2], BODY_WITHIN_S + 5)
        assert _until_closed(slow[0], 2 * STALL_S) == b""
        assert _until_closed(slow[1], 2 * STALL_S) == b""
        assert eventually(lambda: _has_ended(greedy), 2 * STALL_S + 5)
        assert time.monotonic() - opened < 4 * STALL_S
        assert cheap_s(site) < SOON_S


def _until_closed(connection: socket.socket, within_s: float) -> bytes:
    """All that comes until the other side closes."""
    connection.settimeout(within_s)
    found = b""
    try:
        while part := connection.recv(1 << 16):
            found += part
    except ConnectionResetError:
        pass
    return found


def _has_ended(connection: socket.socket) -> bool:
    """Whether the other side has cut a connection off, although it was sent much that nobody has read."""
    try:
        connection.send(b"x")
    except BlockingIOError:
        return False
    except OSError:
        return True
    return False


# ------------------------------------------------------------------------------------------------------- other games


def test_games_that_are_solved_first(site: Site) -> None:
    """While the values of other games are computed for the first time, advice in this one is not held up."""
    asked = [
        site.begin("advise", {"rules": name}) for name in ("yatzy", "kniffel", "simple", "no-joker", "forced-joker")
    ]
    assert sorted(cheap_s(site) for _ in range(20))[10] < 0.3
    for connection in asked:
        connection.settimeout(60)
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
        connection.close()
