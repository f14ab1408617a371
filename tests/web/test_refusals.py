"""What the server refuses: each time a status and one line that says why, and no answer that is wrong."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from web import JSON, Said, Site

from yahtzee_cluster.web.guard import HEADERS
from yahtzee_cluster.web.server import MOST_BODY

TURN = {"box": "chance", "points": 5}
DEEP = 400
"""A nesting that is read, and that not every function can go down into again."""


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


# ------------------------------------------------------------------------------------------------------ what is asked


@pytest.mark.parametrize(
    ("kind", "question", "complaint"),
    [
        ("advise", {"dice": "2225"}, "dice: expected 5 faces from 1 to 6"),
        ("advise", {"dice": [1, 2, 3, 4, 5.0]}, "dice: expected 5 faces"),
        ("advise", {"dice": [True, 2, 3, 4, 5]}, "dice: expected 5 faces"),
        ("advise", {"dice": {}}, "dice: expected 5 faces"),
        ("advise", {"dice": "22256", "rolls_left": 3}, "rolls left: expected 0 to 2"),
        ("advise", {"dice": "22256", "rolls_left": 1.0}, "rolls left: expected 0 to 2"),
        ("advise", {"card": "fh=24"}, "full-house: no roll scores 24 there"),
        ("advise", {"card": None}, "card: expected points"),
        ("advise", {"card": {"aces": None}}, "aces: expected a whole number"),
        ("advise", {"card": {"aces": 3.0}}, "aces: expected a whole number"),
        ("advise", {"card": {"aces": True}}, "aces: expected a whole number"),
        ("advise", {"card": {"bonus": 100}}, "bonus: it is paid only after"),
        ("advise", {"card": {f"aces{'-' * 300}": 3}}, "box: expected a name"),
        ("advise", {"card": {}, "score": 3}, "card: says all of"),
        ("advise", {"used": ["aces"], "upper": 6}, "upper"),
        ("advise", {"score": 10**30}, "score: expected a whole number"),
        ("advise", {"goal": []}, "goal: expected a text"),
        ("advise", {"goal": {}}, "goal: expected a text"),
        ("advise", {"goal": "mean", "strategy": [[]]}, "strategy: no strategy"),
        ("advise", {"strategy": "../../etc/passwd"}, "strategy: no strategy"),
        ("advise", {"strategy": "greedy.toml"}, "strategy: no strategy"),
        ("advise", {"strategy": "reach:250"}, "strategy: no strategy"),
        ("advise", {"goal": "win:/etc/passwd"}, "strategy: no strategy"),
        ("advise", {"goal": "win:file:/etc/passwd"}, "goal: files are not read here"),
        ("advise", {"goal": "worth:/etc/passwd"}, "goal: files are not read here"),
        ("advise", {"goal": "win:2*file:/dev/stdin+231"}, "goal: files are not read here"),
        ("advise", {"goal": "win:1001*231"}, "goal: expected at most 1000 opponents"),
        ("advise", {"goal": "win"}, "goal: say against whom"),
        ("advise", {"goal": "mean", "others": [{}]}, "others: only the goal win"),
        ("advise", {"others": {"a": 1}}, "others: expected a list"),
        ("advise", {"others": [{"aces": 3}, {}]}, "others: whoever plays before"),
        ("advise", {"goal": "win:231", "distribution": 1}, "distribution: expected true or false"),
        ("advise", {"rules": "/etc/passwd"}, "rules: no rule set"),
        ("advise", {"rules": "my-game.toml"}, "rules: no rule set"),
        ("advise", {"rules": "yahtze"}, "did you mean yahtzee?"),
        ("advise", {"rules": 3}, "rules: expected a name"),
        ("advise", {"rules": ["yahtzee"]}, "rules: expected a name"),
        ("advise", {"rules": "#" * 20_001}, "rules: expected a name, or the text of a rule file"),
        ("advise", {"rules": "a=" + "[" * 19_000}, "is not valid TOML"),
        ("advise", {"rules": "[" + "a." * 9_000 + "a]\n"}, "expected no such field here"),
        ("advise", {"rules": 'name = "a"\n' + "[[category]]\n" * 17}, "expected 1 to 16 [[category]] tables"),
        ("rules", {"rules": 'name = "\ud800"\n'}, "name: expected a text on one line"),
        ("advise", {"session": "s" * 65}, "session: expected a text of at most 64"),
        ("advise", {"session": 5, "goal": "reach:5"}, "session: expected a text"),
        ("advise", {"dices": "22256"}, "no field 'dices'; did you mean dice?"),
        ("card", {"others": []}, "expected no such field here"),
        ("rules", {"card": {}}, "expected no such field here"),
        ("next-rolls", {"dice": "22256", "keep": "22222"}, "keep: no dice are rolled again"),
        ("next-rolls", {"dice": "22256", "keep": "2 2 2 2"}, "needs dice that are not on the table"),
        ("next-rolls", {"dice": "22256", "keep": "2" * 1000}, "needs dice that are not on the table"),
        ("next-rolls", {"keep": "2 2 2"}, "needs dice that are not on the table"),
        ("next-rolls", {"dice": "22256", "keep": "7"}, "keep: expected faces"),
        ("next-rolls", {"dice": "22256", "keep": 2}, "keep: expected a text"),
        ("next-rolls", {"dice": "22256", "rolls_left": 0}, "keep: no dice are rolled again"),
        ("record", {}, "record: expected a text, or an object"),
        ("record", {"record": ""}, "record: expected a line for each turn"),
        ("record", {"record": "x"}, "line 1: expected a roll such as 22256"),
        ("record", {"record": {"turns": [TURN] * 14}}, "turns: expected a list"),
        ("record", {"record": {"turns": [TURN, TURN]}}, "turn 2: box: chance is used"),
        ("record", {"record": {"turns": [None]}}, "turn 1: expected an object"),
        ("record", {"record": {"turns": [{"rolls": [{"dice": [1] * 5, "kept": [2]}]}]}}, "box: expected a text"),
        ("record", {"record": {"turns": [{**TURN, "rolls": [{"dice": [1] * 5, "kept": [2]}]}]}}, "kept: expected"),
        ("record", {"record": "rules: /etc/passwd\nchance=5"}, "record: is a game of '/etc/passwd'"),
        ("record", {"record": " rules : /etc/passwd\nchance=5"}, "record: is a game of '/etc/passwd'"),
        ("review", {"record": "rules\t:games/mine.toml\nchance=5"}, "record: is a game of 'games/mine.toml'"),
        ("review", {"record": "goal: worth:/etc/passwd\nchance=5"}, "goal: files are not read here"),
        ("review", {"record": "chance=5", "goal": "win:/etc"}, "strategy: no strategy"),
        ("duel", {"strategies": ["greedy"]}, "strategies: expected a list of 2 to 6"),
        ("duel", {"strategies": ["greedy", "/etc/passwd"]}, "strategy: no strategy"),
        ("duel", {"strategies": ["greedy", None]}, "strategy: no strategy"),
        ("duel", {"strategies": ["greedy", "greedy"], "games": 10**6 + 1}, "games: expected a whole number"),
        ("duel", {"strategies": ["greedy", "greedy"], "games": 1e3}, "games: expected a whole number"),
        ("duel", {"strategies": ["greedy", "greedy"], "seed": -1}, "seed: expected a whole number"),
        ("duel", {"strategies": ["ecker-greedy", "expected"], "rules": "yacht"}, "different rules"),
    ],
)  # fmt: skip
def test_questions_that_cannot_be_answered(site: Site, kind: str, question: Any, complaint: str) -> None:
    """A bad question is refused with 400 and a line that says what was expected; no file is looked at."""
    said = site.ask(kind, question)
    assert said.status == 400, said
    assert complaint in said.error


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "expected a JSON object"),
        (b"null", "expected a JSON object, found nothing"),
        (b"[1]", "expected a JSON object, found [1]"),
        (b'{"score": NaN}', "NaN is no number in JSON"),
        (b'{"score": -Infinity}', "-Infinity is no number in JSON"),
        (b'{"score": 1e999}', "score: expected a whole number"),
        (b'{"card": {"aces": 1e999}}', "aces: expected a whole number"),
        (b'{"score": ' + b"1" * 5000 + b"}", "expected a JSON object"),
        (b'{"dice": "22256", "dice": "22255"}', "dice is named twice"),
        (b'{"\\ud800": 1, "\\ud800": 2}', "'\\ud800' is named twice"),
        (b'{"a\\nb": 1, "a\\nb": 2}', "'a\\nb' is named twice"),
        (b'{"card": {"\\ud800": 1}}', "no box '\\ud800'"),
        (b'{"\\ud800": 1}', "no field '\\ud800'"),
        (b'{"goal": "\\udfff\\u0000"}', "goal: no goal"),
        (b'{"record": "\\ud800=5"}', "no field 'record'"),
        (b'{"dice": "\xff"}', "expected UTF-8"),
        (b"\xef\xbb\xbf{}", "expected a JSON object"),
        (b"{} {}", "expected a JSON object"),
        (nested(100_000).encode(), "expected a JSON object"),
        (f'{{"card": {nested(DEEP)}}}'.encode(), "card: expected points"),
        (f'{{"strategy": {nested(DEEP)}}}'.encode(), "strategy: no strategy"),
        (f'{{"goal": {nested(DEEP)}}}'.encode(), "goal: expected a text"),
        (f'{{"rules": {nested(DEEP)}}}'.encode(), "rules: expected a name"),
    ],
)
def test_bodies_that_are_no_questions(site: Site, body: bytes, complaint: str) -> None:
    """What is no JSON object, or has no numbers and texts in it that can be meant, is refused in one line."""
    said = site.ask("advise", body)
    assert said.status == 400, said
    assert complaint in said.error


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("advise", json.dumps({f"{number:05}": 1 for number in range(15_000)})[:-1] + ', "00000": 1}'),
        ("advise", json.dumps({f"{number:05}": 1 for number in range(15_000)})[:-1] + ', "14999": 1}'),
        ("record", json.dumps({"record": "a" + " " * 190_000 + "b"})),
        ("record", json.dumps({"record": "a=1 " * 40_000})),
        ("record", json.dumps({"record": "1" + " 1" * 90_000})),
        ("record", json.dumps({"record": "\n" * 90_000 + "x"})),
        ("card", json.dumps({"card": "aces=1," * 25_000})),
        ("card", json.dumps({"card": '"' * 90_000})),
        ("card", json.dumps({"dice": " " * 190_000})),
        ("card", json.dumps({"card": {"-" * 190_000: 1}})),
    ],
)
def test_large_questions_cost_little(site: Site, kind: str, body: str) -> None:
    """What is answered at once takes no longer than its size allows, however it is made up: else all would wait."""
    began = time.monotonic()
    assert site.ask(kind, body).status == 400
    assert time.monotonic() - began < 2


# -------------------------------------------------------------------------------------------------- how it is asked


def test_large_bodies(site: Site) -> None:
    """A body that is too large is refused, whether or not its size is told before; one that just fits is read."""
    fits = b'{"dice": "' + b" " * (MOST_BODY - 17) + b'22256"}'
    assert len(fits) == MOST_BODY
    assert site.ask("advise", fits).status == 200
    too_large = site.ask("advise", fits.replace(b" ", b"  ", 1))
    assert (too_large.status, too_large.error) == (413, f"expected a body of at most {MOST_BODY} bytes")
    chunk = b"ffff\r\n" + b" " * 0xFFFF + b"\r\n"
    head = b"POST /api/advise HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert b" 413 " in site.exchange(head + b"Transfer-Encoding: chunked\r\n\r\n" + 4 * chunk).splitlines()[0]
    chunks = b'5\r\n{"dic\r\n' + b'c\r\ne": "22256"}\r\n' + b"0\r\n\r\n"
    assert b'"keep 2 2 2"' in site.exchange(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_forms_of_other_pages_are_no_questions(site: Site, kind: str | None) -> None:
    """Only JSON that is called so is read: what a page can send to another site without being asked is not."""
    said = site.request("/api/advise", "POST", b"{}", {"content-type": kind} if kind else {})
    assert said.status == 415
    assert "application/json" in said.error


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/api/nothing", 405),
        ("POST", "/api/nothing", 404),
        ("GET", "/api/advise", 405),
        ("PUT", "/api/advise", 405),
        ("OPTIONS", "/api/advise", 405),
        ("POST", "/", 405),
        ("DELETE", "/api/games/a", 405),
        ("GET", "/api/facts/", 404),
        ("GET", "//", 404),
        ("GET", "//evil.example/", 404),
        ("GET", "/..", 404),
        ("GET", "/%2e%2e", 404),
        ("GET", "/%2e%2e%2f%2e%2e%2fetc%2fpasswd", 404),
        ("GET", "/../../../../etc/passwd", 404),
        ("GET", "/index.html/..", 404),
        ("GET", "/%00", 404),
        ("GET", "/%ff%fe", 404),
        ("GET", "/__init__.py", 404),
        ("GET", "http://localhost/", 404),
    ],
)
def test_paths(site: Site, method: str, path: str, status: int) -> None:
    """Nothing but the page's own files and the questions is at any path, however it is written."""
    body = b"{}" if method == "POST" else None
    said = site.request(path, method, body, JSON)
    assert said.status == status
    assert said.error
    if status == 405:
        assert said.headers["allow"]


