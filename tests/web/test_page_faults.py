"""What might go wrong on the page: late answers, damaged storage, other tabs, odd names, hasty fingers."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import browser as a_browser
import pytest
from opened import Opened, say
from playwright.sync_api import Error, Page, Route, expect

from yahtzee_cluster.game.rule_files import template

pytestmark = pytest.mark.skipif(a_browser.chromium() is None, reason="no Chromium here; `make browser` fetches it")


def held_back(page: Page, kind: str) -> Callable[[], None]:
    """Hold back the answers to one kind of question, until the function is called that this returns."""
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    page.route(f"**/api/{kind}", hold)

    def let_go() -> None:
        for route in waiting:
            with suppress(Error):  # given up meanwhile
                route.continue_()
        page.unroute(f"**/api/{kind}")

    return let_go


def test_a_game_that_was_won_already(opened: Opened) -> None:
    """A review whose values differ by rounding alone has a flat graph; the goal of the record is taken."""
    page = opened("#review")
    card = "3k=0, fours=4, fh=0, ls=0, treys=0, ss=0, deuces=4, 4k=0"
    page.locator("#record").fill(f"goal: reach:24\ncard: {card}\n66666 sixes\n")
    page.locator("#do-review").click()
    expect(page.locator("#figure-loss")).to_have_text("0 %")
    expect(page.locator("#figure-result")).to_have_text("100 %")
    expect(page.locator("svg.drawing")).to_be_visible()


def test_a_record_that_begins_later(opened: Opened) -> None:
    """Turns are numbered as in the game, and every loss stands in its own turn."""
    page = opened("#review")
    page.locator("#record").fill("card: aces=3, sixes=18\n22225 keep 2222, 22225 keep 22, 22223 deuces\n")
    page.locator("#do-review").click()
    expect(page.locator("#turn-3")).to_contain_text("deuces")
    expect(page.locator("#turn-3 .cost").first).to_contain_text("−")
    assert page.locator("rect.bad").evaluate_all("bars => bars.some(bar => bar.getAttribute('height') > 1)")


def test_a_record_of_another_game(opened: Opened) -> None:
    """The game that a record names is chosen, and links lead to positions of that game."""
    page = opened("#review")
    page.locator("#record").fill("rules: kniffel\n22225 keep 25, 22225 keep 22, 22223 chance\n")
    page.locator("#do-review").click()
    expect(page.locator("#figure-start")).to_have_text("245.90")
    expect(page.locator("#review-rules")).to_have_value("kniffel")
    assert "rules=kniffel" in str(page.locator(".decisions a").first.get_attribute("href"))


def test_another_game_while_positions_are_drawn(opened: Opened) -> None:
    """Positions that come late go into no deck of another game."""
    page = opened("#practise")
    let_go = held_back(page, "exercises")
    page.locator("#practise").click()
    page.locator("#practise-rules").select_option("yatzy")
    let_go()
    expect(page.get_by_text("The deck is empty")).to_be_visible()
    page.wait_for_timeout(1500)
    stored = page.evaluate("Object.keys(localStorage).filter(key => key.startsWith('coach.deck'))")
    assert stored == []


def test_two_clicks_are_one_answer(opened: Opened) -> None:
    """A double click answers one position of a test, not two."""
    page = opened("#practise")
    page.locator("#test").click()
    status = page.locator(".tray .status")
    for number in range(1, 4):
        expect(status).to_contain_text(f"Position {number} of 50", timeout=60_000)
        button = page.locator("#give") if page.locator("#give").count() else page.locator(".open button").first
        button.dblclick()
        expect(status).to_contain_text(f"Position {number + 1} of 50")


def test_a_verdict_that_comes_late(opened: Opened) -> None:
    """What a move cost is told by the goal for which it was made, and not at all once it was taken back."""
    page = opened()
    say(page, "22256")
    expect(page.locator("#show-advice")).to_be_visible()
    let_go = held_back(page, "advise")
    say(page, "ls")
    expect(page.locator("#status")).to_have_text("Turn 2 of 13, roll the dice")
    page.locator("#undo").click()
    let_go()
    page.wait_for_timeout(800)
    expect(page.locator("#verdict")).to_be_empty()


def test_undo_keeps_the_goal(opened: Opened) -> None:
    """To take back a move does not take back the choice of a goal; a new game can be taken back, too."""
    page = opened()
    say(page, "22256")
    page.locator(".settings summary").click()
    page.locator("#play-goal").select_option("power")
    page.locator("#undo").click()
    expect(page.locator("#play-goal")).to_have_value("power")
    say(page, "66666")
    page.locator("#play-rules").select_option("yatzy")
    expect(page.locator("#status")).to_have_text("Turn 1 of 15, roll the dice")
    page.locator("#undo").click()
    expect(page.locator("#status")).to_have_text("Turn 1 of 13, 2 rolls left")


def test_two_tabs(opened: Opened) -> None:
    """A review is that of the game whose link was followed, whatever another tab has played since."""
    page = opened()
    page.locator(".settings summary").click()
    page.locator("#play-rules").select_option("yacht")
    page.evaluate("localStorage.removeItem('coach.games')")
    for box in ["aces", "deuces", "treys", "fours", "fives", "sixes", "4k", "fh", "ls", "bs", "yacht", "chance"]:
        say(page, "11111")
        say(page, box)
    link = page.get_by_role("link", name="Review this game")
    expect(link).to_be_visible()
    other = page.context.new_page()
    other.goto(page.url)
    other.locator("#again").click()
    expect(other.locator("#status")).to_have_text("Turn 1 of 12, roll the dice")
    say(other, "66666")
    expect(other.locator("#status")).to_have_text("Turn 1 of 12, 2 rolls left")
    link.click()
    expect(page.locator("#turn-12")).to_contain_text("chance")


@pytest.mark.parametrize("kind", ["preferences", "games", "practice", "match", "deck yahtzee mean"])
@pytest.mark.parametrize(
    "text", ["5", "[]", "[null]", "{}", '"x"', "{not json", '{"advice": "no"}', '[{"exercise": {}}]']
)
def test_damaged_storage(opened: Opened, kind: str, text: str) -> None:
    """Whatever is stored in the browser, every view appears and a game can be begun."""
    page = opened("#compare")
    page.evaluate("([name, text]) => localStorage.setItem(name, text)", [f"coach.{kind}", text])
    for view, there in {"play": "#roll", "review": "#record", "practise": "#practise"}.items():
        page.goto(f"{page.url.partition('#')[0]}#{view}")
        page.reload()
        expect(page.locator(there)).to_be_visible()
        expect(page.locator("#problem")).to_be_hidden()
    page.goto(f"{page.url.partition('#')[0]}#play")
    say(page, "r")
    expect(page.locator("#status")).to_have_text("Turn 1 of 13, 2 rolls left")


@pytest.mark.parametrize("card", [[None], [{"aces": 99}], [{}, {}]])
def test_a_damaged_match(opened: Opened, card: list[object]) -> None:
    """A stored match with an impossible scorecard does not keep anybody from a new game."""
    page = opened()
    expect(page.locator("#roll")).to_be_visible()
    match = json.loads(page.evaluate("localStorage.getItem('coach.match')"))
    page.evaluate("text => localStorage.setItem('coach.match', text)", json.dumps(match | {"cards": card}))
    page.reload()
    page.locator(".settings summary").click()
    page.locator("#new").click()
    say(page, "r")
    expect(page.locator("#status")).to_have_text("Turn 1 of 13, 2 rolls left")


@pytest.mark.parametrize("query", ["seats=me", "rules=nonsense&seats=me", "seats=,,", "rules=yacht&seats=nobody"])
def test_odd_links(opened: Opened, query: str) -> None:
    """A link with a wrong game or players leads to some match, with the reason where it is refused."""
    page = opened(f"#play?{query}")
    expect(page.locator("#roll")).to_be_visible()
    expect(page.locator("#problem")).to_be_visible(visible="nonsense" in query)


def test_a_link_does_not_end_a_game(opened: Opened) -> None:
    """Somebody else's link asks before it replaces a match that has begun."""
    page = opened()
    say(page, "66666")
    say(page, "yahtzee")
    expect(page.locator("#status")).to_have_text("Turn 2 of 13, roll the dice")
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.evaluate("location.hash = '#play?seats=best,best'")
    expect(page.locator("tr.total td")).to_have_text("50")
    expect(page.locator("#status")).to_have_text("Turn 2 of 13, roll the dice")


