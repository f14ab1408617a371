"""The command `yahtzee-cluster web`: what it says, what it refuses, and how it ends."""

import os
import re
import signal
import socket
import sys
import time
from pathlib import Path

import pytest
from launch import descendants, is_there, processor_s, program, signal_to, started
from web import COMMAND, Site, eventually, serving

LONG = {"strategies": ["chance", "expected"], "games": 1_000_000}


def refused(*flags: object, **environment: str) -> str:
    """The one line with which the command refuses."""
    result = program("web", "--no-browser", *flags, **environment)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result
    return result.stderr.removeprefix("yahtzee-cluster: ")


def test_it_prints_its_address() -> None:
    """The address is printed on a line of its own, and the page is there, for this machine alone."""
    with serving() as site:
        (line,) = site.job.stdout.read_text().splitlines()
        assert line == f"http://127.0.0.1:{site.port}/"
        said = site.request("/")
        assert (said.status, said.headers["content-type"]) == (200, "text/html; charset=utf-8")
        listening = Path(f"/proc/{site.pid}/net/tcp").read_text()
        assert f"0100007F:{site.port:04X} 00000000:0000 0A" in listening


def test_other_addresses() -> None:
    """It listens on the address that it is told; over the network only if that is permitted in so many words."""
    with serving("--address", "::1") as site:
        assert site.job.stdout.read_text() == f"http://[::1]:{site.port}/\n"
        with socket.create_connection(("::1", site.port)) as connection:
            connection.sendall(b"GET / HTTP/1.0\r\nHost: [::1]\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
    with serving("--address", "0.0.0.0", "--allow-network") as site:  # noqa: S104
        for host, status in (("192.0.2.1", 200), (socket.gethostname(), 200), ("evil.example", 403)):
            assert site.request("/", headers={"host": host}).status == status
        assert site.request("/", headers={"origin": "http://evil.example"}).status == 403


def test_the_usual_port() -> None:
    """Without --port it takes its usual one, or another if that is in use."""
    with started(COMMAND) as one, started(COMMAND) as two:
        for job in (one, two):
            assert job.wait_until(lambda job=job: job.stdout.read_text() != "")  # type: ignore[misc]
        ports = [int(re.findall(r":(\d+)/\n", job.stdout.read_text())[0]) for job in (one, two)]
        assert ports[0] != ports[1]


def test_refusals(tmp_path: Path) -> None:
    """Bad input is refused in one line, with code 2, and nothing is served."""
    (tmp_path / "file").touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert refused("--port", port) == f"port: cannot listen on 127.0.0.1, port {port}: Address already in use\n"
    for flags, complaint in {
        ("--port", "65536"): "port: expected 0 to 65535, found 65536",
        ("--port", "-1"): "argument --port: expected a whole number",
        ("--port", "http"): "argument --port: expected a whole number",
        ("--address", "localhost"): "address: expected an IP address, found 'localhost'",
        ("--address", "127.0.0.1/8"): "address: expected an IP address",
        ("--address", ""): "address: expected an IP address, found ''",
        ("--address", "192.0.2.7"): "other machines may reach 192.0.2.7, without a password; say --allow-network",
        ("--address", "192.0.2.1"): "say --allow-network",
        ("--address", "::"): "say --allow-network",
        ("--address", "192.0.2.1", "--allow-network"): "cannot listen on 192.0.2.1, port 8213: Cannot assign requested",
        ("--games", str(tmp_path / "none")): "none: expected a folder for games",
        ("--games", str(tmp_path / "file")): "file: expected a folder for games",
        ("--games", ""): "expected a folder for games",
        ("--games", "x" * 5000): "expected a folder for games",
        ("--gamez", "x"): "unrecognized arguments",
    }.items():
        assert complaint in refused(*flags), flags


@pytest.mark.skipif(os.geteuid() == 0, reason="root may listen on any port")
def test_privileged_ports() -> None:
    """A port that this user may not listen on is refused."""
    assert refused("--port", "80") == "port: cannot listen on 127.0.0.1, port 80: Permission denied\n"


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_without_the_extra(tmp_path: Path, package: str) -> None:
    """Where a package is missing, the line says which extra brings it."""
    (tmp_path / f"{package}.py").write_text("raise ModuleNotFoundError(name=__name__)\n")
    said = refused(PYTHONPATH=str(tmp_path))
    assert said == 'web: needs starlette and uvicorn; install it with pip install "yahtzee_cluster[web]"\n'


@pytest.mark.parametrize(
    ("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]
)
@pytest.mark.parametrize("is_busy", [False, True])
def test_signals_end_it_quietly(signum: int, code: int, is_busy: bool) -> None:
    """A signal ends it within two seconds, without a word, and no worker is left, also in the middle of a question."""
    with started([*COMMAND, "--port", "0"]) as job:
        assert job.wait_until(lambda: job.stdout.read_text() != "")
        site = Site(job, int(re.findall(r":(\d+)/", job.stdout.read_text())[0]))
        assert site.ask("advise").status == 200
        connections = [site.begin("duel", LONG), site.send(b"POST /api/advise HTTP/1.1\r\n")] if is_busy else []
        assert eventually(lambda: any(processor_s(pid) > 1.2 for pid in site.workers) or not is_busy, 60)
        workers = site.workers
        began = time.monotonic()
        signal_to(job.pid, signum)
        assert (job.end().returncode, job.stderr.read_text()) == (code, "")
        assert eventually(lambda: not any(map(is_there, workers)))
        assert time.monotonic() - began < 4
        for connection in connections:
            connection.close()


def test_ctrl_c_at_any_moment() -> None:
    """Ctrl-C, which a terminal sends to workers as well, ends it without a word also while it starts."""
    for delay_s in (0.1, 0.3, 0.5, 0.7, 1.0, 1.5):
        with started([*COMMAND, "--port", "0"]) as job:
            time.sleep(delay_s)
            os.killpg(job.pid, signal.SIGINT)
            found = job.end()
            assert (found.returncode in {130, -signal.SIGINT}, found.stderr) == (True, ""), (delay_s, found)


def test_a_server_that_is_killed() -> None:
    """If the server is killed at once, its workers end within a second, also in the middle of a question."""
    with started([*COMMAND, "--port", "0"]) as job:
        assert job.wait_until(lambda: job.stdout.read_text() != "")
        site = Site(job, int(re.findall(r":(\d+)/", job.stdout.read_text())[0]))
        asked = [
            site.begin("duel", LONG),
            site.begin("advise", {"distribution": True}),  # which tells of no progress
        ]
        assert eventually(lambda: [processor_s(pid) > 1.2 for pid in site.workers] == [True, True], 60)
        workers = descendants(job.pid)
        began = time.monotonic()
        signal_to(job.pid, signal.SIGKILL)
        assert eventually(lambda: not any(map(is_there, workers)))
        assert time.monotonic() - began < 3
        for connection in asked:
            connection.close()


def test_the_first_answer_comes_soon() -> None:
    """From the command to the first advice it takes a second, or a few where the machine does other things."""
    took = []
    for _ in range(3):
        began = time.monotonic()
        with serving() as site:
            assert site.ask("advise", {"dice": "22256"}).status == 200
            took.append(time.monotonic() - began)
    assert min(took) < 4


def test_a_browser_is_opened(tmp_path: Path) -> None:
    """Unless it is told not to, the command opens the address in a browser."""
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    flags = [sys.executable, "-m", "yahtzee_cluster", "web", "--port", "0"]
    with started(flags, {"BROWSER": str(browser)}) as job:
        assert eventually(lambda: opened.exists() and opened.read_text().endswith("\n"), 30)
        assert opened.read_text() == job.stdout.read_text()
        signal_to(job.pid, signal.SIGTERM)
        assert job.end().stderr == ""
