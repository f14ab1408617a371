"""Tables on disk, asked and verified: small games, where the judge can say everything."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_process import command
from launch import compute, computed, mpirun, writable
from numpy.typing import NDArray
from small_games import SMALL, race_table

from yahtzee_cluster.analysis.forward import compare, play_by, play_for
from yahtzee_cluster.engine.recurrence import Block
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.rule_files import as_published, load_rules, parse_rules, rules_of
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.objectives import CHOICES
from yahtzee_cluster.objectives.race import Race
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.storage.errors import StoreError
from yahtzee_cluster.storage.lock import locked
from yahtzee_cluster.storage.paths import LOCK
from yahtzee_cluster.tables import KINDS, open_table
from yahtzee_cluster.tables.table import Table


def changed(table: Table, subset: int, change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> tuple[str, ...]:
    """What is found when the values of a subset are changed, and committed as if they were right."""
    cls = table.store.partition.class_of(subset)
    sound = table.store.block(cls)
    wrong = Block(sound.subsets, sound.starts, sound.values.copy())
    wrong[subset][:] = change(sound[subset])
    writable(table.store)
    table.store.remove(cls)
    table.store.write(cls, wrong)
    complaints = table.verify(n_sampled=40, seed=1).complaints
    table.store.remove(cls)
    table.store.write(cls, sound)
    return complaints


def n_without_values(table: Table) -> int:
    """How many classes have no state in which anything is left to be scored."""
    partition = table.store.partition
    return sum(not (partition.n_values[cls] and any(partition.members(cls))) for cls in partition.classes)


@pytest.mark.parametrize("name", sorted(SMALL))
def test_probabilities_are_the_judge_s(name: str, tmp_path: Path) -> None:
    """From the start of every small game, the curve is what the judge finds, and the whole table verifies."""
    table = computed(SMALL[name], tmp_path / "table", "maxprob")
    rules = parse_rules(SMALL[name], name)
    assert table.rules == rules
    judge = reference.maxprob(rules)
    curve = table.curve()
    for need in (0, 1, 5, 12, 20, 33, 60):
        assert curve[need] == pytest.approx(judge(rules.all_free, 0, False, need), rel=1e-12, abs=0)
    verdict = table.verify()
    n_judged = len(table.store.partition.classes) - n_without_values(table)
    assert (verdict.complaints, verdict.n_missing, verdict.n_judged) == ((), 0, n_judged)


@pytest.mark.parametrize("name", ["exact", "free"])
def test_expected_scores_are_the_judge_s(name: str, tmp_path: Path) -> None:
    """A table of expected scores holds the judge's moments, and verifies."""
    table = computed(SMALL[name], tmp_path / "table", "expected")
    rules = table.rules
    judged = reference.moments(rules)(rules.all_free, 0, False)
    assert table.moments(Anchor(rules.all_free, 0, False)) == pytest.approx(judged, rel=1e-12)
    verdict = table.verify()
    n_judged = len(table.store.partition.classes) - n_without_values(table)
    assert (verdict.complaints, verdict.n_judged) == ((), 2 * n_judged)
    with pytest.raises(UsageError, match="holds expected, not probabilities"):
        table.curve()


@pytest.mark.parametrize("name", ["exact", "forced", "plain"])
def test_distributions_are_the_judge_s(name: str, tmp_path: Path) -> None:
    """A table of distributions verifies value by value, and its curve has a mean up to the expected score."""
    table = computed(SMALL[name], tmp_path / "table", "distribution")
    verdict = table.verify()
    n_judged = len(table.store.partition.classes) - n_without_values(table)
    assert (verdict.complaints, verdict.n_missing, verdict.n_judged) == ((), 0, n_judged)
    rules = table.rules
    mean = reference.moments(rules)(rules.all_free, 0, False)[0]
    beyond = table.curve()[table.target]  # a game that can bring more than the target has some of its mean there
    assert mean - 1e-5 * (beyond > 0) - 1e-12 <= table.curve()[1:].sum() <= mean + 1e-12


