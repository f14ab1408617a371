"""What the page asks, and the answers: JSON objects in, JSON objects out.

Nothing here reads a file that a question names: rules come by name or as text, strategies by the names of those that
come with the program, and goals that depend on files are refused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import Fields, plain_number
from yahtzee_cluster.game.notation import parse_keep
from yahtzee_cluster.game.rule_files import load_rules, parse_rules, preset_names
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.objectives.goals import MEAN, Goal, parse_goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.card_view import as_rows
from yahtzee_cluster.play.consulted import Consulted
from yahtzee_cluster.play.duel import simulated_duel
from yahtzee_cluster.play.next_roll import next_rolls
from yahtzee_cluster.play.practice import Exercise, draw, judged, rated
from yahtzee_cluster.play.question import answered, position_of
from yahtzee_cluster.play.record import Record, parse_record, record_of
from yahtzee_cluster.play.review import level, review
from yahtzee_cluster.play.strategies import BY_NAME, parse_strategy
from yahtzee_cluster.play.strategy_files import load_strategy, strategy_names
from yahtzee_cluster.text import shown, suggestion

Question = Mapping[str, Any]
Answer = dict[str, Any]

BUILT_IN = tuple(preset_names())
DEFAULT_RULES = BUILT_IN[0]
MOST_RULES = 20_000
"""The longest rule file, in characters."""
MOST_SESSION = 64
MOST_GAMES = 1_000_000
MOST_SEATS = 6
MOST_EXERCISES = 100
SEEDS = 2**32 - 1
MOST_BYTES = 1 << 30
"""The most memory for solving the rest of a game."""
LIMIT_S = 8.0
"""Games of two that take longer to solve are played by the rule for several players."""
ABOUT = "rules", "session"
"""Fields that every question may have: the game, and whose question it is."""


class Advisers:
    """The advisers of the games that were asked for last, which keep what they have solved."""

    def __init__(self, most: int, threads: int | None = None) -> None:
        self._most, self._threads = most, threads
        self._known: OrderedDict[Rules, Adviser] = OrderedDict()
        self._consulted: dict[tuple[Rules, str], Consulted] = {}

    def of(self, rules: Rules) -> Adviser:
        """The adviser of a game."""
        if rules not in self._known:
            while len(self._known) >= self._most:
                dropped, adviser = self._known.popitem(last=False)
                adviser.close()
                self._consulted = {key: one for key, one in self._consulted.items() if key[0] != dropped}
            self._known[rules] = Adviser(rules, threads=self._threads, limit_bytes=MOST_BYTES, limit_s=LIMIT_S)
        self._known.move_to_end(rules)
        return self._known[rules]

    def consulted(self, name: str, rules: Rules) -> Consulted:
        """A strategy that is asked for its moves in a game."""
        key = rules, checked_strategy(name)
        if key not in self._consulted:
            self._consulted[key] = Consulted(parse_strategy(name), self.of(rules))
        return self._consulted[key]


def rules_asked(question: Question) -> Rules:
    """The game of a question: a built-in one by its name, or one's own as the text of a rule file."""
    said = question.get("rules", DEFAULT_RULES)
    if not isinstance(said, str) or len(said) > MOST_RULES:
        expected = f"expected a name, or the text of a rule file of at most {MOST_RULES} characters"
        raise UsageError(f"rules: {expected}, found {shown(said)}")
    if said in BUILT_IN:
        return _built_in(said)
    if "\n" not in said and "=" not in said:
        raise UsageError(f"rules: no rule set {shown(said)}; {suggestion(said, BUILT_IN)}")
    rules = parse_rules(said, "rules")
    return rules.whole or rules


_built_in = lru_cache(load_rules)


def session_of(question: Question) -> str:
    """Whose question it is: a name that the asker has made up; nothing if none was given."""
    session = question.get("session", "")
    if not isinstance(session, str) or len(session) > MOST_SESSION:
        raise UsageError(f"session: expected a text of at most {MOST_SESSION} characters, found {shown(session)}")
    return session


def is_cheap(kind: str, question: Question) -> bool:
    """Whether a question takes no longer than a few milliseconds, once the expected scores of its game are known.

    Only that of a built-in game can be: those of one's own may take seconds to be solved.
    """
    if kind not in {"card", "advise", "record"} or question.get("rules", DEFAULT_RULES) not in BUILT_IN:
        return False
    for_the_mean = question.get("goal") in (None, str(MEAN)) and not question.get("others")
    return kind != "advise" or (for_the_mean and not question.get("distribution") and question.get("strategy") is None)


