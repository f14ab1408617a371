"""What the server answers: the same as the program does, and what was published."""

import json
from collections import Counter
from random import Random
from typing import Any

import pytest
from small_games import SMALL
from web import LINES, Site

from yahtzee_cluster.game.dice import FACES, N_DICE
from yahtzee_cluster.game.rule_files import load_rules, parse_rules, preset_names, template
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.game.scorecard import Scorecard, parse_scorecard
from yahtzee_cluster.objectives.goals import MEAN, parse_goal
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.duel import simulated_duel
from yahtzee_cluster.play.position import Position
from yahtzee_cluster.play.question import answered
from yahtzee_cluster.play.record import parse_record
from yahtzee_cluster.play.review import review
from yahtzee_cluster.play.strategies import parse_strategy
from yahtzee_cluster.play.strategy_files import load_strategy, strategy_names

CARD = "aces=3,deuces=6,treys=9,fours=12,fives=15,3k=20,4k=20,chance=20,yahtzee=0"
"""Four boxes of Yahtzee are free: sixes, full house and both straights."""
GAME = "22256 keep 222, 22235 keep 222, 22266 full-house\n12345 large-straight\n"
SIXTEEN = 'name = "sixteen"\n' + "".join(f'[[category]]\nname = "box {n}"\nface = {n % 6 + 1}\n' for n in range(16))


def as_json(found: dict[str, Any]) -> dict[str, Any]:
    """As it arrives, without the version."""
    arrived: dict[str, Any] = json.loads(json.dumps(found))
    arrived.pop("version", None)
    return arrived


def some_cards(rules: Rules, random: Random) -> list[Scorecard]:
    """The scorecards of a random game, from the empty to the full one."""
    cards = [parse_scorecard("", rules)]
    while cards[-1].anchor.free:
        roll = tuple(sorted(random.choices(FACES, k=N_DICE)))
        plays = rules.plays(cards[-1].anchor.free, cards[-1].anchor.chip, roll)
        cards.append(cards[-1].play(random.choice(plays).category, roll))
    return cards


# ---------------------------------------------------------------------------------------------- advice for the mean


def test_published_numbers(site: Site) -> None:
    """The game is worth 254.5896 points, after 22256 it is 257.7066, and yacht 169.8."""
    assert site.answer("advise")["value"] == pytest.approx(254.5896, abs=5e-5)
    best = site.answer("advise", dice="22256")["moves"][0]
    assert (best["words"], round(best["value"], 4)) == ("keep 2 2 2", 257.7066)
    assert site.answer("advise", rules="yacht")["value"] == pytest.approx(169.8, abs=0.05)


@pytest.mark.parametrize("name", preset_names())
def test_advice_is_that_of_the_program(site: Site, name: str) -> None:
    """In every built-in game, for scorecards from the first turn to the last, all moves have the program's values."""
    rules, random = load_rules(name), Random(name)
    with Adviser(rules) as adviser:
        for card in some_cards(rules, random):
            question: dict[str, Any] = {"card": card.as_dict()}
            if card.anchor.free:
                question |= {"dice": random.choices(FACES, k=N_DICE), "rolls_left": random.randrange(3)}
            expected = answered(question, adviser, MEAN)
            assert site.answer("advise", rules=name, **question) == as_json(expected)


def test_a_state_without_a_card(site: Site) -> None:
    """A position may be given by what the rest of the game depends on, and gets the same moves."""
    card = parse_scorecard("sixes=30,fh=25,yahtzee=50,bonus=100", load_rules("yahtzee"))
    by_card = site.answer("advise", card=card.text, dice="22256")
    used = ["sixes", "full-house", "yahtzee"]
    by_state = site.answer("advise", used=used, upper=30, chip=True, score=205, dice=[2, 2, 2, 5, 6])
    assert by_state == by_card | {"card": None}


# ------------------------------------------------------------------------------------------------- all other advice