@pytest.mark.parametrize("name", sorted(SMALL))
def test_scores_are_the_judge_s(name: str, tmp_path: Path) -> None:
    """Probability, mean and second moment when playing for a need are those that exhaustive search finds."""
    table = computed(SMALL[name], tmp_path / "table", "scores")
    rules = table.rules
    start = Anchor(rules.all_free, 0, False)
    judge = reference.maxprob_scores(rules)
    means, deviations = table.score_curve()
    for need in (1, 12, 17):
        p, mean, second = judge(rules.all_free, 0, False, need)
        assert table.value(start, need) == pytest.approx(p, rel=1e-12, abs=0)
        assert table.moments(start, need) == pytest.approx((mean, second), rel=1e-12)
        assert (means[need], deviations[need]) == pytest.approx((mean, (second - mean**2) ** 0.5), rel=1e-9)
    verdict = table.verify()
    n_judged = len(table.store.partition.classes) - n_without_values(table)
    assert (verdict.complaints, verdict.n_missing, verdict.n_judged) == ((), 0, 3 * n_judged)
    probabilities = computed(SMALL[name], tmp_path / "probabilities", "maxprob")
    assert np.array_equal(table.curve(), probabilities.curve())
    with pytest.raises(UsageError, match="holds maxprob; expected a table of scores: `python -m"):
        probabilities.moments(start, 12)


@pytest.mark.parametrize("name", ["exact", "plain"])
def test_approximations_are_the_judge_s(name: str, tmp_path: Path) -> None:
    """Playing by the normal approximation has the probability that the judge finds, and never more than the best."""
    table, best = (
        computed(SMALL[name], tmp_path / "table", "approx"),
        computed(SMALL[name], tmp_path / "best", "maxprob"),
    )
    verdict = table.verify()
    n_judged = len(table.store.partition.classes) - n_without_values(table)
    assert (verdict.complaints, verdict.n_missing, verdict.n_judged) == ((), 0, n_judged)
    assert (table.curve() <= best.curve() + 1e-15).all()
    assert (table.curve() < best.curve() - 1e-6).any()


def test_every_objective_has_a_kind_of_table() -> None:
    """Whatever can be computed can be opened and asked; one kind is solved in memory only."""
    assert set(KINDS) == {*CHOICES, "reach"}


def test_wrong_scores_are_found(tmp_path: Path) -> None:
    """Moments that no score has, and moments that are another's, are found."""
    table = computed(SMALL["plain"], tmp_path / "table", "scores")
    n = table.store.block(table.store.partition.class_of(0b111))[0b111].size // 3
    lower = np.repeat([1.0, 0.9, 1.0], n)
    assert "and the judge finds" in changed(table, 0b111, lambda values: values * lower)[0]
    assert "holds moments that no score has" in changed(table, 0b111, lambda values: values / lower**9)[0]
    assert "no probabilities" in changed(table, 0b111, lambda values: values + np.repeat([1.0, 0.0, 0.0], n))[0]


def test_wrong_values_are_found(tmp_path: Path) -> None:
    """A value that is wrong is found although its digest fits: by what must hold of it, or by the judge."""
    table = computed(SMALL["plain"], tmp_path / "distribution", "distribution")
    assert "and the judge finds" in changed(table, 0b111, lambda values: values * (1 - 1e-9))[0]
    table = computed(SMALL["plain"], tmp_path / "table", "maxprob")
    assert "and the judge finds" in changed(table, 0b111, lambda values: values * (1 - 1e-9))[0]
    assert "holds values that are no probabilities" in changed(table, 0b111, lambda values: values + 1)[0]
    assert "a higher need is more probable than a lower one" in changed(table, 0b111, lambda values: values[::-1])[0]
    assert table.verify(n_sampled=40, seed=1).complaints == ()


def test_flipped_byte(tmp_path: Path) -> None:
    """A flipped byte is found by verify, and computed again by the same command, alone of all classes."""
    table = computed(SMALL["free"], tmp_path / "table", "maxprob")
    digest = table.store.table_digest
    shard = table.store.place(table.store.partition.class_of(0b0110)) / "c.0"
    content = bytearray(shard.read_bytes())
    content[11] ^= 4
    shard.write_bytes(content)
    result = command("verify", "--store", table.path)
    assert result.returncode == 1
    assert "is damaged; run its job again, and it is computed anew" in result.stderr
    (tmp_path / "free.toml").write_text(SMALL["free"])
    flags = ["--rules", tmp_path / "free.toml", "--target", 60, "--store", table.path, "--json"]
    again = mpirun(2, ["-m", "yahtzee_cluster.run", *flags])
    summary = json.loads(again.stdout)
    assert (summary["classes_computed"], summary["table_sha256"]) == (1, digest)
    assert "is damaged and will be computed again" in again.stderr


