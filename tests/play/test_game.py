"""Games in Python: asked for advice, and played on."""

import gc
import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import numpy as np
import pytest
from launch import compute
from small_games import SMALL, utility

import yahtzee_cluster as yc
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.rule_files import parse_rules
from yahtzee_cluster.play import question
from yahtzee_cluster.play.choices import Move
from yahtzee_cluster.play.from_here import FromHere, Solved
from yahtzee_cluster.play.game import Game, new_game

VALIDATOR = jsonschema.Draft202012Validator(json.loads(Path("docs/reference/answer.schema.json").read_text()))
LATE = "1=3, 2=6, 3=9, 4=12, 5=15, yahtzee=50, bonus=100, 3k=20, ss=30, fh=25"
"""A card of Yahtzee with sixes, four of a kind, large straight and chance free."""


def late() -> Game:
    """A game of Yahtzee near its end."""
    return new_game("yahtzee").with_card(LATE)


def test_a_card_is_said_in_any_form() -> None:
    """Points by name, a mapping, a text and a scorecard make the same game; so does a game in any other state."""
    game = new_game("yahtzee")
    said = game.with_card(aces=3, full_house=25, yahtzee=50, bonus=100)
    assert (said.score, said.card.upper, len(said.free), said.free[0]) == (178, 3, 10, "deuces")
    for card in (
        "aces=3,full-house=25,yahtzee=50,bonus=100",
        {"aces": 3, "full-house": 25, "yahtzee": 50, "bonus": 100},
        said.card,
    ):
        assert game.with_dice("22256").with_card(card) == said
    assert said.start == game.start == game
    assert len({said, game, game.with_card(said.card)}) == 2
    assert (
        said.with_dice("62522") == said.with_dice([2, 6, 2, 5, 2], 2) == said.with_dice(list(np.array([2, 2, 2, 5, 6])))
    )


@pytest.mark.parametrize(
    "goal", [None, "mean", "reach:310", 310, np.int64(310), "quantile:0.5", "win:300+2*310", "power:2"]
)
@pytest.mark.parametrize("dice", [None, ("22266", 2), ("22266", 1), ("22266", 0)])
def test_one_answer_everywhere(goal: str | int | None, dice: tuple[str, int] | None) -> None:
    """A game gives the answer that its adviser gives, as the schema has it, and its value and distribution."""
    game = late() if dice is None else late().with_dice(*dice)
    answer = game.advise(goal)
    VALIDATOR.validate(json.loads(json.dumps(answer.to_dict())))
    with yc.Adviser(game.rules) as adviser:
        card = yc.parse_scorecard(LATE, game.rules)
        roll, left = (tuple(map(int, dice[0])), dice[1]) if dice else (None, None)
        told = adviser.answer(yc.Position.of(card, roll, left), int(goal) if isinstance(goal, np.integer) else goal)
    assert answer.to_dict() == told.to_dict()
    assert game.value(goal) == told.value
    distribution = game.distribution(goal)
    assert distribution.curve[0] == 1
    if goal in ("reach:310", 310):
        assert distribution.curve[310] == pytest.approx(answer.value, rel=1e-12)
    if goal in (None, "mean"):
        assert (distribution.mean, distribution.std) == pytest.approx((answer.mean, answer.std), rel=1e-9)


