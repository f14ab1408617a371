"""The folder of games: what the page keeps there, and that nothing else is read or written."""

import json
import os
import resource
from pathlib import Path

import pytest
from web import JSON, Said, Site, serving

from yahtzee_cluster.fields import MAX_BYTES
from yahtzee_cluster.game.rule_files import template
from yahtzee_cluster.play.record import parse_record
from yahtzee_cluster.web.saved_games import MOST_FILES

GAME = "22256 keep 222, 22235 keep 222, 22266 full-house"


def put(site: Site, name: str, **question: object) -> Said:
    """The response to a game that is to be kept."""
    return site.request(f"/api/games/{name.replace(' ', '%20')}", "PUT", json.dumps(question or {"record": GAME}), JSON)


def names(site: Site) -> list[str]:
    """The games that are listed."""
    listed = site.request("/api/games").json
    assert set(listed) == {"version", "games"}
    return list(listed["games"])


def test_a_game_is_kept(site: Site, folder: Path) -> None:
    """A game is written as the record that the program reads, listed with the latest first, and read back."""
    said = put(site, "my first game")
    assert (said.status, said.json) == (201, {"version": 1, "name": "my first game"})
    path = folder / "my first game.txt"
    assert parse_record(path.read_text()) == parse_record(GAME)
    assert path.stat().st_mode & 0o777 == 0o644
    os.utime(path, (1, 1))
    assert put(site, "b-2_", record={"turns": [{"box": "chance", "points": 20}]}).status == 201
    assert names(site) == ["b-2_", "my first game"]
    found = site.request("/api/games/my%20first%20game").json
    assert found == {"version": 1, "name": "my first game", "text": path.read_text()}


def test_games_by_rules_of_ones_own(site: Site, folder: Path) -> None:
    """A game by a rule file is kept with the name of its rules."""
    text = template("yacht").replace('name = "yacht"', 'name = "mine"', 1)
    assert put(site, "mine", record="yacht=50", rules=text).status == 201
    assert (folder / "mine.txt").read_text() == "rules: mine\n\nyacht=50\n"


def test_nothing_is_overwritten(site: Site, folder: Path) -> None:
    """A game is never replaced, nor anything else that has its name."""
    (folder / "taken.txt").write_text("precious")
    said = put(site, "taken")
    assert (said.status, said.error) == (409, "there is a game called taken already")
    assert (folder / "taken.txt").read_text() == "precious"
    (folder / "dangling.txt").symlink_to(folder.parent / "elsewhere.txt")
    assert put(site, "dangling").status == 409
    assert not (folder.parent / "elsewhere.txt").exists()


@pytest.mark.parametrize(
    "name",
    ["..", "%2e%2e", ".hidden", "-x", "%20x", "a.b", "a%00b", "a%0ab", "a%2e%2e", "x" * 61, "%c3%a9", "a%5cb", "~root",
     "%ef%bc%8e", "con:"],
)  # fmt: skip
def test_names(site: Site, folder: Path, name: str) -> None:
    """A name is letters, digits, spaces, _ and -; any other is refused, for reading and for writing."""
    before = sorted(folder.iterdir())
    for said in (put(site, name), site.request(f"/api/games/{name}")):
        assert said.status == 400
        assert "name: expected letters, digits" in said.error
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("name", ["..%2fpasswd", "%2fetc%2fpasswd", "../../etc/passwd", "a/b", "a%2fb", ""])
def test_no_path_leads_out(site: Site, name: str) -> None:
    """What has a slash in it, however written, is no name of a game at all."""
    assert put(site, name).status == 404
    assert site.request(f"/api/games/{name}").status == 404


def test_only_files_are_read(site: Site, folder: Path) -> None:
    """Links, pipes and folders are neither listed nor read, and nothing waits for them."""
    secret = folder.parent / "secret.txt"
    secret.write_text("secret")
    (folder / "link.txt").symlink_to(secret)
    os.mkfifo(folder / "pipe.txt")
    (folder / "inner.txt").mkdir()
    (folder / "other.toml").write_text("x")
    (folder / "bad.name.txt").write_text("x")
    assert not {"link", "pipe", "inner", "other", "bad.name"} & {*names(site)}
    for name, why in (("link", "cannot be opened"), ("pipe", "is no file"), ("inner", "is no file")):
        said = site.request(f"/api/games/{name}")
        assert (said.status, why in said.error, b"secret" in said.body) == (400, True, False)
    assert site.request("/api/games/none").status == 404


def test_odd_files(site: Site, folder: Path) -> None:
    """A file that is too large is not read, and one that is no text is read with marks in place of what is none."""
    (folder / "large.txt").write_bytes(b"x" * (MAX_BYTES + 1))
    assert "is too long for a game" in site.request("/api/games/large").error
    (folder / "binary.txt").write_bytes(b"\xff\xfe\x00")
    assert site.request("/api/games/binary").json["text"] == "\ufffd\ufffd\x00"


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        ({"text": "x"}, "expected no such field here"),
        ({"record": "no game"}, "line 1"),
        ({"record": {"turns": []}}, "expected a line for each turn"),
        ({"record": " rules: /etc/passwd\nchance=5"}, "record: is a game of '/etc/passwd'"),
        ({"record": "player: \ud800\nchance=5"}, "expected player once, with a text on one line"),
    ],
)
def test_only_games_are_kept(site: Site, folder: Path, question: dict[str, object], complaint: str) -> None:
    """What is no record of a game is not written."""
    said = put(site, "no-game", **question)
    assert said.status == 400
    assert complaint in said.error
    assert not (folder / "no-game.txt").exists()


def test_without_a_folder() -> None:
    """Without --games nothing is kept, and the facts say so."""
    with serving() as site:
        assert site.request("/api/facts").json["saves"] is False
        for said in (put(site, "a"), site.request("/api/games"), site.request("/api/games/a")):
            assert (said.status, said.error.split(",")[0]) == (404, "the server was started without --games")


def test_a_folder_in_trouble(tmp_path: Path) -> None:
    """A full disk, a full folder and one that has gone are told, and leave no half of a game behind."""
    folder = tmp_path / "games"
    folder.mkdir()
    with serving("--games", folder) as site:
        resource.prlimit(site.pid, resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
        assert "a: cannot be written: File too large" in put(site, "a").error
        assert [*folder.iterdir()] == []
        resource.prlimit(site.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        for number in range(MOST_FILES):
            (folder / f"{number}.txt").touch()
        assert "remove some" in put(site, "a").error
        assert len(names(site)) == MOST_FILES
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        assert "the folder of games: cannot be read: No such file" in site.request("/api/games").error
        assert put(site, "a").status == 400