def test_rows_agree_with_classes(tmp_path: Path) -> None:
    """Every row that the index names is what reading the class gives."""
    table = computed(SMALL["forced"], tmp_path / "table", "maxprob")
    columns = table.problem.row_index()
    for subset, offset, length in zip(columns["subset"], columns["offset"], columns["length"], strict=True):
        cls = table.store.partition.class_of(int(subset))
        start = table.store.start(int(subset)) + int(offset)
        whole = table.store.block(cls)[int(subset)]
        assert np.array_equal(table.store.row(cls, start, start + int(length)), whole[offset : offset + length])


REFUSED = {
    "no table": (["--store", "none", "--need", "3"], "none: holds no table; `yahtzee-cluster jobs`"),
    "no need": ([], "need: say how many points are still needed, with --need"),
    "need too high": (["--need", "61"], "need: this table goes up to 60, found 61"),
    "unknown": (["--used", "kings", "--need", "3"], "used: no category 'kings'; there are ones, twos, house, five"),
    "twice": (["--used", "house,house", "--need", "3"], "used: house is named twice"),
    "empty name": (["--used", "ones,,house", "--upper", "3", "--need", "3"], "used: no category ''; there are ones"),
    "score, not need": (["--score", "3"], "table: holds maxprob; leave out --score"),
    "need and score": (["--need", "3", "--score", "0"], "table: holds maxprob; leave out --score"),
    "need and lead": (["--need", "3", "--lead", "0"], "table: holds maxprob; leave out --lead"),
    "another player": (["--need", "3", "--other-used", ""], "table: holds maxprob; leave out --other-used"),
    "another's total": (["--need", "3", "--other-upper", "0"], "table: holds maxprob; leave out --other-upper"),
    "another's chip": (["--need", "3", "--other-chip"], "table: holds maxprob; leave out --other-chip"),
    "upper missing": (["--used", "ones", "--need", "3"], "upper: say how many points the used upper categories hold"),
    "upper impossible": (["--used", "ones", "--upper", "6", "--need", "3"], "cannot bring an upper total of 6"),
    "chip too early": (["--chip", "--need", "3"], "chip: the Yahtzee box is not used, or this game has no use for it"),
}


def test_refusals(tmp_path: Path) -> None:
    """Questions about states that do not exist are refused in one line that says why."""
    table = computed(SMALL["free"], tmp_path / "table", "maxprob")
    for flags, expected in REFUSED.values():
        store = [] if "--store" in flags else ["--store", table.path]
        result = command("value", *store, *flags)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.stderr
        assert expected in result.stderr


def test_flags_of_other_tables(tmp_path: Path) -> None:
    """A flag that a table has no use for is refused, whatever else is asked."""
    rules, tables = parse_rules(SMALL["plain"], "plain"), {}
    tables["expected"] = computed(SMALL["plain"], tmp_path / "expected", "expected").path
    for name, problem in (
        ("race", Race(rules)),
        ("utility", Utility(rules, "odd", (0.0,) * Utility.count_scores(rules))),
    ):
        compute(tmp_path / name, problem, 0b11)
        tables[name] = tmp_path / name
    for name, flags, ignored in (
        ("expected", ["--need", "0"], "need"),
        ("expected", ["--lead", "0"], "lead"),
        ("race", ["--lead", "0", "--need", "3"], "need"),
        ("race", ["--lead", "0", "--score", "0"], "score"),
        ("utility", ["--score", "0", "--need", "0"], "need"),
        ("utility", ["--score", "0", "--lead", "0"], "lead"),
        ("utility", ["--score", "0", "--other-chip"], "other-chip"),
    ):
        result = command("value", "--store", tables[name], *flags)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr == f"yahtzee-cluster: {tables[name]}: holds {name}; leave out --{ignored}\n"