@pytest.mark.parametrize("name", sorted(SMALL))
def test_values_along_a_game_are_the_judge_s(name: str) -> None:
    """Played for a score with any dice, the value of every position is what the reference finds by trying everything.

    Before a roll, it is the mean of the values after it.
    """
    rules, random = parse_rules(SMALL[name], name), Random(name)
    judge = reference.maxprob(rules)
    game, target = new_game(rules), 15
    while not game.is_over:
        anchor = game.card.anchor
        value = game.value(target)
        assert value == pytest.approx(
            judge(anchor.free, anchor.upper or 0, anchor.chip, target - game.score), rel=1e-11
        )
        game = game.roll(random.randrange(1000))
        while not game.is_to_roll and not game.is_over:
            answer = game.advise(target)
            game = game.play(random.choice(answer.moves[:2]))
            if game.rolls_left < 3:
                (move,) = [one for one in answer.moves if one.move.keep == game.dice]
                if not game.is_to_roll:  # all dice were kept
                    assert game.value(target) == pytest.approx(move.value, rel=1e-11)
                    continue
                weights = {tuple(sorted((*game.dice, *rest))): p for rest, p in thrown(5 - len(game.dice)).items()}
                mean = sum(p * game.with_dice(roll).value(target) for roll, p in weights.items())
                assert mean == pytest.approx(move.value, rel=1e-11)
                game = game.roll(random.randrange(1000))
    assert game.value(target) == (game.score >= target)
    assert game.advise(target).best is None


def thrown(n_dice: int) -> dict[tuple[int, ...], float]:
    """The probability of every multiset of so many dice."""
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(n_dice):
        longer: dict[tuple[int, ...], float] = {}
        for faces, p in found.items():
            for face in range(1, 7):
                key = tuple(sorted((*faces, face)))
                longer[key] = longer.get(key, 0.0) + p / 6
        found = longer
    return found


def whole_game(game: Game, seed: int) -> list[Game]:
    """All moments of a game that is played for the highest mean."""
    moments = [game]
    while not game.is_over:
        game = game.roll(seed) if game.is_to_roll else game.play(game.advise().moves[0])
        moments.append(game)
    return moments


def test_whole_games() -> None:
    """A game is played in a loop, every turn adds the points of its box, and a seed makes the same game again."""
    game = new_game("yacht")
    one = whole_game(game, 5)
    assert one == whole_game(new_game("yacht"), 5)
    ends = [whole_game(game, seed)[-1] for seed in range(20)]
    assert len({end.card for end in ends}) == 20
    assert all(end.is_over and end.free == [] and end.score == sum(end.card.as_dict().values()) for end in ends)
    assert game.score == 0  # a game never changes
    assert 150 < np.mean([end.score for end in ends]) < 190  # 169.8 ± 35.3 / √20
    turns = [moment for moment in one if moment.rolls_left == 3]
    assert [len(moment.free) for moment in turns] == [*range(12, -1, -1)]


def test_dice_of_a_seed() -> None:
    """Dice are uniform over seeds, and those of other rolls, turns and seeds are as independent as others."""
    moments = [late().start, late()]
    for moment in list(moments):
        moments.append(moment.with_dice("11111").play("roll all dice again"))
        moments.append(moment.with_dice("11111", 1).play("roll all dice again"))
    rolls = [[moment.roll(seed).dice for seed in range(400)] for moment in moments]
    for faces in rolls:
        counts = np.bincount(np.ravel(faces), minlength=7)[1:]
        assert ((counts - 2000 / 6) ** 2 / (2000 / 6)).sum() < 20.5  # chi-square with 5 degrees of freedom, p = 0.001
    n_equal = [sum(a == b for a, b in zip(x, y, strict=True)) for i, x in enumerate(rolls) for y in rolls[:i]]
    assert max(n_equal) < 12  # of 400 pairs of independent rolls, 3.2 are equal
    kept = late().with_dice("22256").play("keep 2 2 2")
    assert {kept.roll(seed).dice[:3] for seed in range(20)} - {(1, 1, 2), (1, 2, 2)} == {(2, 2, 2)}
    assert len({late().roll().dice for _ in range(40)}) > 15
    assert late().roll(np.int64(7)).dice == late().roll(7).dice
    assert late().roll(2**63 - 1).dice == late().roll(2**63 - 1).dice


