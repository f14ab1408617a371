"""The real server of the page, on a free port, and what asks it."""

import http.client
import json
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from launch import Job, descendants, is_there, signal_to, started

COMMAND = [sys.executable, "-m", "yahtzee_cluster", "web", "--no-browser"]
JSON = {"content-type": "application/json"}
LINES = "application/x-ndjson"


@dataclass(frozen=True)
class Said:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, which is JSON."""
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The one line with which something was refused."""
        assert self.headers["content-type"] == "application/json", self
        assert set(self.json) == {"version", "error"}, self
        assert self.json["error"].isprintable(), self
        return str(self.json["error"])


@dataclass(frozen=True)
class Site:
    """A server that is running."""

    job: Job
    port: int

    @property
    def pid(self) -> int:
        """The process of the server."""
        return self.job.pid

    @property
    def workers(self) -> list[int]:
        """Its worker processes."""
        return descendants(self.pid)

    def connection(self, timeout_s: float = 120) -> http.client.HTTPConnection:
        """A connection, which can be asked more than once."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)

    def request(
        self, path: str, method: str = "GET", body: bytes | str | None = None, headers: dict[str, str] | None = None
    ) -> Said:
        """The response to a request on a connection of its own."""
        connection = self.connection()
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Said(response.status, found, response.read())
        finally:
            connection.close()

    def ask(self, kind: str, question: object = None, **headers: str) -> Said:
        """The response to a question; a text or bytes are sent as they are."""
        body = question if isinstance(question, str | bytes) else json.dumps(question or {})
        return self.request(f"/api/{kind}", "POST", body, JSON | headers)

    def answer(self, kind: str, **question: Any) -> dict[str, Any]:
        """The answer to a question."""
        said = self.ask(kind, question)
        assert said.status == 200, said
        found: dict[str, Any] = said.json
        assert found.pop("version") == 1
        return found

    def begin(self, kind: str, question: object) -> socket.socket:
        """Send a question, and return the connection without waiting for the answer."""
        body = json.dumps(question).encode()
        head = f"POST /api/{kind} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        return self.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def send(self, raw: bytes) -> socket.socket:
        """Send bytes as they are on a connection of their own."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(raw)
        return connection

    def exchange(self, raw: bytes) -> bytes:
        """All that comes back for some bytes until the server, or a second of silence, ends it."""
        with self.send(raw) as connection:
            connection.settimeout(1)
            found = b""
            try:
                while part := connection.recv(1 << 16):
                    found += part
            except TimeoutError:
                pass
            return found


@contextmanager
def serving(*flags: object) -> Iterator[Site]:
    """A server that is stopped in the end, and has left no process behind by then."""
    with started([*COMMAND, "--port", "0", *flags]) as job:
        job.wait_until(lambda: job.stdout.read_text().endswith("\n"))
        url = job.stdout.read_text().strip()
        site = Site(job, int(url.rstrip("/").rpartition(":")[2]))
        yield site
        workers = site.workers
        signal_to(site.pid, signal.SIGTERM)
        stderr = job.end(20).stderr
        assert stderr == "", stderr
        assert eventually(lambda: not any(map(is_there, workers)))


def eventually(fact: Callable[[], object], within_s: float = 10) -> bool:
    """Whether something comes true in time."""
    deadline = monotonic() + within_s
    while not fact():
        if monotonic() > deadline:
            return False
        sleep(0.01)
    return True