def answer(kind: str, question: Question, advisers: Advisers) -> Answer:
    """The answer to a question; raises `UsageError` for one that cannot be answered."""
    session_of(question)
    rules = rules_asked(question)
    rest = {name: value for name, value in question.items() if name not in ABOUT}
    return KINDS[kind](rest, rules, advisers)


# ------------------------------------------------------------------------------------------------- what is asked


def _rules(question: Question, rules: Rules, _: Advisers) -> Answer:
    """What a scorecard of a game looks like."""
    Fields(question, "question", ())
    return facts_of(rules)


def facts_of(rules: Rules) -> Answer:
    """A game as the page needs it."""
    return {
        "name": rules.name,
        "about": rules.source,
        "boxes": [{"name": box.name, "face": box.face} for box in rules.categories],
        "upper_threshold": rules.upper_threshold,
        "upper_bonus": rules.upper_bonus,
        "extra_bonus": rules.extra_bonus if rules.has_chip else 0,
        "mean": plain_number(rules.published_mean or ""),
    }


def _card(question: Question, rules: Rules, advisers: Advisers) -> Answer:
    """A scorecard with its subtotals, and what the dice on the table would bring."""
    Fields(question, "question", ("card", "dice", "rolls_left"))
    position = position_of({"card": {}, **question}, advisers.of(rules))
    assert position.card
    return as_rows(position.card, position.dice)


def _advise(question: Question, rules: Rules, advisers: Advisers) -> Answer:
    """Every move with its value; as `yahtzee-cluster probe` answers."""
    question = dict(question)
    name = question.pop("strategy", None)
    if question.get("goal") is not None:
        checked_goal(question["goal"])
    strategy = None if name is None else advisers.consulted(name, rules)
    return answered(question, advisers.of(rules), MEAN, strategy)


def _next_rolls(question: Question, rules: Rules, advisers: Advisers) -> Answer:
    """What the next roll may bring after a keep."""
    asked = {name: value for name, value in question.items() if name not in {"keep", "goal"}}
    Fields(asked, "question", ("card", "dice", "rolls_left", "others"))
    adviser = advisers.of(rules)
    position, goal = position_of({"card": {}, **asked}, adviser), _goal(question)
    said = question.get("keep", "")
    if not isinstance(said, str):
        raise UsageError(f"keep: expected a text such as 2 2 2, found {shown(said)}")
    keep = parse_keep(f"keep {said.strip() or 'nothing'}", position.dice or ())
    found = next_rolls(adviser, position, keep or (), goal)
    mean = sum(roll.chance * roll.value for roll in found)
    return {"goal": str(goal), "value": mean, "rolls": [roll.to_dict() for roll in found]}


def _review(question: Question, rules: Rules, advisers: Advisers) -> Answer:
    """Luck and loss of a game."""
    Fields(question, "question", ("record", "goal"))
    record = _record_asked(question, rules)
    goal = checked_goal(record.goal) if record.goal and "goal" not in question else _goal(question)
    found = review(record, advisers.of(record.rules), goal)
    below, above = level(found.loss, record.rules) if found.is_rated else (None, None)
    between = {"below": below, "above": above}
    return found.to_dict() | {
        "first_turn": record.first_turn,
        "level": between,
        "text": record.text,
        "record": record.to_dict(),
    }


def _record(question: Question, rules: Rules, _: Advisers) -> Answer:
    """The record of a game in the form that `yahtzee-cluster review` reads."""
    Fields(question, "question", ("record",))
    record = _record_asked(question, rules)
    return {"text": record.text, "record": record.to_dict()}


def _record_asked(question: Question, rules: Rules) -> Record:
    said = question.get("record")
    if not isinstance(said, str | dict):
        raise UsageError(f"record: expected a text, or an object with turns, found {shown(said)}")
    record = record_of(said, rules) if isinstance(said, dict) else parse_record(said, "record", rules, _rules_named)
    if not record.turns:
        raise UsageError("record: expected a line for each turn, found none")
    return record


def _rules_named(name: str) -> Rules:
    """The rules that a record names, if they are not those of the question: no file is read."""
    if name not in BUILT_IN:
        raise UsageError(f"record: is a game of {shown(name)}; choose that game first")
    return _built_in(name)


