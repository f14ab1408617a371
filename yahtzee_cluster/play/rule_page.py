"""A list of rules as a page to print: what to keep, where to score, and what to sacrifice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.play.rule_lists import RuleList
from yahtzee_cluster.play.strategy_files import Described

PLAIN = re.compile(r"(?!.*\b(?:free|used|unused|scored|is|are|any|all|none|if|its)\b)[a-z0-9]+(?:-[a-z0-9]+)*")
"""Names of boxes that can stand in a sentence; where there are others, rules are shown as they are written."""
STYLE = """
@page { size: A4; margin: 14mm }
body { font: 10.5pt/1.35 Georgia, "DejaVu Serif", serif; color: #111; max-width: 182mm; margin: 0 auto; padding: 4mm 0 }
h1 { font-size: 17pt; margin: 0 0 1mm } h2 { font-size: 12pt; margin: 4mm 0 1mm; break-after: avoid }
p { margin: 1mm 0 } ol { margin: 1mm 0; padding-left: 8mm } li { margin: 0.7mm 0; break-inside: avoid }
.rules { columns: 2; column-gap: 9mm } .rules h2:first-child { margin-top: 0 } .note { color: #555; font-size: 9pt }
@media (max-width: 600px) { body { padding: 4mm } .rules { columns: 1 } }
"""


def page(strategy: Described, rules: RuleList) -> str:
    """The strategy as an HTML page of its own, which fits on a sheet of A4."""
    return "\n".join(_lines(strategy, rules, strategy.mean(solve_expected(strategy.game))))


def _lines(strategy: Described, rules: RuleList, mean: float) -> Iterator[str]:
    game = escape(f"{strategy.game.name[:1].upper()}{strategy.game.name[1:]}")
    names = [category.name for category in strategy.game.categories]
    said = in_words if all(map(PLAIN.fullmatch, names)) else str
    yield '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{game} by {rules.n_parameters} rules: {escape(strategy.title)}</title>\n<style>{STYLE}</style>"
    yield f"<h1>{game} by {rules.n_parameters} rules</h1>"
    yield f"<p>{escape(_sentence(strategy.about or strategy.title))}</p>"
    yield f"<p>Whoever plays by them scores {mean:.2f} points on average, exactly computed.</p>"
    yield '<p class="note">In each list, follow the first rule that fits. "Its box" is the upper box of the dice in '
    yield "question. A rule for scoring fits only if the box is free and brings points.</p>"
    yield '<div class="rules">\n<h2>What to keep after a roll</h2>'
    if rules.keep is None:
        yield "<p>Whatever is best for what the rules below bring: only a computer can.</p>"
    else:
        yield from _numbered([*map(said, rules.keep), "otherwise, roll all dice again"])
    yield "<h2>Where to score</h2>"
    yield from _numbered([*map(said, rules.score), "otherwise, sacrifice a box"])
    yield "<h2>What to sacrifice</h2>\n<p>The first of these that is free: "
    yield f"{escape(', '.join(said(names[box]) for box in rules.otherwise))}.</p>\n</div>"


def _numbered(rules: Sequence[str]) -> Iterator[str]:
    yield "<ol>"
    yield from (f"<li>{escape(_sentence(rule))}</li>" for rule in rules)
    yield "</ol>"


def in_words(rule: str) -> str:
    """A rule as one would say it.

    >>> in_words("pair of 4 5 6, high first, if any of four-of-a-kind, chance free and yahtzee used")
    'pair of 4, 5 or 6, high first, if four of a kind or chance is free and yahtzee is used'
    """
    said = re.sub(r"\b(?:is |are )?(free|unused|used|scored)\b", r"\1", rule.replace("-", " ").replace("'", ""))
    said = re.sub(r"\bunused\b", "free", said)
    said = re.sub(r"(any of|all of|none of) ([^()]+?) (free|used)\b", _some_of, said)
    said = re.sub(r"(?<!is )(?<!are )\b(free|used|scored)\b", r"is \1", said).replace("boxes is", "boxes are")
    said = re.sub(r"\bof ((?:[1-6] )+)([1-6])\b", lambda found: f"of {', '.join(found[1].split())} or {found[2]}", said)
    return re.sub(r"\b1 dice", "1 die", said).replace("scored", "filled with points")


def _some_of(found: re.Match[str]) -> str:
    """Several boxes, as one would list them."""
    boxes = re.split(r", (?:or |and )?| or | and ", found[2])
    link, verb = {"any of": ("or", "is"), "all of": ("and", "are"), "none of": ("and", "is")}[found[1]]
    listed = f"{', '.join(boxes[:-1])} {link} {boxes[-1]}" if len(boxes) > 1 else boxes[0]
    return f"{'none of ' * (found[1] == 'none of')}{listed} {verb} {found[3]}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