def test_head_and_options(site: Site) -> None:
    """HEAD has the headers of GET and no body; nothing permits a page of another site to ask."""
    got, head = site.request("/"), site.request("/", "HEAD")
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", got.headers["etag"])
    preflight = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    said = site.request("/api/advise", "OPTIONS", None, preflight)
    assert said.status == 403
    assert not any(name.startswith("access-control") for name in said.headers)


def test_headers(site: Site) -> None:
    """Every response, also a refusal, says what the page may load and that no other page may use it."""
    said = [site.request("/"), site.ask("advise"), site.ask("advise", b"x"), site.request("/nothing")]
    said += [site.request("/", headers={"host": "evil.example"}), site.request("/api/facts")]
    for one in said:
        assert HEADERS.items() <= one.headers.items()
        assert "server" not in one.headers
    assert "'unsafe" not in said[0].headers["content-security-policy"]
    assert {one.headers["cache-control"] for one in said[1:4]} == {"no-store"}


def test_files_are_compressed_and_kept(site: Site) -> None:
    """A file of the page comes compressed if that is accepted, and not again while it is the same."""
    plain, zipped = site.request("/"), site.request("/", headers={"accept-encoding": "gzip"})
    assert zipped.headers["content-encoding"] == "gzip"
    assert plain.headers["etag"] == zipped.headers["etag"]
    assert site.request("/", headers={"if-none-match": plain.headers["etag"]}).status == 304