@pytest.mark.parametrize(
    "question",
    [
        {"card": CARD, "dice": "66625", "goal": "reach:230"},
        {"card": CARD, "dice": "66625", "rolls_left": 0, "goal": "win:200"},
        {"card": CARD, "dice": "66625", "goal": "reach:230", "distribution": True},
        {"card": CARD, "goal": "quantile:0.5"},
        {"card": CARD, "dice": "66625", "goal": "power:2"},
        {"card": CARD, "dice": "66625", "goal": "win", "others": [CARD]},
        {"card": CARD, "goal": "win", "others": [CARD, CARD]},
        {"card": CARD, "dice": "66625", "goal": "mean", "distribution": True},
    ],
)  # fmt: skip
def test_any_goal(site: Site, question: dict[str, Any]) -> None:
    """For any goal, with other players and with the distribution, a worker gives the program's answer."""
    with Adviser(load_rules("yahtzee")) as adviser:
        assert site.answer("advise", **question) == as_json(answered(question, adviser, MEAN))


def test_a_strategy_beside_the_best_move(site: Site) -> None:
    """A strategy that comes with the program says what it would do, and that is priced."""
    said = site.answer("advise", dice="13456", strategy="greedy")["strategy"]
    assert said["name"] == load_strategy("greedy").title
    moves = site.answer("advise", dice="13456")["moves"]
    assert said["cost"] == next(move["cost"] for move in moves if move["words"] == said["words"])


@pytest.mark.parametrize("name", sorted(SMALL))
def test_rules_of_ones_own(site: Site, name: str) -> None:
    """A rule file as text is a game like any other."""
    text = SMALL[name]
    rules = parse_rules(text, "rules")
    with Adviser(rules) as adviser:
        assert site.answer("advise", rules=text, dice="22256") == as_json(answered({"dice": "22256"}, adviser, MEAN))
    named = [category.name for category in rules.categories]
    assert [box["name"] for box in site.answer("rules", rules=text)["boxes"]] == named
    assert [row["name"] for row in site.answer("card", rules=text)["rows"]] == named


def test_sixteen_boxes(site: Site) -> None:
    """The largest game that rule files allow has a card and advice."""
    assert len(site.answer("card", rules=SIXTEEN, dice="22256")["rows"]) == 16
    with Adviser(parse_rules(SIXTEEN, "rules")) as adviser:
        best = answered({"dice": "22256"}, adviser, MEAN)["value"]
    assert site.answer("advise", rules=SIXTEEN, dice="22256")["value"] == best


def test_a_changed_game_is_not_the_built_in_one(site: Site) -> None:
    """Rules of one's own that are called like a built-in game keep their own values, also in its records."""
    text = template("yacht").replace("points = 50", "points = 60")
    with Adviser(parse_rules(text, "rules")) as adviser:
        best = answered({}, adviser, MEAN)["value"]
    assert site.answer("advise", rules=text)["value"] == best > site.answer("advise", rules="yacht")["value"] + 1
    assert site.answer("review", rules=text, record="rules: yacht\n\n22256 chance\n")["start"] == best
    assert site.answer("advise", rules="yacht")["value"] < best - 1


# --------------------------------------------------------------------------------------------------- everything else


def test_facts(site: Site) -> None:
    """The facts list every game and every strategy that come with the program, and that games are kept."""
    facts = site.request("/api/facts").json
    assert [game["name"] for game in facts["rules"]] == preset_names()
    assert [box["name"] for box in facts["rules"][0]["boxes"]][-1] == "chance"
    assert facts["rules"][0]["mean"] == pytest.approx(254.5896, abs=5e-5)
    assert {one["name"] for one in facts["strategies"]} == {
        "expected", "chance", *(load_strategy(name).title for name in strategy_names()),
    }  # fmt: skip
    assert facts["saves"] is True


def test_a_card(site: Site) -> None:
    """A scorecard has its subtotals, and what the dice would bring in each box that is open to them."""
    found = site.answer("card", card="sixes=30,fives=25,fours=16,yahtzee=50,bonus=100", dice="22222")
    rows = {row["name"]: row for row in found["rows"]}
    assert (found["total"], found["upper"], found["upper_bonus_paid"], found["extra"]) == (256, 71, 35, 100)
    assert rows["deuces"]["would"] == {"points": 10, "extra": 100, "upper_bonus": 0}
    assert rows["sixes"]["would"] is None
    assert site.answer("card")["total"] == 0