@pytest.mark.parametrize(
    ("said", "dice", "left"),
    [
        ("keep 2 2 2", (2, 2, 2), 2),
        ("  KEEP 222 ", (2, 2, 2), 2),
        ("keep 2,6,2,2", (2, 2, 2, 6), 2),
        ("keep 6", (6,), 2),
        ("keep nothing", (), 2),
        ("roll all dice again", (), 2),
        ("roll all dice", (), 2),
        ("keep all dice", (2, 2, 2, 5, 6), 1),
        ("keep 22256", (2, 2, 2, 5, 6), 1),
    ],
)
def test_keeps_as_people_type_them(said: str, dice: tuple[int, ...], left: int) -> None:
    """A keep has its dice on the table; unless it is all of them, the others are to be rolled."""
    game = late().with_dice("22256").play(said)
    assert (game.dice, game.rolls_left, game.is_to_roll) == (dice, left, len(dice) < 5)


def test_moves_as_advice_has_them() -> None:
    """Every move of an answer is played by itself, by its words and as a move, to the same effect."""
    for left in (0, 2):
        game = late().with_dice("66661", left)
        for one in game.advise().moves:
            after = game.play(one)
            assert after == game.play(one.move) == game.play(one.move.words)
            if left:
                assert after.dice == one.move.keep
            else:
                assert (after.score - game.score, after.is_to_roll, after.rolls_left) == (one.move.points, True, 3)
    assert late().play(late().advise().moves[0]) == late()  # to roll all dice
    early = late().with_dice("66666", 2)
    assert early.play("chance for 130") == early.play("score chance")
    assert early.play("chance") == early.play("keep all dice").play("keep all dice").play("score chance for 130")
    assert late().play("roll all dice", dice="66666").play("sixes", dice="12345").dice == (
        1,
        2,
        3,
        4,
        5,
    )


