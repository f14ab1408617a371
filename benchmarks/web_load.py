"""The server of the page under load: how fast it answers, and whether anything makes it fail or grow.

Prints one JSON object a line. Compare figures only within one run, because machines are shared and clocks vary.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from time import monotonic, perf_counter
from typing import Any

import hypothesis
import schemathesis
from schemathesis.core.result import Ok

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
CARD = "aces=3,deuces=6,treys=9,fours=12,fives=15,3k=20,4k=20,chance=20,yahtzee=0"
LONG: tuple[dict[str, Any], ...] = ({"goal": "win", "card": CARD, "others": [CARD]}, {"goal": "reach:250"})
"""What keeps the workers busy meanwhile: an endgame of two players, and advice for 250 points from the start."""

Ask = Callable[[dict[str, Any]], Awaitable[int]]
"""Asks for advice; the status of the answer."""


def report(benchmark: str, **figures: object) -> None:
    """Print one line."""
    print(json.dumps({"benchmark": benchmark, **figures}), flush=True)


@contextmanager
def served() -> Iterator[tuple[int, int]]:
    """A server on a free port: its process and its port."""
    command = [sys.executable, "-m", "yahtzee_cluster", "web", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process.pid, int(re.findall(r":(\d+)/", process.stdout.readline())[0])
        finally:
            process.terminate()


def resident_bytes(pid: int) -> int:
    """The memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Ask]:
    """A connection on which one question is asked after the other, with as little work as there can be."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def ask(question: dict[str, Any]) -> int:
        body = json.dumps(question).encode()
        head = "POST /api/advise HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        found = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(found.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
        return int(found.split(b" ", 2)[1])

    try:
        yield ask
    finally:
        writer.close()
        await writer.wait_closed()


async def crowd(port: int, n_clients: int, seconds: float, *, with_long: bool = True) -> tuple[list[float], int]:
    """How long the answers take for clients who all ask at once, again and again; and the long questions answered."""
    took: list[float] = []
    n_long = 0

    async def ask(number: int) -> None:
        random, deadline = Random(number), monotonic() + seconds
        async with connected(port) as asked:
            while monotonic() < deadline:
                question = {"dice": random.choices(range(1, 7), k=5), "rolls_left": random.randrange(3)}
                began = perf_counter()
                assert await asked(question) == 200
                took.append(perf_counter() - began)

    async def ask_long(question: dict[str, Any]) -> None:
        nonlocal n_long
        async with connected(port) as asked:
            while await asked(question) == 200:
                n_long += 1

    asking = [asyncio.create_task(ask_long(question)) for question in LONG] if with_long else []
    await asyncio.sleep(2.0 if with_long else 0.0)
    await asyncio.gather(*(ask(number) for number in range(n_clients)))
    for task in asking:
        task.cancel()
    for found in await asyncio.gather(*asking, return_exceptions=True):
        assert isinstance(found, asyncio.CancelledError), found
    return took, n_long


def share(took: list[float], percent: float) -> float:
    """The time, in milliseconds, in which this share of all answers came."""
    return round(1000 * sorted(took)[min(len(took) - 1, int(len(took) * percent / 100))], 1)


def made_up(port: int, n_each: int) -> Iterator[int]:
    """The statuses of requests made up from the description: for each question so many that fit it, and that do not."""
    for result in schemathesis.openapi.from_url(f"http://127.0.0.1:{port}/openapi.json").get_all_operations():
        assert isinstance(result, Ok), result
        for mode in schemathesis.GenerationMode:
            if result.ok().body:
                yield from _asked(result.ok().as_strategy(generation_mode=mode), n_each)


def _asked(cases: Any, n_requests: int) -> list[int]:
    statuses = []

    @hypothesis.settings(
        max_examples=n_requests,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=[*hypothesis.HealthCheck],
    )
    @hypothesis.given(case=cases)
    def ask(case: Any) -> None:
        statuses.append(case.call(timeout=600).status_code)

    ask()
    return statuses


def bench_start(n_starts: int) -> None:
    """From the command to the page, and to the first advice."""
    for what, path, body in (("page", "/", None), ("advice", "/api/advise", b'{"dice": "22256"}')):
        took = []
        for _ in range(n_starts):
            began = perf_counter()
            with served() as (_, port):
                subprocess.run(
                    ["curl", "--silent", "--fail", "--output", os.devnull, f"http://127.0.0.1:{port}{path}"]
                    + (["--header", "content-type: application/json", "--data", body] if body else []),
                    check=True,
                )
                took.append(perf_counter() - began)
        report("start", until=what, best_s=round(min(took), 2), worst_s=round(max(took), 2))


def bench_crowd(n_clients: int, seconds: float) -> None:
    """Advice for the mean, for many clients at once, alone and while workers are busy."""
    with served() as (pid, port):
        asyncio.run(crowd(port, 1, 0.1, with_long=False))  # until the first answer is there
        for with_long in (False, True):
            took, n_long = asyncio.run(crowd(port, n_clients, seconds, with_long=with_long))
            figures = {f"p{percent}_ms": share(took, percent) for percent in (50, 90, 99, 99.9)}
            report(
                "clients at once", clients=n_clients, long_questions=len(LONG) * with_long, long_answers=n_long,
                answers=len(took), per_s=round(len(took) / seconds), **figures,
                rss_mb=resident_bytes(pid) >> 20,
            )  # fmt: skip


def bench_made_up(n_requests: int) -> None:
    """Requests that are made up; the memory of the server before and after."""
    with served() as (pid, port):
        n_each = max(1, n_requests // 16)
        statuses = Counter(made_up(port, max(1, n_each // 10)))  # after which what is kept of each game is there
        before = resident_bytes(pid)
        statuses.update(made_up(port, n_each))
        after = resident_bytes(pid)
        report(
            "made-up requests", requests=statuses.total(), statuses=dict(sorted(statuses.items())),
            rss_before_mb=round(before / 2**20, 1), rss_after_mb=round(after / 2**20, 1),
        )  # fmt: skip


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50, help="clients at once (default: 50)")
    parser.add_argument("--seconds", type=float, default=10, help="for how long they ask (default: 10)")
    parser.add_argument("--requests", type=int, default=10_000, help="made-up requests (default: 10,000)")
    options = parser.parse_args()
    report("machine", load=os.getloadavg())
    bench_start(5)
    bench_crowd(options.clients, options.seconds)
    bench_made_up(options.requests)


if __name__ == "__main__":
    main()