def _exercises(question: Question, rules: Rules, advisers: Advisers) -> Answer:
    """Positions to practise, drawn where people go wrong."""
    fields = Fields(question, "question", ("goal", "count", "seed"))
    count, seed = fields.integer("count", 10, 1, MOST_EXERCISES), fields.integer("seed", 1, 0, SEEDS)
    return {"exercises": [one.to_dict() for one in draw(advisers.of(rules), _goal(question), count, seed)]}


def _judge(question: Question, rules: Rules, advisers: Advisers) -> Answer:
    """What a move costs in a position."""
    fields = Fields(question, "question", ("goal", "exercise", "move"))
    exercise = Exercise.from_dict(question.get("exercise"), rules)
    return judged(advisers.of(rules), _goal(question), exercise, fields.text("move")).to_dict()


def _ratings(question: Question, rules: Rules, advisers: Advisers) -> Answer:
    """What strategies score at some positions, the best first."""
    fields = Fields(question, "question", ("goal", "exercises"))
    said = question.get("exercises")
    if not isinstance(said, list) or not 1 <= len(said) <= MOST_EXERCISES:
        raise fields.error("exercises", f"expected a list of 1 to {MOST_EXERCISES} positions", said)
    exercises = [Exercise.from_dict(one, rules) for one in said]
    return {"strategies": [one.to_dict() for one in rated(advisers.of(rules), _goal(question), exercises)]}


def _duel(question: Question, rules: Rules, _: Advisers) -> Answer:
    """Games with dice of several strategies."""
    fields = Fields(question, "question", ("strategies", "games", "seed"))
    names = question.get("strategies")
    if not isinstance(names, list) or not 2 <= len(names) <= MOST_SEATS:
        raise fields.error("strategies", f"expected a list of 2 to {MOST_SEATS} names", names)
    strategies = [parse_strategy(checked_strategy(name)) for name in names]
    n_games = fields.integer("games", 100_000, 1, MOST_GAMES)
    seed = fields.integer("seed", 1, 0, SEEDS)
    found = simulated_duel(strategies, n_games, seed, rules)
    players = [
        {"strategy": name, **asdict(standing), "interval": standing.interval}
        for name, standing in zip(names, found, strict=True)
    ]
    return {"games": n_games, "seed": seed, "players": players}


KINDS: dict[str, Callable[[Question, Rules, Advisers], Answer]] = {
    "rules": _rules,
    "card": _card,
    "advise": _advise,
    "next-rolls": _next_rolls,
    "review": _review,
    "record": _record,
    "exercises": _exercises,
    "judge": _judge,
    "ratings": _ratings,
    "duel": _duel,
}
"""What can be asked, by the last part of its address."""


# ------------------------------------------------------------------------------------------- goals and strategies


def _goal(question: Question) -> Goal:
    said = question.get("goal")
    return MEAN if said is None else checked_goal(said)


def checked_goal(said: object) -> Goal:
    """A goal that depends on no file."""
    if not isinstance(said, str):
        raise UsageError(f"goal: expected a text, found {shown(said)}")
    goal = parse_goal(said)
    for one, _ in goal.opponents:
        if one.kind == "strategy":
            checked_strategy(one.text)
    if goal.kind == "worth" or any(one.kind == "file" for one, _ in goal.opponents):
        raise UsageError("goal: files are not read here; use the command line")
    return goal


def checked_strategy(said: object) -> str:
    """The name of a strategy that comes with the program."""
    known = [*BY_NAME, *strategy_names()]
    if not isinstance(said, str) or said not in known:
        question = suggestion(said if isinstance(said, str) else "", known)
        raise UsageError(f"strategy: no strategy {shown(said)}; {question}")
    return said


def strategies_known() -> list[Answer]:
    """The strategies that come with the program, the best first."""
    known = [load_strategy(name) for name in strategy_names()]
    listed: list[Answer] = [
        {"name": one.title, "about": one.about, "rules": one.game.name, "mean": one.recorded} for one in known
    ]
    listed.sort(key=lambda one: -(one["mean"] or 0))
    own = [
        {"name": name, "about": f"plays for {one.words}", "rules": None, "mean": None} for name, one in BY_NAME.items()
    ]
    return [*own, *listed]
