"""Strategies by the worth of a scorecard: what Glenn and Ecker published, and files that are refused."""

import math
import random
import re
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_games import SMALL

from yahtzee_cluster.analysis.statistics import Currencies
from yahtzee_cluster.errors import FileError, UsageError
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rest import rest_of
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels import policies
from yahtzee_cluster.kernels.turn import Turn, instruction_sets
from yahtzee_cluster.objectives.expected import ExpectedTable, solve_expected
from yahtzee_cluster.play.worth import Worth
from yahtzee_cluster.play.worth_terms import Network, ecker_table, normal

STRATEGIES = Path(__file__).parents[2] / "strategies"
HEADER = ("name", "kind", "about", "source", "game", "published", "mean")


@cache
def exact(game: str) -> ExpectedTable:
    return solve_expected(load_rules(game))


@pytest.fixture
def small_free() -> Rules:
    return parse_rules(SMALL["free"], source="test")


def parsed(text: str, rules: Rules, source: str = "mine.toml") -> Worth:
    return Worth.parse(tomllib.loads(text), source, rules)


def read(path: Path) -> tuple[dict[str, Any], Worth]:
    """The header and the strategy of a file."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    header = {key: table.pop(key, None) for key in HEADER}
    return header, Worth.parse(table, str(path), load_rules(header["game"]))


def in_one_pass(decider: policies.ByWorth, expected: ExpectedTable) -> np.ndarray:
    """The mean of every place by `policies.mean`."""
    currencies = Currencies.of(decider.turn.moves, expected.anchors.bonus)
    values = np.empty(expected.anchors.n_places)
    policies.mean(decider, currencies.payoffs.sum(axis=0), float(currencies.crossing.sum()), values)
    return values


def in_two_passes(decider: policies.ByWorth, expected: ExpectedTable) -> np.ndarray:
    """The same, by decisions that are then followed."""
    currencies = Currencies.of(decider.turn.moves, expected.anchors.bonus)
    values = np.empty((1, expected.anchors.n_places))
    policies.worth(decider, currencies.payoffs.sum(axis=0)[None], currencies.crossing.sum()[None], values)
    return np.asarray(values[0])


def both_ways(decider: policies.ByWorth, expected: ExpectedTable) -> tuple[np.ndarray, np.ndarray]:
    return in_one_pass(decider, expected), in_two_passes(decider, expected)


def mean(strategy: Worth) -> float:
    """The exact mean of a strategy in its game."""
    expected = exact(strategy.game.name)
    return float(in_one_pass(strategy.decider(Turn(compile_moves(strategy.game)), expected), expected)[expected.start])


def by_worth() -> list[Path]:
    return [path for path in sorted(STRATEGIES.glob("*.toml")) if 'kind = "worth"' in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("isa", instruction_sets())
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_pass_finds_what_decisions_bring(small_rules: Rules, isa: str, seed: int) -> None:
    """The mean in a single pass has the bits of the one by following decisions, with many ties or none."""
    expected = solve_expected(small_rules)
    generator = np.random.default_rng(seed)
    n_places = expected.anchors.n_places
    worth = generator.integers(0, 5, n_places).astype(float) if seed else generator.random(n_places)
    decider = policies.ByWorth(Turn(compile_moves(small_rules), isa), expected.anchors, worth)
    one, two = both_ways(decider, expected)
    assert np.array_equal(one[expected.anchors.exists], two[expected.anchors.exists])


@pytest.mark.whole
@pytest.mark.parametrize("text", ["[worth]", '[worth]\nhalves = "chip in both"'])
def test_one_pass_over_the_real_game(text: str) -> None:
    """The same bits at every place of the real game."""
    rules = load_rules("yahtzee")
    decider = parsed(text, rules).decider(Turn(compile_moves(rules)), exact("yahtzee"))
    exists = exact("yahtzee").anchors.exists
    one, two = both_ways(decider, exact("yahtzee"))
    assert np.array_equal(one[exists], two[exists])


@pytest.mark.parametrize(
    ("method", "estimate", "deviation"),
    [
        ("additive", "131.733", "37.517"),
        ("heuristic", "184.232", "11.411"),
        ("small-regression", "203.257", "6.325"),
        ("regression", None, "1.462"),
    ],
)
def test_estimates_of_ecker(method: str, estimate: str | None, deviation: str) -> None:
    """What his tables expect of a game, and how far they are from the exact one on average, to the last digit."""
    table = ecker_table(method, exact("yaht"))
    differences = np.abs(table - exact("yaht").mean)
    assert f"{differences.mean():.3f}" == deviation
    if estimate:
        assert f"{table[-1]:.3f}" == estimate


def test_greedy_estimate_of_ecker() -> None:
    """Nothing is expected, so that the deviation is the mean of the exact table."""
    assert f"{exact('yaht').mean.mean():.3f}" == "103.384"


def test_max_dp_is_a_lower_bound() -> None:
    """The best of all divisions expects more than his 25 random ones (187.743), and never more than there is."""
    table = ecker_table("max-dp", exact("yaht"))
    assert (table <= exact("yaht").mean + 1e-9).all()
    assert 187.743 < table[-1] < exact("yaht").mean[-1]


@pytest.mark.parametrize(
    ("method", "simulated", "std"),
    [
        ("additive", 229.628, 29.508),
        ("regression", 232.203, 32.507),
        ("small-regression", 232.855, 31.87),
        ("max-dp", 232.856, 31.635),
        ("heuristic", 233.125, 31.811),
        ("greedy", 215.315, 32.297),
    ],
)
def test_simulated_means_of_ecker(method: str, simulated: float, std: float) -> None:
    """His means of 1,000 games lie within four standard errors of the exact ones."""
    text = "[worth]" if method == "greedy" else f'[worth]\necker = "{method}"'
    assert mean(parsed(text, load_rules("yaht"))) == pytest.approx(simulated, abs=4 * std / math.sqrt(1000))


@pytest.mark.whole
def test_halves_of_glenn() -> None:
    """His upper and lower half earn 250.41 if the chip is kept in both, and 249.77 by the equation as printed."""
    rules = load_rules("yahtzee")
    both, printed = (parsed(f'worth.halves = "{reading}"', rules) for reading in ("chip in both", "chip in lower half"))
    assert f"{mean(both):.2f}" == "250.41"
    assert f"{mean(printed):.2f}" == "249.77"


@pytest.mark.whole
@pytest.mark.parametrize("path", by_worth(), ids=lambda path: path.stem)
def test_means_in_files(path: Path) -> None:
    """The exact mean in the header of each file is its mean, to all digits given."""
    header, strategy = read(path)
    said = repr(header["mean"])
    assert f"{mean(strategy):.{len(said.partition('.')[2])}f}" == said


def test_means_of_records() -> None:
    """The best strategies found have as many numbers as their names say, at most."""
    for path in STRATEGIES.glob("best-[0-9]*.toml"):
        assert read(path)[1].n_parameters <= int(path.stem.partition("-")[2])


def slow(table: dict[str, Any], rules: Rules, expected: ExpectedTable, anchor: Anchor) -> float:  # noqa: C901
    """The worth of one scorecard, by the meaning of the terms."""
    free = [category for number, category in enumerate(rules.categories) if anchor.free >> number & 1]
    names = [category.name for category in free]
    ups = [category for category in free if category.face]
    upper, lower = (
        sum(
            1 << number
            for number, category in enumerate(rules.categories)
            if category in free and bool(category.face) == up
        )
        for up in (True, False)
    )
    worth = 0.0
    for term, value in table["worth"].items():
        if term == "boxes":
            worth += sum(value[name] for name in names)
        elif term == "chip" and anchor.chip:
            worth += sum(value if isinstance(value, int) else value[name] for name in names)
        elif term == "pairs":
            worth += sum(w for one, others in value.items() for other, w in others.items() if {one, other} <= {*names})
        elif term == "bonus" and anchor.upper is not None:
            still = sum(value["mean"] * category.face for category in ups if category.face)
            spread = math.sqrt(sum(value["variance"] * category.face**2 for category in ups if category.face))
            z = (anchor.upper + still - rules.upper_threshold) / spread
            worth += value.get("points", rules.upper_bonus) * (1 + math.erf(z / math.sqrt(2))) / 2
        elif term == "halves":
            chip = anchor.chip and value == "chip in both"
            worth += expected.mean[expected.anchors.index(Anchor(upper, anchor.upper, chip))]
            worth += expected.mean[expected.anchors.index(Anchor(lower, None, anchor.chip))]
        elif term == "network":
            units = [float(category in free) for category in rules.categories] + [anchor.chip, anchor.upper is not None]
            ahead = 0.0
            if anchor.upper is not None:
                ahead = anchor.upper + sum(3 * (category.face or 0) for category in ups) - rules.upper_threshold
            units.append(ahead / rules.upper_threshold)
            for number, layer in enumerate(value["layer"], start=1):
                sums = [sum(w * u for w, u in zip(row, units, strict=True)) for row in layer["weights"]]
                units = [total + bias for total, bias in zip(sums, layer["biases"], strict=True)]
                if number < len(value["layer"]):
                    units = [math.tanh(u) if value["activation"] == "tanh" else max(u, 0) for u in units]
            worth += units[0]
    return worth


def layers(*sizes: int) -> list[dict[str, Any]]:
    """The layers of a network of these sizes, with numbers of no meaning."""
    draw = random.Random(7)
    return [
        {
            "weights": [[draw.uniform(-1, 1) for _ in range(n_in)] for _ in range(n_out)],
            "biases": [draw.uniform(-1, 1) for _ in range(n_out)],
        }
        for n_in, n_out in pairwise(sizes)
    ]


BOXES = {"ones": 1.5, "twos": 2.25, "house": 3.5, "five": 0.5}
TERMS: list[dict[str, Any]] = [
    {},
    {"boxes": BOXES},
    {"chip": 3},
    {"chip": {"ones": 1, "twos": 2, "house": 4}},
    {"pairs": {"ones": {"twos": 2, "five": -1}, "house": {"five": 7}}},
    {"bonus": {"mean": 2.1, "variance": 0.7}},
    {"bonus": {"mean": 1.8, "variance": 1.2, "points": 3}, "boxes": BOXES},
    {"halves": "chip in both"},
    {"halves": "chip in lower half"},
    {"network": {"activation": "tanh", "layer": layers(7, 5, 3, 1)}},
    {"network": {"activation": "relu", "layer": layers(7, 6, 1)}, "chip": 1},
]


@pytest.mark.parametrize("terms", TERMS, ids=lambda terms: "-".join(terms) or "nothing")
def test_worth_is_the_sum_of_its_terms(small_free: Rules, terms: dict[str, Any]) -> None:
    """At every place, as worked out from the scorecard there."""
    expected = solve_expected(small_free)
    table = {"worth": terms}
    found = Worth.parse(table, "mine.toml", small_free).values(expected)
    anchors = expected.anchors
    judged = [slow(table, small_free, expected, anchors.anchor(place)) for place in range(anchors.n_places)]
    assert found == pytest.approx(np.array(judged), abs=1e-6)


def test_normal_distribution() -> None:
    """To 1e-6, far out as well."""
    for x in (-40.0, -6.0, -1.96, 0.0, 0.5, 3.0, 40.0):
        assert normal(np.array([x]))[0] == pytest.approx((1 + math.erf(x / math.sqrt(2))) / 2, abs=1e-6)


def test_numbers_from_a_file(tmp_path: Path, small_free: Rules) -> None:
    """A table by free boxes is read from a file beside it."""
    (tmp_path / "numbers.txt").write_text(" ".join(str(n / 2) for n in range(16)))
    strategy = parsed('worth.table.file = "numbers.txt"', small_free, str(tmp_path / "mine.toml"))
    expected = solve_expected(small_free)
    free = expected.anchors.columns(np.arange(expected.anchors.n_places))[0]
    assert np.array_equal(strategy.values(expected), free / 2)
    assert strategy.n_parameters == 16


def test_numbers_are_counted() -> None:
    """Of the terms that come with the program, and of a network."""
    counts = {path.stem: read(path)[1].n_parameters for path in by_worth()}
    assert counts["greedy"] == 0
    assert counts["category-means"] == 13
    assert counts["category-means-variances"] == 25
    assert counts["ecker-additive"] == 13
    assert counts["ecker-max-dp"] == 1092
    rules = load_rules("yahtzee")
    network = {"worth": {"chip": 2, "network": {"layer": layers(Network.n_inputs(13), 10, 1)}}}
    assert Worth.parse(network, "mine.toml", rules).n_parameters == 1 + 10 * 17 + 11


def boxes(**changed: object) -> str:
    return "[worth.boxes]\n" + "\n".join(f"{name} = {value}" for name, value in {**BOXES, **changed}.items())


LAYER = "[[worth.network.layer]]\nweights = [[1, 2, 3, 4, 5, 6, 7]]\nbiases = [0]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "worth: expected a table, which may be empty, found nothing"),
        ("worth = 3", "worth: expected a table, which may be empty, found 3"),
        ("worth.box = 3", "worth: box: expected no such field here, only .*; did you mean boxes"),
        ("worth.boxes = 3", "worth: boxes: expected a table with a number for each box, found 3"),
        (boxes(aces=1), "worth: boxes: aces: expected no such box here, only ones, twos, house, five, found 1"),
        ("worth.boxes.ones = 1", "worth: boxes: twos: expected a number for each box of the game free, found nothing"),
        (boxes(twos="nan"), "worth: boxes: twos: expected a number, found nan"),
        (boxes(twos="-inf"), "worth: boxes: twos: expected a number, found -inf"),
        (boxes(twos="true"), "worth: boxes: twos: expected a number, found (true|True)"),
        (boxes(twos="1e300"), "worth: boxes: twos: expected a number, found 1e"),
        ('worth.chip = "much"', "worth: chip: expected a number, found 'much'"),
        ("worth.chip.five = 1", "worth: chip: five: expected no such box here, only ones, twos, house, found 1"),
        ("worth.bonus.mean = 1", "worth: bonus: variance: expected a number, or one for each upper box, found nothing"),
        ("worth.bonus = {mean = 1, variance = -1}", "worth: bonus: variance: expected no negative number"),
        ("worth.bonus = {mean = {ones = 1, house = 2}, variance = 1}", "worth: bonus: mean: house: expected no such"),
        ("worth.pairs.twos.ones = 1", "worth: pairs: twos: ones: expected each pair once, in the order of the boxes"),
        ("worth.pairs.ones.ones = 1", "worth: pairs: ones: ones: expected each pair once, in the order of the boxes"),
        ("worth.pairs.ones.six = 1", "worth: pairs: ones: six: expected no such field here"),
        ('worth.halves = "no"', "worth: halves: expected one of chip in both, chip in lower half, found 'no'"),
        ('worth.ecker = "regresion"', "worth: ecker: expected one of .*; did you mean regression"),
        ("worth.table = 3", "worth: table: expected a table, found 3"),
        ('worth.table.file = "none.txt"', "none.txt: cannot be read: No such file"),
        ('worth.table.file = "few.txt"', "worth: table: file: expected 16 numbers in it, .*, found 2 in 'few.txt'"),
        ('worth.table.file = "nan.txt"', "nan.txt: expected numbers with blanks, .*, found 'nan'"),
        ('worth.table.file = "long.txt"', "long.txt: is too long: more than 100000 bytes"),
        ("worth.network.layer = []", "worth: network: layer: expected one or more .* tables"),
        ('[worth.network]\nactivation = "exp"\n' + LAYER, "worth: network: activation: expected one of tanh, relu"),
        (LAYER.replace(", 7", ""), "expected layers that lead from 7 inputs to 1 output, .*, found 6×1"),
        (LAYER.replace("[0]", "[0, 0]"), "expected layers that lead from 7 inputs to 1 output"),
        (LAYER + LAYER, "expected layers that lead from 7 inputs to 1 output, .*, found 7×1 → 7×1"),
        (LAYER.replace("7]]", "7], [1, 2]]"), "expected layers that lead from 7 inputs"),
        (LAYER.replace("7", "inf"), "worth: network: layer 1: weights: expected a list of numbers for each unit"),
        (LAYER.replace("[0]", "0"), "worth: network: layer 1: biases: expected a list of numbers, found 0"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, small_free: Rules, text: str, message: str) -> None:
    """Each mistake is told in one line that begins with the file."""
    (tmp_path / "few.txt").write_text("1, 2")
    (tmp_path / "nan.txt").write_text("nan " * 16)
    (tmp_path / "long.txt").write_text("1 " * 60_000)
    with pytest.raises(FileError, match=message) as refusal:
        parsed(text, small_free, str(tmp_path / "mine.toml"))
    assert re.fullmatch(rf"{re.escape(str(tmp_path))}/[a-z]+\.(toml|txt): [^\n]{{,400}}", str(refusal.value))


@pytest.mark.parametrize("term", ["chip = 1", "bonus = {mean = 1, variance = 1}"])
def test_terms_without_meaning(term: str) -> None:
    """A game without bonuses refuses terms that value them."""
    with pytest.raises(FileError, match="expected only"):
        parsed(f"[worth]\n{term}", load_rules("yacht"))


def test_another_game() -> None:
    """A strategy for one game does not play another."""
    with pytest.raises(UsageError, match="for the game yahtzee; it cannot play another one"):
        parsed("[worth]", load_rules("yahtzee")).values(exact("yacht"))


def test_rest_of_a_game_with_a_chip() -> None:
    """Where further Yahtzees pay from the beginning, the weight for that counts for every free box."""
    rules = load_rules("yahtzee")
    rest = rest_of(rules, Anchor(0b111, 63, chip=True))
    boxes = "\n".join(f"{category.name} = 2.0" for category in rest.categories)
    more = boxes.replace("2.0", "3.5")
    expected = solve_expected(rest)
    with_chip = parsed(f"worth.chip = 1.5\n[worth.boxes]\n{boxes}", rest)
    plain = parsed(f"[worth.boxes]\n{more}", rest)
    assert np.array_equal(with_chip.values(expected), plain.values(expected))
    without = rest_of(rules, Anchor(0b111, 63))
    with pytest.raises(FileError, match="chip: expected only where further Yahtzees pay"):
        parsed(f"worth.chip = 1.5\n[worth.boxes]\n{boxes}", without)