def test_upper_totals_without_a_bonus(tmp_path: Path) -> None:
    """In a game without an upper bonus, a total may be left out, and one that no dice bring is refused all the same."""
    table = computed("yacht", tmp_path / "table", "expected")
    asked = ["value", "--store", table.path, "--used", "aces,deuces"]
    assert command(*asked, "--upper", "5").stdout.splitlines()[3:] == command(*asked).stdout.splitlines()[3:]
    refused = command(*asked, "--upper", "16")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the used categories cannot bring an upper total of 16" in refused.stderr


def test_rows_that_are_none(tmp_path: Path) -> None:
    """From Python, too, there is no quantity, anchor or need but those that a table has."""
    table = computed(SMALL["free"], tmp_path / "table", "maxprob")
    for quantity in (-1, 1, 3):
        with pytest.raises(UsageError, match=f"quantity: expected one of 1, counted from 0, found {quantity}"):
            table.row(Anchor(0b1110, 3, False), quantity)
    for ask in (table.row, partial(table.value, need=3)):
        with pytest.raises(UsageError, match="cannot bring an upper total of 6"):
            ask(Anchor(0b1110, 6, False))
    assert table.value(Anchor(0b1111, 0, False), -3) == 1.0
    for need in (1.5, 2.0, True, "3", None):
        with pytest.raises(
            UsageError, match=f"need: expected a whole number, found {need!r}".replace("None", "nothing")
        ):
            table.value(Anchor(0b1111, 0, False), need)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="holds maxprob, not what final scores are worth"):
        table.worth(Anchor(0b1111, 0, False), 0)


def test_incomplete_table(tmp_path: Path) -> None:
    """Of a table that is not complete, status and verify say what is there; a value that is not there is refused."""
    table = computed(SMALL["free"], tmp_path / "table", "maxprob")
    writable(table.store)
    table.store.remove(table.store.partition.class_of(table.rules.all_free))
    status = json.loads(command("status", "--store", table.path, "--json").stdout)
    assert (status["classes_done"], status["table_sha256"]) == (status["classes"] - 1, None)
    assert status["rules"] == "free"
    verified = command("verify", "--store", table.path)
    assert verified.stdout == f"classes    {status['classes'] - 1} of {status['classes']} there, all sound\n"
    curve = command("curve", "--store", table.path)
    assert curve.returncode == 1
    assert "the table is not finished; run its job again, and it goes on" in curve.stderr


def test_status_of_a_run(tmp_path: Path) -> None:
    """Status tells the share and the bytes of a table, and how long the run that writes it will go on at its pace."""
    table = computed(SMALL["free"], tmp_path / "table", "maxprob")
    store = writable(table.store)
    store.remove(store.partition.class_of(table.rules.all_free))
    old, *new = store.committed
    sizes = store.partition.n_values

    def status() -> dict[str, Any]:
        return dict(json.loads(command("status", "--store", table.path, "--json").stdout))

    assert (status()["writer"], status()["left_s"]) == (None, None)
    with locked(table.path / LOCK, "token\nthis test"):
        os.utime(table.path / LOCK, (1000, 1000))
        for cls in store.committed:
            at = 900 if cls == old else 1030
            os.utime(store.place(cls), (at, at))
        said, shown = status(), command("status", "--store", table.path).stdout
    left = sum(sizes.values()) - sum(sizes[cls] for cls in [old, *new])
    assert said["left_s"] == pytest.approx(30 * left / sum(sizes[cls] for cls in new))
    assert said["share"] == pytest.approx(1 - left / sum(sizes.values()))
    on_disk = subprocess.run(
        ["du", "--apparent-size", "-b", "-a", table.path], capture_output=True, text=True, check=True
    )
    files = (line.split("\t") for line in on_disk.stdout.splitlines())
    assert said["bytes"] == sum(int(size) for size, name in files if Path(name).is_file())
    assert f"share            {100 * said['share']:.4g} %\nleft_s           {said['left_s']:.0f}\n" in shown


@pytest.mark.parametrize(
    ("objective", "heading"),
    [("maxprob", ["score", "P(score at least)"]), ("scores", ["score", "P(score at least)", "mean", "std"])],
)
def test_curve_has_a_heading(objective: str, heading: list[str], tmp_path: Path) -> None:
    """The first line of a curve names its columns; a line for each score follows."""
    table = computed(SMALL["free"], tmp_path / "table", objective)
    first, *rows = command("curve", "--store", table.path).stdout.splitlines()
    assert re.split("  +", first.strip()) == heading
    assert [row.split()[0] for row in rows] == [str(score) for score in range(table.target + 1)]
    assert all(len(row.split()) == len(heading) for row in rows)