def test_next_rolls(site: Site) -> None:
    """All rolls after a keep: their chances add up to 1, and the mean of their values is that of the keep."""
    for goal in ("mean", "reach:230"):
        found = site.answer("next-rolls", card=CARD, dice="66625", keep="6 6 6", goal=goal)
        assert len(found["rolls"]) == 21
        assert sum(roll["chance"] for roll in found["rolls"]) == pytest.approx(1, abs=1e-12)
        moves = site.answer("advise", card=CARD, dice="66625", goal=goal)["moves"]
        kept = next(move["value"] for move in moves if move["words"] == "keep 6 6 6")
        assert found["value"] == pytest.approx(kept, rel=1e-12)
        assert all(Counter(roll["dice"])[6] >= 3 for roll in found["rolls"])
    first = site.answer("next-rolls", card=CARD)
    assert len(first["rolls"]) == 252
    assert first["value"] == pytest.approx(site.answer("advise", card=CARD)["value"], rel=1e-12)


def test_review(site: Site) -> None:
    """A game is reviewed as the program does it, given as a text or as an object; its text can be read back."""
    record = parse_record(GAME)
    with Adviser(record.rules) as adviser:
        expected = as_json(review(record, adviser, MEAN).to_dict())
        begun = parse_record(f"card: {CARD}\ngoal: reach:230\n\n66625 keep 666, 66661 sixes\n")
        for_goal = as_json(review(begun, adviser, parse_goal("reach:230")).to_dict())
    found = site.answer("review", record=GAME)
    assert expected.items() <= found.items()
    assert parse_record(found["text"]) == record
    assert site.answer("review", record=found["record"]) == found
    assert site.answer("record", record=GAME) == {"text": found["text"], "record": found["record"]}
    assert for_goal.items() <= site.answer("review", record=begun.text).items()


def test_duel(site: Site) -> None:
    """A duel with dice is that of the program with the same seed."""
    found = site.answer("duel", strategies=["greedy", "expected"], games=2000, seed=7)
    expected = simulated_duel([parse_strategy("greedy"), parse_strategy("expected")], 2000, 7, load_rules("yahtzee"))
    assert [player["mean"] for player in found["players"]] == [one.mean for one in expected]
    assert [player["interval"] for player in found["players"]] == [[*one.interval] for one in expected]
    assert (found["games"], found["seed"]) == (2000, 7)


def test_progress(site: Site) -> None:
    """Asked for lines, a long question tells of its progress, and its answer comes last; so does a refusal."""
    question = {"strategies": ["chance", "expected"], "games": 20_000, "session": "progress"}
    said = site.ask("duel", question, accept=LINES)
    assert said.headers["content-type"].startswith(LINES)
    *progress, answer = [json.loads(line) for line in said.body.splitlines()]
    assert len(progress) > 3
    shares = [one["progress"]["share"] for one in progress]
    assert (min(shares) >= 0, max(shares) <= 1, len(set(shares)) > 3) == (True, True, True)
    assert answer == site.ask("duel", question).json
    (refusal,) = site.ask("advise", {"goal": "reach:many"}, accept=LINES).body.splitlines()
    assert "goal: expected reach:N" in json.loads(refusal)["error"]
    assert site.ask("advise", {}, accept=LINES).json["value"] > 254


def test_a_session_keeps_what_was_solved(site: Site) -> None:
    """What was solved for a session serves its next question, which then has no progress to tell of."""
    question = {"goal": "reach:260", "card": "aces=3,deuces=6,treys=9,fours=12", "session": "mine"}
    first = site.ask("advise", question, accept=LINES).body.splitlines()
    second = site.ask("advise", question | {"dice": "22256"}, accept=LINES).body.splitlines()
    assert len(first) > len(second)
    with Adviser(load_rules("yahtzee")) as adviser:
        card = parse_scorecard(str(question["card"]), adviser.rules)
        expected = adviser.answer(Position.of(card, (2, 2, 2, 5, 6)), "reach:260")
    assert json.loads(second[-1])["value"] == expected.value
