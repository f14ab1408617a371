"""Opponents of a goal by name, and how they are written."""

from __future__ import annotations

from dataclasses import dataclass

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, plain_number, whole_number
from yahtzee_cluster.text import did_you_mean, shown

MOST_OPPONENTS = 1000
EXPECTED = "expected"
"""The strategy with the highest expected score."""
THE_MEAN = "the highest expected score"
"""That goal in words."""


@dataclass(frozen=True)
class Opponent:
    """An opponent by name."""

    kind: str
    """`score`, `strategy`, `file` or `card`."""
    text: str
    """The final score, the strategy, the path of the file, or the scorecard."""

    def __post_init__(self) -> None:
        if "+" in self.text:
            raise UsageError(f"goal: + joins opponents and cannot be part of a name, found {shown(self.text)}")

    def __str__(self) -> str:
        return f"{self.kind}:{self.text}" if self.kind in {"file", "card"} else self.text

    @property
    def is_known(self) -> bool:
        """Whether the name alone tells how the opponent scores, without a file or a table."""
        return self.kind in {"score", "card"} or self.text == EXPECTED

    def words(self, count: int, one: str, many: str) -> str:
        """So many of these; `one` and `many` are the words for opponents."""
        who, plays = (one, "plays") if count == 1 else (f"{count} {many}", "play")
        match self.kind, self.text:
            case "score", score:
                return f"a final score of {score}" if count == 1 else f"{count} final scores of {score}"
            case "file", path:
                return f"{who} with scores as in {path}"
            case "card", card:
                return f"{who} who {plays} for {THE_MEAN} from {card} on"
            case _, "expected":
                return f"{who} who {plays} for {THE_MEAN}"
        return f"{who} with the strategy {self.text}"


Opponents = tuple[tuple[Opponent, int], ...]
"""Different opponents, each with how many there are of it."""


def parse_opponents(text: str) -> Opponents:
    """Opponents joined by `+`; the same one twice is two of it."""
    counts: dict[Opponent, int] = {}
    for part in map(str.strip, text.split("+")):
        number, star, name = (piece.strip() for piece in part.partition("*"))
        several = star and number.isdecimal()
        count = whole_number(number) if several else 1
        if not count:
            raise UsageError(f"goal: expected 1 to {MOST_OPPONENTS} opponents, found {shown(part)}")
        opponent = parse_opponent(name if several else part)
        counts[opponent] = counts.get(opponent, 0) + count
    return tuple(counts.items())


def parse_opponent(text: str) -> Opponent:
    """One opponent; whether its file or strategy exists is not checked yet."""
    text = text.strip()
    kind, colon, name = (part.strip() for part in text.partition(":"))
    if not text or (colon and not name):
        kinds = f"a final score, {EXPECTED}, DIR, DIR:N, file:FILE or card:CARD"
        raise UsageError(f"goal: expected opponents, joined by +, each {kinds}; found {shown(text)}")
    if colon and kind in {"file", "card"}:
        return Opponent(kind, name)
    if plain_number(text) is not None:
        score = whole_number(text)
        if score is None or score > MAX_COUNT:
            raise UsageError(f"goal: expected a final score from 0 to {MAX_COUNT}, found {shown(text)}")
        return Opponent("score", str(score))
    if colon and whole_number(name) is None and (question := did_you_mean(kind, ("file", "card"))):
        raise UsageError(f"goal: no opponent {shown(text)}; {question}")
    return Opponent("strategy", text)


def usual(count: int) -> Opponents:
    """So many opponents who play for the highest expected score."""
    return ((Opponent("strategy", EXPECTED), count),) if count else ()


def joined(opponents: Opponents) -> str:
    """Opponents as `parse_opponents` reads them."""
    return "+".join(f"{count}*{one}" if count > 1 else str(one) for one, count in opponents)


def listed(opponents: Opponents, one: str, many: str) -> str:
    """Opponents in words."""
    *most, last = (opponent.words(count, one, many) for opponent, count in opponents)
    return f"{', '.join(most)} and {last}" if most else last