@pytest.mark.parametrize("name", ["__proto__", "двойки", "{x", "a=b,c"])
def test_odd_names_in_links(opened: Opened, tmp_path: Path, name: str) -> None:
    """A link to a position holds its scorecard, whatever the boxes are called."""
    file = tmp_path / "own.toml"
    file.write_text(template("yacht").replace('name = "aces"', f"name = '{name}'"))
    page = opened()
    page.locator(".settings summary").click()
    page.locator("#play-file").set_input_files(file)
    page.locator("#play-advice").select_option("before")
    say(page, "11122")
    page.locator(".open button").first.click()
    say(page, "66665")
    expect(page.locator("#move-0 .words")).to_contain_text("6 6 6", timeout=60_000)
    there = page.locator(".advice .value strong").inner_text()
    page.get_by_role("link", name="Explore this position").click()
    expect(page.locator("#explored-value")).to_have_text(there, timeout=60_000)


def test_a_game_with_a_name_that_is_taken(opened: Opened, tmp_path: Path) -> None:
    """A game of one's own that is called like a built-in one is not offered that game's strategies."""
    file = tmp_path / "own.toml"
    file.write_text('name = "yahtzee"\n[[category]]\nname = "only"\npoints = "sum"\n')
    page = opened()
    page.locator(".settings summary").click()
    before = page.locator("#seat-new option").count()
    page.locator("#play-file").set_input_files(file)
    expect(page.locator("#status")).to_have_text("Turn 1 of 1, roll the dice")
    assert before > 10
    assert page.locator("#seat-new option").count() == 5


