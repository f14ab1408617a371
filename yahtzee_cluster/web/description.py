"""The description of the server in OpenAPI 3.1: every question with its fields and its answer."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from yahtzee_cluster import __version__
from yahtzee_cluster.fields import MAX_COUNT, MAX_TEXT
from yahtzee_cluster.play.record import MOST_ROLLS
from yahtzee_cluster.web.questions import (
    BUILT_IN,
    MOST_EXERCISES,
    MOST_GAMES,
    MOST_RULES,
    MOST_SEATS,
    MOST_SESSION,
    SEEDS,
)
from yahtzee_cluster.web.saved_games import NAME

Schema = dict[str, Any]

JSON, LINES = "application/json", "application/x-ndjson"
"""The form of an answer; and of one with its progress before it, a JSON object a line."""


def _object(*required: str, **fields: Schema) -> Schema:
    """An object with these fields and no others."""
    return {"type": "object", "required": [*required], "additionalProperties": False, "properties": fields}


def _all(**fields: Schema) -> Schema:
    """The same, each of whose fields is there."""
    return _object(*fields, **fields)


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(items: Schema, least: int = 0, most: int | None = None) -> Schema:
    return {"type": "array", "items": items, "minItems": least} | ({} if most is None else {"maxItems": most})


def _whole(low: int = 0, high: int | None = None) -> Schema:
    return {"type": "integer", "minimum": low} | ({} if high is None else {"maximum": high})


def _text(about: str = "", **limits: int) -> Schema:
    return {"type": "string", **({"description": about} if about else {}), **limits}


NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
FACES = _list(_whole(1, 6), most=5)
DICE = _list(_whole(1, 6), 5, 5)
POINTS = {"type": "object", "additionalProperties": _whole()}
ROLL = _object("dice", dice=DICE, kept=_or_null(FACES))
TURN = _object(
    "box",
    rolls=_list(ROLL, most=MOST_ROLLS),
    box=_text(),
    points=_or_null(_whole(0, MAX_COUNT)),
    extra=FLAG,
    whole=FLAG,
)
SCHEMAS: dict[str, Schema] = {
    "rules": _text(f"A built-in game ({', '.join(BUILT_IN)}), or the text of a rule file.", maxLength=MOST_RULES),
    "session": _text("Any text: questions with the same one find what was solved for it.", maxLength=MOST_SESSION),
    "goal": _text("A goal that depends on no file, such as mean, reach:250, quantile:0.5 or win:expected."),
    "card": {
        "description": "Points by the names of boxes, and those of all extra bonuses as `bonus`.",
        "anyOf": [_text(), POINTS],
    },
    "dice": {"description": "The dice on the table, such as 22256.", "anyOf": [_text(), DICE, {"type": "null"}]},
    "rolls_left": {"description": "3 before the first roll.", "type": ["integer", "null"], "minimum": 0, "maximum": 3},
    "others": _list(_ref("card")) | {"description": "The cards of the other players, in their order of play."},
    "record": {
        "description": "A game that was written down, as text or as an object.",
        "anyOf": [
            _text(),
            _object(
                "turns",
                **dict.fromkeys(("rules", "card", "goal", "player", "date"), _or_null(_text(maxLength=200))),
                turns=_list(TURN, 1),
            ),
        ],
    },
    "refusal": _all(version={"const": 1}, error=_text("Why there is no answer, in one line.")),
    "progress": _all(progress=_all(stage=_text(), share={"type": "number", "minimum": 0, "maximum": 1})),
    "game": _all(
        name=_text(),
        about=_text(),
        boxes=_list(_all(name=_text(), face=_or_null(_whole(1, 6)))),
        upper_threshold=_whole(),
        upper_bonus=_whole(),
        extra_bonus=_whole(),
        mean=_or_null(NUMBER),
    ),
    "exercise": _all(card=POINTS, dice=DICE, rolls_left=_whole(0, 2)),
    "decision": _all(
        turn=_whole(1),
        kind=_text(),
        card=POINTS,
        dice=DICE,
        rolls_left=_whole(0, 2),
        made=_text(),
        best=_text(),
        loss=NUMBER,
        forced=FLAG,
    ),
}
POSITION = {name: _ref(name) for name in ("card", "dice", "rolls_left")}
STATE = {"used": _list(_text()), "upper": _or_null(_whole()), "chip": FLAG, "score": _or_null(_whole())}
WOULD = _all(points=_whole(), extra=_whole(), upper_bonus=_whole())
WRITTEN = {"text": _text("The game as `yahtzee-cluster review` reads it."), "record": _ref("record")}
REVIEW = dict.fromkeys(("start", "luck", "loss", "unknown", "result", "luck_adjusted"), NUMBER)

ASKED: dict[str, tuple[str, Schema, Schema]] = {
    "rules": ("What a scorecard of a game looks like", _object(), _ref("game")),
    "card": (
        "A scorecard with its subtotals, and what the dice would bring",
        _object(**POSITION),
        _all(
            rules=_text(),
            rows=_list(
                _all(name=_text(), face=_or_null(_whole(1, 6)), points=_or_null(_whole()), would=_or_null(WOULD))
            ),
            upper=_whole(),
            upper_threshold=_whole(),
            upper_bonus=_whole(),
            upper_bonus_paid=_whole(),
            extra=_or_null(_whole()),
            extra_name=_text(),
            total=_whole(),
            over=FLAG,
        ),
    ),
    "advise": (
        "Every move with its value, the best first",
        _object(
            **POSITION,
            **STATE,
            others=_ref("others"),
            goal=_or_null(_ref("goal")),
            distribution=FLAG,
            strategy=_or_null(_text("A strategy that is asked for its move, too.")),
        ),
        _ref("answer"),
    ),
    "next-rolls": (
        "What the next roll may bring after a keep",
        _object(**POSITION, keep=_text(), others=_ref("others"), goal=_or_null(_ref("goal"))),
        _all(
            goal=_text(),
            value=NUMBER | {"description": "That of the keep: the mean over all rolls."},
            rolls=_list(_all(dice=DICE, chance=NUMBER, value=NUMBER)),
        ),
    ),
    "review": (
        "What luck and decisions made of a game",
        _object("record", record=_ref("record"), goal=_or_null(_ref("goal"))),
        _all(
            rules=_text(),
            goal=_text(),
            **REVIEW,
            score=_whole(),
            first_turn=_whole(1),
            loss_per_choice=_or_null(NUMBER),
            by_kind={"type": "object", "additionalProperties": NUMBER},
            by_box={"type": "object", "additionalProperties": NUMBER},
            rolls=_list(_all(turn=_whole(1), roll=_whole(1, 3), dice=DICE, luck=NUMBER)),
            decisions=_list(_ref("decision")),
            costliest=_list(_ref("decision")),
            level=_all(below=_or_null(_text()), above=_or_null(_text())),
            **WRITTEN,
        ),
    ),
    "record": (
        "A game in the form in which it is written down",
        _object("record", record=_ref("record")),
        _all(**WRITTEN),
    ),
    "exercises": (
        "Positions to practise, drawn where people go wrong",
        _object(
            count=_or_null(_whole(1, MOST_EXERCISES)), seed=_or_null(_whole(0, SEEDS)), goal=_or_null(_ref("goal"))
        ),
        _all(exercises=_list(_ref("exercise"))),
    ),
    "judge": (
        "What a move costs in a position",
        _object(
            *("exercise", "move"),
            exercise=_ref("exercise"),
            move=_text("Such as keep 2 2 2, or a box.", maxLength=MAX_TEXT),
            goal=_or_null(_ref("goal")),
        ),
        _all(
            card=POINTS,
            dice=DICE,
            rolls_left=_whole(0, 2),
            **dict.fromkeys(("kind", "made", "best"), _text()),
            loss=NUMBER,
            right=FLAG,
        ),
    ),
    "ratings": (
        "What strategies score at some positions, the best first",
        _object("exercises", exercises=_list(_ref("exercise"), 1, MOST_EXERCISES), goal=_or_null(_ref("goal"))),
        _all(
            strategies=_list(
                _all(name=_text(), positions=_whole(), right=_whole(), loss=NUMBER, loss_in_a_game=_or_null(NUMBER))
            )
        ),
    ),
    "duel": (
        "Games with dice of several strategies",
        _object(
            "strategies",
            strategies=_list(_text(), 2, MOST_SEATS),
            games=_or_null(_whole(1, MOST_GAMES)),
            seed=_or_null(_whole(0, SEEDS)),
        ),
        _all(
            games=_whole(1),
            seed=_whole(),
            players=_list(
                _all(
                    strategy=_text(),
                    **dict.fromkeys(("win", "tie", "loss", "value", "mean"), NUMBER),
                    games=_whole(1),
                    interval=_list(NUMBER, 2, 2),
                )
            ),
        ),
    ),
}
"""By kind of question: what it is, its fields besides `rules` and `session`, and its answer besides `version`."""


def description() -> dict[str, Any]:
    """All of it, as `/openapi.json` has it."""
    facts = _all(
        rules=_list(_ref("game")),
        strategies=_list(_all(name=_text(), about=_text(), rules=_or_null(_text()), mean=_or_null(NUMBER))),
        intervals=_list(_whole()) | {"description": "Seconds for which a position of a deck rests."},
        saves=FLAG | {"description": "Whether games are kept."},
    )
    kept = _object("record", record=_ref("record"), rules=_ref("rules"))
    name = {"name": "name", "in": "path", "required": True, "schema": _text() | {"pattern": f"^{NAME.pattern}$"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "yahtzee-cluster web", "version": __version__},
        "paths": {f"/api/{kind}": {"post": _asked(kind)} for kind in ASKED}
        | {
            "/api/facts": {"get": _operation("Games and strategies that come with the program", facts)},
            "/api/games": {"get": _operation("The names of the games that are kept", _all(games=_list(_text())))},
            "/api/games/{name}": {
                "parameters": [name],
                "get": _operation("A game that is kept", _all(name=_text(), text=_text())),
                "put": _operation("Keep a new game", _all(name=_text()), kept, status="201"),
            },
        },
        "components": {"schemas": SCHEMAS | _of_answers()},
    }


def _of_answers() -> dict[str, Schema]:
    """The schema of an answer about a position, whose version every answer here has."""
    text = (resources.files("yahtzee_cluster") / "web" / "answer.schema.json").read_text(encoding="utf-8")
    schemas: dict[str, Schema] = json.loads(text.replace("#/$defs/", "#/components/schemas/"))["$defs"]
    return {name: schema for name, schema in schemas.items() if name != "refusal"}


def _asked(kind: str) -> Schema:
    about, question, answer = ASKED[kind]
    fields = {"rules": _ref("rules"), "session": _ref("session"), **question["properties"]}
    operation = _operation(about, answer, question | {"properties": fields})
    one_line = {"anyOf": [_ref("progress"), _versioned(answer), _ref("refusal")]}
    said = "Progress, and last the answer or a refusal; only if the request accepts it, and if the answer takes long."
    operation["responses"]["200"]["content"][LINES] = {"schema": one_line | {"description": said}}
    return operation


def _operation(about: str, answer: Schema, question: Schema | None = None, status: str = "200") -> Schema:
    refusal = {"description": "There is no answer", "content": {JSON: {"schema": _ref("refusal")}}}
    answered = {"description": "The answer", "content": {JSON: {"schema": _versioned(answer)}}}
    operation: Schema = {"summary": about, "responses": {status: answered, "4XX": refusal, "5XX": refusal}}
    if question:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": question}}}
    return operation


def _versioned(answer: Schema) -> Schema:
    """The schema of an answer with the field `version`."""
    if answer == _ref("answer"):
        return answer
    if "$ref" in answer:
        answer = SCHEMAS[answer["$ref"].rpartition("/")[2]]
    return answer | {
        "required": ["version", *answer["required"]],
        "properties": {"version": {"const": 1}, **answer["properties"]},
    }
