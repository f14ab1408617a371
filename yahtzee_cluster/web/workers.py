"""The worker processes of a server: each answers one question at a time, and is killed when nobody waits for it."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from yahtzee_cluster.errors import UsageError, YahtzeeClusterError

MOST_WAITING = 24
"""The most questions that wait for a worker."""
LIMIT_S = {"duel": 600.0}
DEFAULT_LIMIT_S = 120.0
LONGEST_LINE = 1 << 24

OnProgress = Callable[[Mapping[str, Any]], None]


class BusyError(YahtzeeClusterError):
    """The server has too much to do, or a question takes too much; later or smaller, it can be answered."""


class FailedError(YahtzeeClusterError):
    """A worker has failed at a question, and has printed why."""


class _Worker:
    """A process, which is started for its first question and again after it was killed."""

    def __init__(self) -> None:
        self.session: str | None = None
        """Whose questions it answered last: it may have solved what the next one needs."""
        self.is_busy = False
        self._process: Process | None = None

    async def ask(self, kind: str, text: str, on_progress: OnProgress) -> dict[str, Any]:
        process = await self.start()
        assert process.stdin
        assert process.stdout
        with suppress(ConnectionError):  # if it is dead, its output ends
            process.stdin.write(json.dumps([kind, text]).encode() + b"\n")
            await process.stdin.drain()
        while (line := await process.stdout.readline()).endswith(b"\n"):
            message = json.loads(line)
            if "progress" in message:
                on_progress(message["progress"])
            elif "refused" in message:
                raise UsageError(message["refused"])
            elif "failed" in message:
                self.kill()
                raise BusyError(message["failed"])
            else:
                answer: dict[str, Any] = message["answer"]
                return answer
        if await process.wait() > 0:
            raise FailedError("the process that computed the answer has failed; the server's terminal says why")
        raise BusyError("the process that computed the answer was ended; perhaps there was not enough memory")

    async def start(self) -> Process:
        if self._process is None or self._process.stdout is None or self._process.stdout.at_eof():
            command = sys.executable, "-m", "yahtzee_cluster.web.worker"
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE, process_group=0
            )  # in a group of its own, Ctrl-C ends the server alone, which then ends its workers
        return self._process

    def kill(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process = None


class Workers:
    """So many workers. A question goes to the one that answered its session last, else to one that is free."""

    def __init__(self, n_workers: int) -> None:
        self._workers = [_Worker() for _ in range(n_workers)]
        self._waiting: list[asyncio.Future[None]] = []
        self._is_closed = False

    async def start(self) -> None:
        """Start a worker, so that the first question finds it ready."""
        async with self._worker("") as worker:
            await worker.start()

    def close(self) -> None:
        """Kill all workers, and start no more."""
        self._is_closed = True
        for worker in self._workers:
            worker.kill()
        self._wake()

    async def ask(self, kind: str, session: str, text: str, on_progress: OnProgress) -> dict[str, Any]:
        """The answer to a question. If the caller is cancelled, or it takes too long, the work is given up."""
        limit_s = LIMIT_S.get(kind, DEFAULT_LIMIT_S)
        async with self._worker(session) as worker:
            try:
                async with asyncio.timeout(limit_s):
                    return await worker.ask(kind, text, on_progress)
            except TimeoutError:
                worker.kill()
                raise BusyError(f"this question takes more than {limit_s:g} seconds") from None
            except asyncio.CancelledError:
                worker.kill()
                raise

    @asynccontextmanager
    async def _worker(self, session: str) -> AsyncIterator[_Worker]:
        if len(self._waiting) >= MOST_WAITING:
            raise BusyError("too many questions are waiting; ask again later")
        while (worker := self._free(session)) is None:
            freed = asyncio.get_running_loop().create_future()
            self._waiting.append(freed)
            try:
                await freed
            finally:
                self._waiting.remove(freed)
        worker.is_busy, worker.session = True, session or None
        try:
            yield worker
        finally:
            worker.is_busy = False
            self._wake()

    def _wake(self) -> None:
        """Have all who wait look again for a worker."""
        for freed in self._waiting:
            if not freed.done():
                freed.set_result(None)

    def _free(self, session: str) -> _Worker | None:
        """The worker for a session; None if it has to wait for one."""
        if self._is_closed:
            raise BusyError("the server is being ended")
        own = next((one for one in self._workers if session and one.session == session), None)
        if own is not None:
            return None if own.is_busy else own
        free = [one for one in self._workers if not one.is_busy]
        return min(free, key=lambda one: one.session is not None, default=None)