def test_identity_keeps_what_the_game_is() -> None:
    """The rules in a store make the same game again, whatever was published of it."""
    for name in ("yahtzee", "yatzy", "kniffel"):
        rules = load_rules(name)
        table = json.loads(json.dumps(rules.table))
        assert "source" not in table
        again = rules_of(table, "test")
        assert (again.categories, again.joker, again.upper_bonus) == (rules.categories, rules.joker, rules.upper_bonus)
        assert as_published(again) == rules
        table["upper_bonus"] += 1
        assert as_published(rules_of(table, "test")).published_maxprob == ()


def spoiled(table: Table, quantity: int, value: float) -> None:
    """Give every class such values of one quantity, and the right digests."""
    for cls in table.store.partition.classes:
        block = table.store.block(cls)
        for free in block.subsets.tolist():
            np.split(block[free], table.quantities)[quantity][:] = value
        writable(table.store)
        table.store.remove(cls)
        table.store.write(cls, block)


@pytest.mark.parametrize("value", [np.inf, -np.inf, -1.0, 1e5, 1e308])
@pytest.mark.parametrize(("objective", "quantity"), [("scores", 0), ("scores", 1), ("scores", 2), ("maxprob", 0)])
def test_values_that_cannot_be(objective: str, quantity: int, value: float, tmp_path: Path) -> None:
    """Nothing is decided by values beyond what there can be, nor are they shown, although their digests are right."""
    table = computed(SMALL["free"], tmp_path / "table", objective)
    spoiled(table, quantity, value)
    start = Anchor(table.rules.all_free, 0, False)
    position = Position(start, roll=(1, 1, 2, 2, 3), rolls_left=2)
    asked: list[Callable[[], object]] = [
        lambda: table.row(start, quantity),
        lambda: Adviser(table.rules, table).advise(position, 17),
    ]
    if objective == "scores":
        asked += [lambda: play_for(17, table), lambda: compare(17, table)]
        asked += [lambda: table.moments(start, 17)] * (quantity > 0)
    for ask in asked:
        with pytest.raises(StoreError, match="holds values that cannot be"):
            ask()
    assert any("holds" in complaint for complaint in table.verify(5, 1).complaints)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e308])
def test_worth_that_cannot_be(value: float, tmp_path: Path) -> None:
    """The same with what final scores are worth, and with two players."""
    rules = parse_rules(SMALL["exact"], "exact")
    compute(tmp_path / "utility", Utility(rules, "odd", (1e300,) * Utility.count_scores(rules)), 0b11)
    table = open_table(tmp_path / "utility")
    assert play_by(table).curve[0] == pytest.approx(1.0)
    spoiled(table, 0, value)
    race = Race(parse_rules(SMALL["plain"], "plain"))
    compute(tmp_path / "race", race, 0b11)
    two = race_table(tmp_path / "race")
    store = two.store
    for cls in store.partition.classes:
        block = store.block(cls)
        block.values[:] = value
        writable(store)
        store.remove(cls)
        store.write(cls, block)
    worth_at_first = partial(table.worth, Anchor(0b111, 0, False), 0)
    asked: list[Callable[[], object]] = [partial(play_by, table), worth_at_first, two.opening]
    for ask in asked:
        with pytest.raises(StoreError, match="holds values that cannot be"):
            ask()


NOTHING = """
    name = "nothing"
    [[category]]
    name = "none"
    points = 0
    [[category]]
    name = "five"
    groups = [5]
    points = 0
"""


@pytest.mark.parametrize("objective", [name for name in CHOICES if name not in {"utility", "race", "race-wins"}])
def test_a_game_in_which_nothing_can_be_scored(objective: str, tmp_path: Path) -> None:
    """A table without a single probability is verified like any other."""
    table = computed(NOTHING, tmp_path, objective)
    verdict = table.verify()
    assert (verdict.complaints, verdict.n_judged) == ((), 2 * 3 if objective == "expected" else 0)
    assert verdict.table_sha256
    assert "all sound" in command("verify", "--store", tmp_path).stdout