@pytest.mark.parametrize(
    ("ask", "complaint"),
    [
        (lambda game: game.with_card("aces=6"), "aces: no roll scores 6 there; it can hold 0 to 5"),
        (lambda game: game.with_card("aces=3", deuces=4), "card: expected either one scorecard or points"),
        (lambda game: game.with_card(full_hose=25), "no box 'full_hose'; did you mean full-house?"),
        (lambda game: game.with_card(7), "card: expected points by the names of boxes, found 7"),
        (lambda game: game.with_card(new_game("yacht").card), "card: is one of yacht, and this game is yahtzee"),
        (lambda game: game.with_dice("2225"), "dice: expected 5 faces from 1 to 6, found '2225'"),
        (lambda game: game.with_dice("22256", 3), "rolls left: expected 0 to 2 with dice on the table, found 3"),
        (lambda game: game.with_dice("22256", True), "rolls left: expected 0 to 2"),
        (lambda game: game.with_dice("22256").play("keep 2 2", dice="26666"), "dice: 2 2 were kept, found 2 6 6 6 6"),
        (lambda game: game.with_dice("22256").play("keep 6 6"), "keep: expected some of 2 2 2 5 6, found 6 6"),
        (lambda game: game.with_dice("22256").play("keep 7"), "keep: expected faces from 1 to 6, `all` or `nothing`,"),
        (lambda game: game.with_dice("22256").play("keep"), "6, `all` or `nothing`, found ''"),
        (lambda game: game.with_dice("22256", 0).play("keep 2 2 2"), "keep: no roll is left; say where to score"),
        (lambda game: game.with_dice("22256").play("aces"), "box: aces is used"),
        (lambda game: game.with_dice("22256").play("best"), "box: no box 'best'"),
        (lambda game: game.with_dice("22256").play(None), "move: expected keep 2 2 2, full-house, or a move of"),
        (lambda game: game.play("chance"), "dice: roll them first, with roll() or with_dice()"),
        (lambda game: game.play("keep 2"), "dice: roll them first, with roll() or with_dice()"),
        (lambda game: game.with_dice("22256").roll(), "dice: all five are on the table; say which to keep"),
        (lambda game: game.roll(-1), "seed: expected a whole number from 0 to"),
        (lambda game: game.roll(1.5), "seed: expected a whole number from 0 to"),
        (lambda game: game.with_dice("22256").play("keep 2 2 2").advise(), "dice: roll those that were not kept first"),
        (lambda game: game.with_dice("22256").play("keep nothing").value(310), "dice: roll those that were not kept"),
        (lambda game: game.with_dice("22256").play("keep 6").distribution(), "dice: roll those that were not kept"),
        (lambda game: game.with_dice("22256").play("score chance for 18"), "chance: these dice score 17 there, found"),
        (lambda game: game.with_dice("22256").play(Move("", category="sixes", points=5)), "sixes: these dice score 6"),
        (lambda game: game.advise(250.5), "goal: expected a text such as reach:250, or a score to reach, found 250.5"),
        (lambda game: game.advise(True), "goal: expected reach:N with a whole number"),
        (lambda game: game.advise("beat:1"), "goal: expected win:K*expected"),
        (lambda _: new_game("yahtze"), "yahtze: no such rule set or file; did you mean yahtzee?"),
        (lambda _: new_game(limit_bytes="1GB"), "limit_bytes: expected a number of bytes, found '1GB'"),  # type: ignore[arg-type]
        (lambda _: new_game(table=5), "table: expected a directory, or a table of open_table(), found 5"),  # type: ignore[arg-type]
        (lambda _: new_game(threads=0), "threads: expected 1 to 1024, found 0"),
        (lambda _: new_game(limit_s="30s"), "limit_s: expected a number of seconds, found '30s'"),  # type: ignore[arg-type]
        (lambda _: new_game(limit_s=float("nan")), "limit_s: expected a number of seconds, found nan"),
        (lambda _: new_game(table="nowhere"), "nowhere: holds no table"),
        (lambda game: game.advise("win"), "goal: say against whom: with the cards of the other players"),
        (lambda game: game.against("aces=6"), "aces: no roll scores 6 there"),
        (lambda game: game.against(new_game("yacht").card), "card: is one of yacht, and this game is yahtzee"),
        (lambda game: game.against("").advise(), "one free box less, the rest as many; found 13, and 4 of the player"),
        (lambda _: over().roll(), "no box is free: the game is over"),
        (lambda _: over().with_dice("11111"), "no box is free: the game is over"),
        (lambda _: over().play("chance"), "no box is free: the game is over"),
    ],
)  # fmt: skip
def test_what_cannot_be(ask: Callable[[Game], object], complaint: str) -> None:
    """What no game has, and moves that the rules do not allow, are refused in one sentence that says why."""
    with pytest.raises(yc.UsageError) as refused:
        ask(late())
    assert complaint in str(refused.value)