def test_words_and_keys(opened: Opened) -> None:
    """What is typed means what the list of keys says, and what cannot be done is answered."""
    page = opened()
    say(page, "22256")
    say(page, "yahtzee")
    expect(page.locator("#status")).to_have_text("Turn 2 of 13, roll the dice")
    page.locator("#undo").click()
    say(page, "y")
    expect(page.locator("#status")).to_have_text("Turn 2 of 13, roll the dice")
    say(page, "zzz")
    expect(page.locator("#problem")).to_contain_text("Not understood: zzz")
    page.locator("#command").fill("")
    for dice in ("22256", "22256", "22256"):
        say(page, dice)
    expect(page.locator("#problem")).to_be_hidden()
    say(page, "22256")
    expect(page.locator("#problem")).to_have_text("No roll is left: choose a box.")
    page.locator(".open button").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_have_text("Turn 3 of 13, roll the dice")
    expect(page.locator("#roll")).to_be_focused()


@pytest.mark.parametrize("left", ["abc", "", "3"])
def test_rolls_left_that_are_none(opened: Opened, left: str) -> None:
    """A position with no such number of rolls is refused, not answered as another one."""
    page = opened(f"#explore?dice=22256&left={left}")
    expect(page.locator("#problem")).to_contain_text("Rolls left: expected 0, 1 or 2")


def test_nobody_waits_for_the_answer(opened: Opened) -> None:
    """A question is given up when its view is left or another one is asked, so that the next need not wait."""
    page = opened("#explore?goal=win%3Aexpected&dice=22256&left=2")
    expect(page.locator("progress")).to_be_visible()
    with page.expect_event("requestfailed", lambda asked: "/api/advise" in asked.url):
        page.locator("nav >> text=Review").click()
    page.locator("#record").fill("22256 keep 222, 22235 keep 222, 22266 full-house")
    page.locator("#do-review").click()
    expect(page.locator("#figure-loss")).to_be_visible(timeout=20_000)


def test_the_same_question_again(opened: Opened) -> None:
    """A question that was given up and is asked again at once is answered."""
    page = opened()
    page.locator(".settings summary").click()
    page.locator("#play-advice").select_option("before")
    page.locator("#play-goal").select_option("reach")
    expect(page.locator("progress")).to_be_visible()
    page.evaluate(
        """for (const goal of ["mean", "reach"]) {
            const field = document.getElementById("play-goal");
            field.value = goal;
            field.dispatchEvent(new Event("change"));
        }"""
    )
    expect(page.locator(".advice .value")).to_contain_text("The chance to reach 250", timeout=60_000)


def test_an_advice_that_was_given_up(opened: Opened) -> None:
    """To leave while advice, luck or a hint is being worked out is no error."""
    page = opened("#play")
    page.locator(".settings summary").click()
    page.locator("#play-goal").select_option("win:expected")
    say(page, "22256")
    page.get_by_text("What the next roll may bring", exact=True).click()
    page.locator("#show-advice").click()
    page.locator("h1").first.evaluate("element => document.activeElement.blur()")
    page.keyboard.press("h")
    page.locator("nav >> text=Review").click()
    expect(page.locator("#record")).to_be_visible()
    page.wait_for_timeout(500)


def test_bonuses_on_the_page(opened: Opened) -> None:
    """A further Yahtzee brings its bonus, as a joker too, and the review has the same total."""
    page = opened()
    for box, total in (("yahtzee", "50"), ("sixes", "180"), ("large-straight", "320")):
        say(page, "66666")
        say(page, box)
        expect(page.locator("tr.total td")).to_have_text(total)
    record = page.evaluate("JSON.parse(localStorage.getItem('coach.match')).cards[0]")
    assert record == {"yahtzee": 50, "sixes": 30, "large-straight": 40, "bonus": 200}