# ----------------------------------------------------------------------------------------------------- who is asking

HERE = "127.0.0.1:80"


def requested(site: Site, *headers: str, method: str = "GET", path: str = "/api/facts") -> Said:
    """The response to a request with exactly these headers."""
    raw = "\r\n".join([f"{method} {path} HTTP/1.1", *headers, "Connection: close", "", ""]).encode("latin-1")
    head, _, body = site.exchange(raw).partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    found = dict(re.split(": ", line.lower(), maxsplit=1) for line in lines[1:])
    return Said(int(lines[0].split()[1]), found, body)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9000", "127.0.0.1:80", "127.0.0.5", "[::1]:8213", "[::1]"])
def test_names_of_this_machine(site: Site, host: str) -> None:
    """The server may be called by any name that only this machine has, at any port, because ports are forwarded."""
    assert requested(site, f"Host: {host}", f"Origin: http://{host}").status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "evil.example@localhost", "localhost:80@evil.com",
     "192.0.2.1", "[2001:db8::1]", "0.0.0.1", "localhost.", "local_host", "127.1", "2130706433", "0x7f.1", "[::1", "",
     "localhost:", "localhost:x", "localhost/evil", "localhost evil", "127.0.0.1:999999"],
)  # fmt: skip
def test_names_of_other_machines(site: Site, host: str) -> None:
    """A page whose name leads to this machine by a trick is refused, because its Host is not one of this machine."""
    said = requested(site, f"Host: {host}")
    assert said.status in {400, 403}
    if said.status == 403:
        assert "the Host header names another machine" in said.error