def test_other_players() -> None:
    """Against others the goal is to win, in every form alike; once a box is filled, nothing is known of them."""
    mine = "1=2, 2=6, 3=9, 4=12, 5=15, 6=18, 4k=0, fh=23, ls=30, bs=0"
    theirs = "1=1, 2=4, 3=9, 4=12, 5=20, 6=18, 4k=0, fh=19, ls=30, yacht=0"
    alone = new_game("yacht").with_card(mine)
    game = alone.against(theirs).with_dice("55516")
    assert game == alone.with_dice("55516").against(game.others[0].card or "") != alone.with_dice("55516")
    answer = game.advise()
    assert answer == game.advise("win") == alone.against(theirs).with_dice("55516").advise(yc.parse_goal("win"))
    told = subprocess.run(
        [
            *(sys.executable, "-m", "yahtzee_cluster", "probe", "--rules", "yacht", "--card", mine, "--other", theirs),
            *("--dice", "55516", "--json"),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert json.loads(told) == json.loads(json.dumps(answer.to_dict()))
    line = {"card": mine, "others": [theirs], "dice": "55516"}
    assert question.answered(line, game.adviser, game.adviser.goal) == answer.to_dict()
    for move in answer.moves:
        assert move.chances
        assert move.chances.win + move.chances.tie + move.chances.loss == pytest.approx(1)
        assert move.value == pytest.approx(move.chances.win + move.chances.tie / 2)
    assert game.value("mean") == alone.with_dice("55516").value("mean") > 100
    assert repr(game).endswith("2 rolls left\nagainst    113 points, 2 boxes free")
    with pytest.raises(yc.UsageError, match="distribution: against other players it depends on their rolls, too"):
        game.distribution()
    assert game.play("keep 5 5").others == game.others
    assert game.play("chance").others == game.start.others == ()
    assert new_game("yacht", limit_s=0).with_card(mine).against(theirs).advise().source == "rule"


def over() -> Game:
    """A game that is over."""
    return new_game("yacht").with_card(dict.fromkeys(new_game("yacht").free, 0) | {"chance": 5})


def test_jokers_are_held_to_the_rules() -> None:
    """A further Yahtzee goes where the rules send it, and pays its bonus."""
    game = new_game("forced-joker").with_card(yahtzee=50).with_dice("33333", 0)
    assert game.play("treys").card.text == "treys=15,yahtzee=50,bonus=100"
    with pytest.raises(yc.UsageError, match="box: chance is not open to this roll while another box has to take it"):
        game.play("chance")


def test_a_box_with_the_name_of_a_move() -> None:
    """A box is found by its exact name, whatever that looks like."""
    text = "name = 'odd'\n" + "".join(
        f"[[category]]\nname = {name!r}\npoints = {at}\n" for at, name in enumerate(["keep 2 2", "score for 7", "roll"])
    )
    game = new_game(parse_rules(text, "odd")).with_dice("22345")
    assert [game.play(name).card.as_dict() for name in ("keep 2 2", "score for 7", "roll")] == [
        {"keep 2 2": 0},
        {"score for 7": 1},
        {"roll": 2},
    ]
    assert game.play("score score for 7 for 1").card.as_dict() == {"score for 7": 1}
    assert game.play("keep 22").dice == (2, 2)


def test_a_table_is_a_short_cut(tmp_path: Path) -> None:
    """With a table, its rules and its goal are the default, and answers are from there."""
    compute(tmp_path, utility(parse_rules(SMALL["free"], "free"), "power:2"), 0b11)
    game = new_game(table=tmp_path)
    alone = new_game(game.rules)
    answer = game.roll(1).advise()
    assert (game.rules.name, str(answer.goal), answer.source) == ("free", "power:2", "table")
    assert answer.value == alone.roll(1).value("power:2")
    with pytest.raises(yc.UsageError, match="holds another game"):
        new_game("yahtzee", table=yc.open_table(tmp_path))


def test_what_is_solved_is_shared_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that comes from one game uses what was solved for any of it; when the last is gone, so are its threads."""
    solved = []
    solve = FromHere._solve  # noqa: SLF001

    def counted(*arguments: Any) -> Solved:
        solved.append(arguments[2:4])
        return solve(*arguments)

    monkeypatch.setattr(FromHere, "_solve", counted)
    before = {*threading.enumerate()}
    game = late()
    values = [game.value(310), game.with_dice("22266").value(310), game.with_dice("22266", 0).play("sixes").value(310)]
    assert len(solved) == 1
    assert values[0] != values[1] != values[2]
    own = {*threading.enumerate()} - before
    assert own
    kept, adviser = game.with_dice("22266").play("keep 6 6"), weakref.ref(game.adviser)
    del game
    assert kept.roll(3).value(310) > 0
    assert len(solved) == 1
    del kept
    gc.collect()
    for thread in own:
        thread.join(10)
    assert not any(thread.is_alive() for thread in own)
    assert adviser() is None


def test_shown() -> None:
    """What is printed is short, aligned, and says all that there is."""
    game = new_game("yahtzee").with_card(aces=3, full_house=25).with_dice("22256")
    assert repr(game) == (
        "yahtzee    28 points, 3 of them in upper boxes\n"
        "card       aces=3,full-house=25\n"
        "dice       2 2 2 5 6, 2 rolls left"
    )
    assert repr(game.play("keep 2 2 2")).endswith("dice       2 2 2 kept, 2 to roll, 2 rolls left")
    assert repr(game.with_dice("22256", 1).play("keep nothing")).endswith("dice       5 to roll, 1 roll left")
    assert repr(game.with_dice("22256", 0)).endswith("dice       2 2 2 5 6, no rolls left")
    assert repr(game.start).splitlines()[1:] == ["card       every box is free", "dice       5 to roll, 3 rolls left"]
    assert repr(over()).splitlines()[::2] == ["yacht      5 points", "dice       the game is over"]
    lines = repr(game.advise()).splitlines()
    assert lines[0] == "goal       the highest expected score"
    assert lines[-6:] == [
        "keep 2 2 2     247.7569",
        "keep 2 2 2 6   244.5714  3.19",
        "keep 2 2 2 5   244.5714  3.19",
        "keep all dice  242.5122  5.24",
        "keep 2 2       241.0031  6.75",
        "and 11 more",
    ]
    assert repr(game.advise().best) == "Advice('keep 2 2 2', value=247.757, cost=0)"
    assert repr(game.distribution())[:18] == "mean       247.756"


def test_as_data() -> None:
    """Data frames and labelled arrays have the figures of the JSON, for keeps, boxes, a roll and the end of a game."""
    last = late().with_dice("66661", 0)
    for game in (late(), late().with_dice("66661"), last, over()):
        answer = game.adviser.answer(game.position, "reach:310", with_distribution=True)
        told = answer.to_dict()
        frame, arrays = answer.to_pandas(), answer.to_xarray()
        assert len(frame) == arrays.sizes["move"] == len(told["moves"])
        for at, move in enumerate(told["moves"]):
            row = frame.iloc[at].to_dict()
            assert {key for key, value in row.items() if value is not None} == {*move}
            assert {key: row[key] for key in ("words", "value", "cost")} == {
                key: move[key] for key in ("words", "value", "cost")
            }
            assert move.get("keep") == row.get("keep")
            assert move.get("points") == row.get("points")
            for key in ("value", "cost", "mean", "std"):
                found = arrays[key].isel(move=at).item()
                assert found == move[key] or (move[key] is None and np.isnan(found))
            assert arrays.move[at].item() == move["words"]
        curve = told["distribution"]["at_least"]
        assert arrays["at_least"].dims == ("score",)
        assert arrays["at_least"].sel(score=slice(0, None)).values.tolist() == curve
        assert answer.distribution is not None
        assert answer.distribution.to_pandas().tolist() == curve
    assert "at_least" not in late().advise().to_xarray()
    assert last.advise().to_pandas().dtypes["points"] == np.int64


@pytest.mark.parametrize("package", ["pandas", "xarray"])
@pytest.mark.parametrize("result", ["advise", "distribution"])
def test_without_the_extra(result: str, package: str, tmp_path: Path) -> None:
    """Nothing loads pandas or xarray before it is asked for; where they are missing, one line says how to get them."""
    (tmp_path / f"{package}.py").write_text("raise ImportError\n")
    program = f"import sys, yahtzee_cluster as yc; found = yc.new_game('yacht').with_dice('11223').{result}()\n"
    program += f"assert not {{'pandas', 'xarray'}} & {{*sys.modules}}\nfound.to_{package}()"
    tried = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    needed = f'UsageError: to_{package}: needs {package}; install it with pip install "yahtzee_cluster[data]"'
    assert tried.stderr.splitlines()[-1].endswith(needed)


def test_completion() -> None:
    """What a shell or an editor completes is there: every public name, and every method."""
    known: dict[str, Any] = {name: getattr(yc, name) for name in ("new_game", "Game", "Answer", "parse_goal")}
    assert {*known} <= {*dir(yc)}
    assert {"advise", "value", "distribution", "play", "roll", "with_card", "with_dice"} <= {*dir(known["Game"])}
