"""Rule sets: what they score, what they allow, and how a bad one is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yahtzee_cluster.errors import FileError
from yahtzee_cluster.game.dice import ROLLS
from yahtzee_cluster.game.rule_files import load_rules, parse_rules, preset_names, template
from yahtzee_cluster.game.rules import Rules

rolls = st.sampled_from(ROLLS)


def scores(rules: str, roll: tuple[int, ...]) -> dict[str, int]:
    """What a roll scores in each box that gives it points."""
    found = {category.name: category.score(tuple(sorted(roll))) for category in load_rules(rules).categories}
    return {name: points for name, points in found.items() if points}


def boxes(rules: Rules, *names: str) -> int:
    known = [category.name for category in rules.categories]
    return sum(1 << known.index(name) for name in names)


def played(rules: Rules, free: int, chip: bool, roll: tuple[int, ...]) -> dict[str, int]:
    return {rules.categories[play.category].name: play.points for play in rules.plays(free, chip, roll)}


def test_presets() -> None:
    """All eight rule sets load under their own names, the default first."""
    names = preset_names()
    assert names[0] == "yahtzee"
    assert sorted(names) == sorted(
        ["yahtzee", "forced-joker", "no-joker", "kniffel", "simple", "yaht", "yacht", "yatzy"]
    )
    assert [load_rules(name).name for name in names] == names
    assert all(load_rules(name).source for name in names)


def test_yahtzee_scores() -> None:
    """The default rules score example rolls as the rule book does."""
    assert scores("yahtzee", (1, 2, 3, 4, 6)) == {
        "aces": 1, "deuces": 2, "treys": 3, "fours": 4, "sixes": 6, "small-straight": 30, "chance": 16,
    }  # fmt: skip
    assert scores("yahtzee", (2, 2, 2, 2, 2)) == {
        "deuces": 10, "three-of-a-kind": 10, "four-of-a-kind": 10, "yahtzee": 50, "chance": 10,
    }  # fmt: skip
    assert scores("yahtzee", (5, 5, 6, 6, 6))["full-house"] == 25
    assert scores("yahtzee", (2, 3, 4, 5, 6))["large-straight"] == 40


def test_yatzy_scores() -> None:
    """Scandinavian boxes score the matching dice, and two pairs want two faces."""
    assert scores("yatzy", (3, 3, 6, 6, 6)) == {
        "threes": 6, "sixes": 18, "one-pair": 12, "two-pairs": 18, "three-of-a-kind": 18, "full-house": 24,
        "chance": 24,
    }  # fmt: skip
    assert "two-pairs" not in scores("yatzy", (4, 4, 4, 4, 1))
    assert "full-house" not in scores("yatzy", (4, 4, 4, 4, 4))
    assert scores("yatzy", (1, 2, 3, 4, 5))["small-straight"] == 15
    assert "large-straight" not in scores("yatzy", (1, 2, 3, 4, 5))


def test_presets_differ_where_they_should() -> None:
    """Kniffel takes five of a kind for a full house, Yacht scores dice, Yaht pays 35 for a small straight."""
    fives = (4, 4, 4, 4, 4)
    assert scores("kniffel", fives)["full-house"] == 25
    assert "full-house" not in scores("simple", fives)
    assert scores("yacht", (2, 2, 3, 3, 3))["full-house"] == 13
    assert scores("yacht", (1, 2, 3, 4, 5))["little-straight"] == 30
    assert "big-straight" not in scores("yacht", (1, 2, 3, 4, 5))
    assert scores("yaht", (1, 2, 3, 4, 4))["small-straight"] == 35


def test_free_joker() -> None:
    """A further Yahtzee pays its bonus with the chip, and fills the joker boxes once its own box is gone too."""
    rules = load_rules("yahtzee")
    fours = (4, 4, 4, 4, 4)
    free = boxes(rules, "fours", "full-house", "large-straight", "chance")
    assert played(rules, free, True, fours) == {"fours": 120, "full-house": 100, "large-straight": 100, "chance": 120}
    without = boxes(rules, "full-house", "large-straight", "chance")
    assert played(rules, without, True, fours) == {"full-house": 125, "large-straight": 140, "chance": 120}
    assert played(rules, without, False, fours) == {"full-house": 25, "large-straight": 40, "chance": 20}
    with_yahtzee = without | rules.yahtzee_box
    assert played(rules, with_yahtzee, False, fours) == {
        "full-house": 0, "large-straight": 0, "yahtzee": 50, "chance": 20,
    }  # fmt: skip


def test_forced_joker() -> None:
    """A further Yahtzee goes into its own box, else into a lower box in full, else into any upper box for nothing."""
    rules = load_rules("forced-joker")
    twos = (2, 2, 2, 2, 2)
    assert played(rules, boxes(rules, "deuces", "treys", "chance"), False, twos) == {"deuces": 10}
    assert played(rules, boxes(rules, "treys", "chance", "small-straight"), False, twos) == {
        "small-straight": 30, "chance": 10,
    }  # fmt: skip
    assert played(rules, boxes(rules, "treys", "sixes"), True, twos) == {"treys": 100, "sixes": 100}


def test_no_joker_still_pays_the_bonus() -> None:
    """Without jokers a further Yahtzee is worth its bonus and no box in full."""
    rules = load_rules("no-joker")
    assert played(rules, boxes(rules, "full-house", "chance"), True, (6, 6, 6, 6, 6)) == {
        "full-house": 100, "chance": 130,
    }  # fmt: skip


def test_only_points_in_the_yahtzee_box_give_the_chip() -> None:
    """A zero in the Yahtzee box earns no later bonus."""
    rules = load_rules("yahtzee")
    box = rules.yahtzee_box
    assert [play.chip for play in rules.plays(box, False, (1, 1, 1, 1, 2))] == [False]
    assert [play.chip for play in rules.plays(box, False, (1, 1, 1, 1, 1))] == [True]


def test_upper_bonus_is_paid_at_the_crossing() -> None:
    """The bonus comes once, when the upper total reaches the threshold."""
    rules = load_rules("yahtzee")
    assert [rules.upper_bonus_for(*step) for step in ((33, 30), (32, 30), (63, 30), (62, 1))] == [35, 0, 0, 35]


@given(rules=st.sampled_from(preset_names()), roll=rolls, free=st.integers(1, 2**12 - 1), chip=st.booleans())
def test_every_roll_has_a_play(rules: str, roll: tuple[int, ...], free: int, chip: bool) -> None:
    """Whatever is free, every roll can be scored somewhere, only in free boxes, and never for less than nothing."""
    game = load_rules(rules)
    plays = game.plays(free, chip and not free & game.yahtzee_box, roll)
    assert plays
    assert all(free >> play.category & 1 and play.points >= play.upper >= 0 for play in plays)


def test_printed_preset_is_a_valid_file(tmp_path: Path) -> None:
    """What `rules NAME` prints can be given to --rules, and no longer claims what was published of the preset."""
    for name in preset_names():
        file = tmp_path / name
        file.write_text(template(name), encoding="utf-8")
        unsourced = replace(load_rules(name), source="", published_mean=None, published_std=None, published_maxprob=())
        assert load_rules(str(file)) == unsourced


BOX = '[[category]]\nname = "box"\n'
GOOD = 'name = "g"\n' + BOX + 'points = "sum"\n'
BAD = {
    "not TOML": ("name = ", "not valid TOML"),
    "endless number": ("x = " + "1" * 5000, "is not valid TOML: "),
    "large number": ("upper_bonus = 0x" + "f" * 5000 + "\n" + GOOD, "found something too large to show"),
    "deep key": (".".join("a" * 3000) + " = 1", "a: expected no such field here"),
    "key with a line break": ('"a\\nb" = 1\n' + GOOD, "'a\\nb': expected no such field here"),
    "endless key": ("k" * 5000 + " = 1", "k...: expected no such field here"),
    "endless name": (f'name = "{"n" * 201}"\n' + BOX, "name: expected a text on one line, of at most 200 characters"),
    "no name": (BOX + 'points = "sum"\n', "name: expected a text"),
    "empty name": ('name = ""\n' + BOX + 'points = "sum"\n', "name: expected a text"),
    "two lines": ('name = "a\\nb"\n' + BOX + 'points = "sum"\n', "name: expected a text on one line, of at most"),
    "number as name": (
        "name = 3\n" + BOX + 'points = "sum"\n',
        "name: expected a text on one line, of at most 200 characters, found 3",
    ),
    "no category": ('name = "g"\n', "category: expected 1 to 16 [[category]] tables, found nothing"),
    "category is a text": ('name = "g"\ncategory = "x"\n', "category: expected 1 to 16 [[category]] tables"),
    "17 categories": (
        'name = "g"\n' + "".join(f'[[category]]\nname = "c{i}"\nface = 1\n' for i in range(17)),
        "category: expected 1 to 16 [[category]] tables, found 17",
    ),
    "name used twice": (GOOD + BOX + "face = 1\n", "category 2: name: expected a name not used before, found 'box'"),
    "no points": ('name = "g"\n' + BOX, "category box: points: expected"),
    "negative points": ('name = "g"\n' + BOX + "points = -5\n", "category box: points: expected"),
    "too many points": ('name = "g"\n' + BOX + "points = 1001\n", "from 0 to 1000, found 1001"),
    "fractional points": ('name = "g"\n' + BOX + "points = 2.5\n", "points: expected"),
    "true as points": ('name = "g"\n' + BOX + "points = true\n", "points: expected"),
    "unknown word": ('name = "g"\n' + BOX + 'points = "all"\n', "points: expected"),
    "matching nothing": ('name = "g"\n' + BOX + 'points = "matching"\n', 'points: expected "sum" or a whole number'),
    "points beside face": ('name = "g"\n' + BOX + "face = 2\npoints = 3\n", 'points: expected "matching", found 3'),
    "face 7": ('name = "g"\n' + BOX + "face = 7\n", "face: expected a whole number from 1 to 6, found 7"),
    "two patterns": ('name = "g"\n' + BOX + "face = 1\nrun = 3\n", "run: expected at most one pattern, besides face"),
    "group of one": (
        'name = "g"\n' + BOX + "groups = [1]\npoints = 1\n",
        "groups: expected a list of one or more whole",
    ),
    "no groups": ('name = "g"\n' + BOX + "groups = []\npoints = 1\n", "groups: expected a list of one or more whole"),
    "six dice": ('name = "g"\n' + BOX + "groups = [3, 3]\npoints = 1\n", "groups: expected groups of at most 5 dice"),
    "run of six": ('name = "g"\n' + BOX + "run = 6\npoints = 1\n", "run: expected a whole number from 2 to 5"),
    "face twice": ('name = "g"\n' + BOX + "faces = [1, 1]\npoints = 1\n", "faces: expected up to 5 faces, each once"),
    "six faces": (
        'name = "g"\n' + BOX + "faces = [1,2,3,4,5,6]\npoints = 1\n",
        "faces: expected up to 5 faces, each once",
    ),
    "distinct alone": ('name = "g"\n' + BOX + 'distinct = false\npoints = "sum"\n', "distinct: expected only beside"),
    "distinct is 1": ('name = "g"\n' + BOX + "distinct = 1\ngroups = [2]\npoints = 1\n", "distinct: expected true or"),
    "joker for dice": ('name = "g"\n' + BOX + 'joker = true\npoints = "sum"\n', "joker: expected only beside a fixed"),
    "unknown field": ('nmae = "x"\n' + GOOD, "nmae: expected no such field here, only category, name, "),
    "misspelt name": (
        'name = "g"\n' + BOX.replace("name", "nmae"),
        "category 1: nmae: expected no such field here, only name, points",
    ),
    "misspelt pattern": ('name = "g"\n' + BOX + "faec = 3\n", "category box: faec: expected no such field here"),
    "game field in a box": (GOOD + "upper_bonus = 1\n", "category box: upper_bonus: expected no such field here"),
    "blank name": ('name = "  "\n' + BOX + 'points = "sum"\n', "name: expected a text, found '  '"),
    "nested": ("x = " + "[" * 5000, "is not valid TOML: "),
    "threshold out of reach": (
        "upper_threshold = 31\nupper_bonus = 1\n" + GOOD + '[[category]]\nname = "six"\nface = 6\n',
        "upper_threshold: expected at most 30, what the face categories can bring together, found 31",
    ),
    "unknown joker": ('joker = "wild"\n' + GOOD, "joker: expected one of none, free, forced, found 'wild'"),
    "joker is a list": ('joker = ["free"]\n' + GOOD, "joker: expected one of none, free, forced, found ['free']"),
    "joker without Yahtzee": ('joker = "free"\n' + GOOD, "yahtzee: expected the name of the Yahtzee category"),
    "bonus without Yahtzee": ("extra_bonus = 5\n" + GOOD, "yahtzee: expected the name of the Yahtzee category"),
    "Yahtzee is no box": ('yahtzee = "x"\n' + GOOD, "yahtzee: expected the name of a category, found 'x'"),
    "Yahtzee is no five": ('yahtzee = "box"\n' + GOOD, "yahtzee: expected a category with groups = [5]"),
    "bonus without threshold": (
        "upper_bonus = 5\n" + GOOD,
        "upper_threshold: expected upper_threshold and upper_bonus",
    ),
    "threshold without bonus": ("upper_threshold = 5\n" + GOOD, "upper_bonus: expected upper_threshold and"),
    "negative bonus": ("upper_bonus = -1\n" + GOOD, "upper_bonus: expected a whole number from 1 to 1000, found -1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_rules_are_refused_in_one_line(case: str) -> None:
    """A bad rule set is refused by one line that names the field and what was expected."""
    text, expected = BAD[case]
    with pytest.raises(FileError) as refusal:
        parse_rules(text, source="my-rules.toml")
    message = str(refusal.value)
    assert message.startswith("my-rules.toml: ")
    assert expected in message
    assert "\n" not in message
    assert len(message) < 500


def read_or_refusal(text: str) -> Rules | str:
    """The rules, or the one line that refuses them; anything else that is raised fails the test."""
    try:
        return parse_rules(text, source="x")
    except FileError as error:
        refusal = str(error)
    assert "\n" not in refusal
    return refusal


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes the reader fail in any other way than by refusing it in one line."""
    assert isinstance(read_or_refusal(text), Rules | str)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-10, 2000)
    | st.floats()
    | st.sampled_from(["sum", "matching", "free", "box"]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
fields = st.sampled_from(["face", "groups", "run", "faces", "distinct", "points", "joker"])


@given(st.dictionaries(fields, values, max_size=4))
def test_any_category_is_read_or_refused(category: dict[str, object]) -> None:
    """Whatever stands in a category, it is either a game that scores every roll, or refused in one line."""

    def toml(value: object) -> str:
        if isinstance(value, list):
            return "[" + ", ".join(toml(item) for item in value) + "]"
        if isinstance(value, str):
            return f'"{value}"'
        return "nan" if value is None else str(value).lower()

    text = GOOD.replace('points = "sum"\n', "") + "".join(f"{key} = {toml(value)}\n" for key, value in category.items())
    rules = read_or_refusal(text)
    if isinstance(rules, Rules):
        assert all(category.score(roll) >= 0 for category in rules.categories for roll in ROLLS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bridge", "no such rule set or file; rule sets are yahtzee, "),
        ("none.toml", "none.toml: cannot be read: No such file"),
        ("./yahtzee", "./yahtzee: cannot be read: No such file"),
    ],
)
def test_unknown_rules(name: str, expected: str) -> None:
    """An unknown name lists the known ones; a missing file is said to be missing."""
    with pytest.raises(FileError, match=expected):
        load_rules(name)


def test_byte_order_mark(tmp_path: Path) -> None:
    """A file that starts with a byte order mark is read like any other."""
    file = tmp_path / "x.toml"
    file.write_text(GOOD, encoding="utf-8-sig")
    assert load_rules(str(file)) == parse_rules(GOOD, source="x")


def test_file_that_never_ends() -> None:
    """A file is read only as far as a rule file can be long."""
    with pytest.raises(FileError, match="is too long"):
        load_rules("/dev/zero")


def test_file_that_is_no_text(tmp_path: Path) -> None:
    """A binary file and a directory are refused like any other bad file."""
    file = tmp_path / "x.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="is not UTF-8 text"):
        load_rules(str(file))
    (tmp_path / "d.toml").mkdir()
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        load_rules(str(tmp_path / "d.toml"))
