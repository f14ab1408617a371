"""Strategies as TOML files: those that come with the program, found by name, and one's own. They are data alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from yahtzee_cluster.errors import FileError
from yahtzee_cluster.fields import MAX_TEXT, check_name_or_file, is_text, is_there, read_toml
from yahtzee_cluster.game.rule_files import load_rules, preset_names
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels.policies import Decider
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable
from yahtzee_cluster.play.rule_lists import RuleList
from yahtzee_cluster.play.strategy import ByAnchorAlone
from yahtzee_cluster.play.worth import Worth, is_number
from yahtzee_cluster.text import shown, suggestion

FOLDER = Path(__file__).parent.parent / "strategies"
KINDS: dict[str, type[RuleList | Worth]] = {"worth": Worth, "rules": RuleList}
TEXTS = "name", "kind", "about", "source", "game"
NUMBERS = "published", "mean"
HEADER = (*TEXTS, *NUMBERS)


@dataclass(frozen=True)
class Described(ByAnchorAlone):
    """A strategy of a file, with what the file says of it."""

    title: str
    about: str
    source: str
    game: Rules
    published: float | None
    """The mean that was published for it."""
    recorded: float | None
    """The exact mean that the file gives."""
    strategy: RuleList | Worth

    @property
    def words(self) -> str:  # type: ignore[override]
        """The name."""
        return self.title

    @property
    def rules(self) -> Rules:
        """The rules of the game that it was made for."""
        return self.game

    @property
    def n_parameters(self) -> int:
        """The numbers, or rules, that it consists of."""
        return self.strategy.n_parameters

    def decider(self, turn: Turn, expected: ExpectedTable) -> Decider:
        """The kernel that decides."""
        return self.strategy.decider(turn, expected)


def strategy_names() -> list[str]:
    """The names of the strategies that come with the program."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def is_known(text: str) -> bool:
    """Whether a text names a strategy that comes with the program, or a TOML file."""
    return text in strategy_names() or text.endswith(".toml")


def load_strategy(name_or_file: str) -> Described:
    """The strategy of this name, or of this file."""
    return strategy_of(read_toml(str(path_of(name_or_file))), name_or_file)


def strategies_for(rules: Rules) -> list[Described]:
    """The strategies that come with the program for a game."""
    known = map(load_strategy, strategy_names())
    return [one for one in known if one.game.table == rules.table]


def adapted(name: str, rules: Rules) -> Described:
    """The strategy of this name, for another game; its file must name no box."""
    known = load_strategy(name)
    if known.game.table == rules.table:
        return known
    return replace(known, game=rules, published=None, recorded=None, strategy=replace(known.strategy, game=rules))


def path_of(name_or_file: str) -> Path:
    """The file of a strategy, given its name or its file."""
    names = strategy_names()
    if name_or_file in names:
        return FOLDER / f"{name_or_file}.toml"
    check_name_or_file(name_or_file, names, "strategy")
    return Path(name_or_file)


def strategy_of(table: dict[str, Any], source: str) -> Described:
    """The strategy that a parsed file describes; `source` names it in error messages."""
    header = {name: table.pop(name, None) for name in HEADER}
    for name in ("name", "kind", "game"):
        if header[name] is None:
            raise FileError(source, f"{name}: expected a text, found nothing")
    for name in TEXTS:
        if header[name] is not None and not is_text(header[name]):
            expected = f"expected a text on one line, of at most {MAX_TEXT} characters"
            raise FileError(source, f"{name}: {expected}, found {shown(header[name])}")
    for name in NUMBERS:
        if header[name] is not None and not is_number(header[name]):
            raise FileError(source, f"{name}: expected a number, found {shown(header[name])}")
    if header["kind"] not in KINDS:
        raise FileError(source, f"kind: no kind {shown(header['kind'])}; {suggestion(header['kind'], [*KINDS])}")
    beside = Path(source).parent / header["game"]
    rules = load_rules(str(beside) if is_there(beside) and header["game"] not in preset_names() else header["game"])
    return Described(
        title=header["name"],
        about=header["about"] or "",
        source=header["source"] or "",
        game=rules,
        published=header["published"],
        recorded=header["mean"],
        strategy=KINDS[header["kind"]].parse(table, source, rules),
    )


def toml_of(table: dict[str, Any], prefix: str = "") -> str:
    """A parsed file as TOML: fields first, then the tables within."""
    inside = {key: value for key, value in table.items() if isinstance(value, dict) or _is_tables(value)}
    fields = [f"{_key(key)} = {_value(value)}" for key, value in table.items() if key not in inside]
    blocks = ["\n".join(fields)] if fields else []
    for key, value in inside.items():
        name = f"{prefix}{_key(key)}"
        if isinstance(value, list):
            blocks += [f"[[{name}]]\n{toml_of(item, f'{name}.')}" for item in value]
        else:
            plain = not value or any(not isinstance(item, dict) for item in value.values())
            blocks.append(f"[{name}]\n" * plain + toml_of(value, f"{name}."))
    return "\n\n".join(block.rstrip() for block in blocks)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], list | str):  # of rows, or of rules
        return "[\n" + "".join(f"    {_value(row)},\n" for row in value) + "]"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return f"{value:.12g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False)
