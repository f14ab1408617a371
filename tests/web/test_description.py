"""The description of the server says what it takes and what it answers, and the server is as it says."""

import json
from typing import Any

import jsonschema
import pytest
from small_games import SMALL
from web import LINES, Site

from yahtzee_cluster.web.questions import KINDS

CARD = "aces=3,deuces=6,treys=9,fours=12,fives=15,3k=20,4k=20,chance=20,yahtzee=0"
GAME = "player: one\n\n22256 keep 222, 22235 keep 222, 22266 full-house\n... 12345 large-straight\nyahtzee=50\n"
EXERCISE = {"card": {"aces": 3, "yahtzee": 50}, "dice": [2, 2, 2, 5, 6], "rolls_left": 1}
TURN = {"box": "chance", "points": 20}
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("rules", {}),
    ("rules", {"rules": next(iter(SMALL.values()))}),
    ("card", {"card": CARD, "dice": "22256"}),
    ("card", {"rules": "yacht", "card": {"yacht": 50}, "dice": None}),
    ("advise", {"card": CARD, "dice": [6, 6, 6, 1, 2], "rolls_left": 1, "goal": None}),
    ("advise", {"used": ["aces"], "upper": 3, "chip": False, "score": 3, "goal": "mean"}),
    ("advise", {"card": CARD, "dice": "66612", "goal": "reach:230", "distribution": True, "strategy": "greedy"}),
    ("advise", {"card": CARD, "dice": "66612", "goal": "win", "others": [CARD], "session": "s"}),
    ("advise", {"card": {"chance": 20}, "rules": "yahtzee", "others": [{"chance": 20}, {"chance": 20}]}),
    ("next-rolls", {"card": CARD, "dice": "66612", "keep": "666", "goal": "mean"}),
    ("review", {"record": GAME, "goal": None}),
    ("review", {"record": {"turns": [TURN]}}),
    ("review", {"record": "12345 chance"}),
    ("record", {"record": GAME}),
    ("exercises", {"count": 3, "seed": 7, "goal": "mean"}),
    ("exercises", {"rules": "yacht", "count": 2}),
    ("judge", {"exercise": EXERCISE, "move": "k 2 2 2", "goal": "reach:250"}),
    ("judge", {"exercise": EXERCISE, "move": "fh"}),
    ("ratings", {"exercises": [EXERCISE, EXERCISE | {"rolls_left": 0}]}),
    ("duel", {"strategies": ["greedy", "expected"], "games": 10, "seed": None}),
]


@pytest.fixture(scope="module")
def described(site: Site) -> dict[str, Any]:
    """The description, as it is served."""
    said = site.request("/openapi.json")
    assert said.headers["content-type"] == "application/json"
    return dict(said.json)


def checked(described: dict[str, Any], schema: dict[str, Any], value: object) -> None:
    """Check a value by a schema of the description."""
    jsonschema.Draft202012Validator(schema | {"components": described["components"]}).validate(value)


def test_every_question_is_described(described: dict[str, Any]) -> None:
    """The description has every kind of question and no other, and each is asked below."""
    assert {path for path in described["paths"] if "post" in described["paths"][path]} == {f"/api/{k}" for k in KINDS}
    assert {kind for kind, _ in ASKED} == {*KINDS}


@pytest.mark.parametrize(("kind", "question"), ASKED)
def test_answers_are_as_described(site: Site, described: dict[str, Any], kind: str, question: dict[str, Any]) -> None:
    """A question that fits its description is answered as described, also line by line."""
    operation = described["paths"][f"/api/{kind}"]["post"]
    checked(described, operation["requestBody"]["content"]["application/json"]["schema"], question)
    content = operation["responses"]["200"]["content"]
    said = site.ask(kind, question)
    assert said.status == 200, said
    checked(described, content["application/json"]["schema"], said.json)
    for line in site.ask(kind, question, accept=LINES).body.splitlines():
        checked(described, content[LINES]["schema"], json.loads(line))


def test_other_answers_are_as_described(site: Site, described: dict[str, Any]) -> None:
    """So are the facts, games that are kept, and refusals."""

    def answer(path: str, method: str, status: str) -> dict[str, Any]:
        return dict(described["paths"][path][method]["responses"][status]["content"]["application/json"]["schema"])

    checked(described, answer("/api/facts", "get", "200"), site.request("/api/facts").json)
    headers = {"content-type": "application/json"}
    said = site.request("/api/games/a", "PUT", json.dumps({"record": GAME, "rules": "yahtzee"}), headers)
    checked(described, answer("/api/games/{name}", "put", "201"), said.json)
    checked(described, answer("/api/games", "get", "200"), site.request("/api/games").json)
    checked(described, answer("/api/games/{name}", "get", "200"), site.request("/api/games/a").json)
    checked(described, answer("/api/games/{name}", "get", "4XX"), site.request("/api/games/b").json)
    checked(described, answer("/api/advise", "post", "4XX"), site.ask("advise", {"dice": "1"}).json)