@pytest.mark.parametrize(
    "headers",
    [
        ["Origin: http://evil.example"],
        ["Origin: null"],
        ["Origin: "],
        [f"Origin: https://{HERE}"],
        ["Origin: http://127.0.0.1:3000"],
        [f"Origin: http://{HERE}", "Origin: http://evil.example"],
        ["Origin: http://evil.example", f"Origin: http://{HERE}"],
        ["Sec-Fetch-Site: cross-site"],
        ["Sec-Fetch-Site: same-site"],
        ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
        ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: none"],
        ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Mode: navigate"],
        [f"Origin: https://{HERE}", "X-Forwarded-Proto: https", "X-Forwarded-For: 127.0.0.1"],
        ["Content-Type: application/json", "Content-Type: text/plain"],
    ],
)
def test_requests_of_other_sites(site: Site, headers: list[str]) -> None:
    """What a browser says comes from another site is refused, also where it says two things."""
    said = requested(site, f"Host: {HERE}", *headers)
    assert said.status == 403
    assert said.error


def test_links_from_other_sites_may_lead_here(site: Site) -> None:
    """A link on another page may open this one, and ask nothing."""
    cross = "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"
    assert requested(site, f"Host: {HERE}", *cross, path="/").status == 200
    assert requested(site, f"Host: {HERE}", *cross, method="POST", path="/api/advise").status == 403
    own = f"Origin: http://{HERE}", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"
    assert requested(site, f"Host: {HERE}", *own).status == 200


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GET / HTTP/1.0\r\n\r\n", b"403"),
        (b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", b"200"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", b"400"),
        (b"POST /api/advise HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST /api/advise HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000, b"400"),
        (b"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n", b"400"),
        (b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
        (b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", b"404"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", b"200"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
    ],
)
def test_what_is_hardly_http(site: Site, raw: bytes, status: bytes) -> None:
    """What is no HTTP, or half of it, is refused, and the server goes on."""
    assert site.exchange(raw).split(b" ", 2)[1] == status
    assert site.ask("advise").status == 200


def test_requests_one_behind_the_other(site: Site) -> None:
    """Requests that are sent before the last one was answered are answered in their order."""
    asked = b""
    for dice in ("22256", "13456", "11111"):
        body = json.dumps({"dice": dice}).encode()
        head = "POST /api/advise HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        asked += f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    found = re.findall(rb'"dice": \[([\d, ]+)\], "rolls_left"', site.exchange(asked))
    assert found == [b"2, 2, 2, 5, 6", b"1, 3, 4, 5, 6", b"1, 1, 1, 1, 1"]


def test_the_server_has_complained_of_nothing(site: Site, folder: Path) -> None:
    """None of this was a failure of the server, and nothing has been written."""
    assert site.job.stderr.read_text() == ""
    assert list(folder.iterdir()) == []
