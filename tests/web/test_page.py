"""The page in a real browser: whole games, reviews, practice, links, and what it must never do."""

from pathlib import Path
from urllib.parse import urlencode

import browser as a_browser
import pytest
from axe_playwright_python.sync_playwright import Axe
from opened import DESK, PHONE, Opened, refused, say
from playwright.sync_api import expect
from small_games import SMALL

from yahtzee_cluster.game.rule_files import load_rules, template
from yahtzee_cluster.objectives.goals import MEAN
from yahtzee_cluster.play.advice import Adviser
from yahtzee_cluster.play.record import parse_record
from yahtzee_cluster.play.review import review
from yahtzee_cluster.web.server import PAGE

pytestmark = pytest.mark.skipif(a_browser.chromium() is None, reason="no Chromium here; `make browser` fetches it")

MOST_BYTES = 150_000
VIEWS = "play", "review", "practise", "explore", "compare"
GAME = """22256 keep 5, 12456 keep all, 12456 chance
11356 keep 11, 11146 keep 111, 11116 aces
33345 keep 333, 33346 keep 333, 33356 yahtzee
"""


def test_a_whole_game_by_keyboard(opened: Opened) -> None:
    """Thirteen turns with keys alone, to the scorecard, and to a review whose figures add up."""
    page = opened()
    expect(page.locator("#status")).to_have_text("Turn 1 of 13, roll the dice")
    boxes = [category.name for category in load_rules("yahtzee").categories]
    for turn, box in enumerate(boxes, 1):
        say(page, "11356" if turn == 1 else "r")
        expect(page.locator("#status")).to_have_text(f"Turn {turn} of 13, 2 rolls left")
        page.locator("#command").evaluate("field => field.blur()")
        page.keyboard.press("1")
        expect(page.locator("#die-0")).to_have_attribute("aria-pressed", "true")
        page.keyboard.press("r")
        expect(page.locator("#status")).to_have_text(f"Turn {turn} of 13, 1 roll left")
        say(page, box)
    expect(page.locator("#status")).to_have_text("The game is over.")
    page.get_by_role("link", name="Review this game").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#figure-result")).to_be_visible()
    figures = {}
    for name in ("start", "luck", "loss", "result"):
        figures[name] = float(page.locator(f"#figure-{name}").inner_text().replace("−", "-"))
    assert figures["start"] == 254.59
    assert figures["start"] + figures["luck"] + figures["loss"] == pytest.approx(figures["result"], abs=0.02)


def test_a_whole_game_on_a_phone(opened: Opened) -> None:
    """Thirteen turns by touch on a small screen: nothing is wider than it, and every control is there."""
    page = opened(size=PHONE, scheme="dark", touch=True)
    for turn in range(1, 14):
        expect(page.locator("#status")).to_have_text(f"Turn {turn} of 13, roll the dice")
        page.locator("#roll").tap()
        expect(page.locator("#status")).to_have_text(f"Turn {turn} of 13, 2 rolls left")
        page.locator("#die-2").tap()
        page.locator("#roll").tap()
        expect(page.locator("#status")).to_have_text(f"Turn {turn} of 13, 1 roll left")
        page.locator(".open button").last.tap()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.get_by_role("link", name="Review this game")).to_be_visible()
    total = page.locator("tr.total td").inner_text()
    expect(page.locator(".advice h2")).to_have_text(f"{total} points.")


def test_costs_after_a_move(opened: Opened) -> None:
    """A move that is not the best is answered with what it costs, as the program counts, and can be undone."""
    page = opened()
    say(page, "22256")
    say(page, "k 5")
    say(page, "r")
    expect(page.locator("#verdict")).to_have_text("Keep 5 cost 7.77; best was keep 2 2 2.")
    page.locator("#undo").click()
    expect(page.locator("#status")).to_have_text("Turn 1 of 13, 2 rolls left")
    say(page, "k 222")
    say(page, "22")
    expect(page.locator("#verdict")).to_have_text("Keep 2 2 2: that is the best.")
    say(page, "yahtzee")
    expect(page.locator("tr.total td")).to_have_text("50")
    page.locator("#undo").click()
    expect(page.locator("tr.total td")).to_have_text("0")
    page.locator("#redo").click()
    expect(page.locator("tr.total td")).to_have_text("50")


def test_advice_before_a_move(opened: Opened) -> None:
    """The best moves are listed with their costs, shown on the dice, and taken by a click."""
    page = opened()
    page.locator(".settings summary").click()
    page.locator("#play-advice").select_option("before")
    expect(page.locator(".advice .value")).to_contain_text("254.59")
    say(page, "22256")
    expect(page.locator(".advice .value")).to_contain_text("257.71")
    expect(page.locator("#move-1")).to_contain_text("−3.24")
    expect(page.locator(".mark.hint", has_text="keep")).to_have_count(3)
    page.locator("#move-0").click()
    expect(page.locator('.big-die[aria-pressed="true"]')).to_have_count(3)
    say(page, "66")
    page.locator("#play-goal").select_option("reach")
    expect(page.locator(".advice .value")).to_contain_text("The chance to reach 250", timeout=60_000)
    expect(page.locator(".advice .value")).to_contain_text("%")


def test_a_strategy_plays_along(opened: Opened) -> None:
    """Another player takes its turns by itself; the goal becomes to win, and undo goes back to one's own turn."""
    page = opened()
    page.locator(".settings summary").click()
    page.locator("#seat-new").select_option("greedy")
    page.locator("#play-speed").select_option("0")
    say(page, "22256")
    page.locator(".open button").last.click()
    expect(page.locator("#status")).to_have_text("You: turn 2 of 13, roll the dice", timeout=60_000)
    filled = page.locator("tbody tr:not(.sum, .total) td:not(.free, .open)")
    expect(filled).to_have_count(2)
    page.locator("#undo").click()
    expect(page.locator("#status")).to_have_text("You: turn 1 of 13, 2 rolls left")
    expect(filled).to_have_count(0)


def test_two_strategies_are_watched(opened: Opened) -> None:
    """A game of two strategies plays itself to the end, and can be paused."""
    parameters = urlencode({"rules": SMALL["free"], "seats": "expected,chance"})
    page = opened(f"#play?{parameters}")
    page.locator("#pause").click()
    expect(page.locator("#pause")).to_have_text("Go on")
    page.locator(".settings summary").click()
    page.locator("#play-speed").select_option("0")
    page.locator("#pause").click()
    expect(page.locator(".advice h2")).to_contain_text("points.", timeout=60_000)


def test_the_chances_of_all_scores(opened: Opened) -> None:
    """The curve and the map of luck come with figures in words."""
    page = opened()
    for words in ("What the next roll may bring", "The chance of every final score"):
        page.get_by_text(words, exact=True).click()
    expect(page.locator("figcaption", has_text="Lucky with")).to_be_visible()
    expect(page.locator("figcaption", has_text="50 % for 248")).to_be_visible(timeout=90_000)


def test_a_review_of_known_losses(opened: Opened) -> None:
    """A record that is pasted is reviewed as the program reviews it; the costliest decision leads to its position."""
    rules = load_rules("yahtzee")
    with Adviser(rules) as adviser:
        found = review(parse_record(GAME, "game", rules), adviser, MEAN)
    page = opened("#review")
    page.locator("#record").fill(GAME)
    page.locator("#do-review").click()
    for name, value in {"start": found.start, "result": found.result}.items():
        expect(page.locator(f"#figure-{name}")).to_have_text(f"{value:.2f}")
    expect(page.locator("#figure-loss")).to_have_text(f"−{found.loss:.2f}")
    worst = found.costliest[0]
    first = page.locator(".decisions li").first
    expect(first).to_contain_text(f"−{worst.loss:.2f}")
    expect(first).to_contain_text(f"{worst.made.words}; best was {worst.best.words}")
    first.locator("a").click()
    expect(page.locator("#explored-value")).to_be_visible()
    assert "dice=" in page.url


def test_a_link_to_a_position(opened: Opened) -> None:
    """An address holds a whole position, with names of boxes as people shorten them."""
    page = opened("#explore?rules=yahtzee&goal=mean&card=aces%3D3%2Cfh%3D25&dice=22256&left=2")
    expect(page.locator("#explored-value")).to_have_text("247.76")
    expect(page.locator("tr.total td")).to_have_text("28")
    page.locator("#explore-dice").fill("66666")
    page.keyboard.press("Tab")
    expect(page.locator(".moves-table tbody tr").first).to_contain_text("keep all dice")
    page.go_back()
    expect(page.locator("#explored-value")).to_have_text("247.76")
    with refused(page):
        page.locator("#explore-card").fill("aces=6")
        page.keyboard.press("Tab")


def test_a_game_of_ones_own(opened: Opened, tmp_path: Path) -> None:
    """A rule file is read and played; names in it are text, whatever they look like."""
    hostile = '<img src=x onerror="alert(1)">'
    text = template("yacht").replace('name = "chance"', f"name = '{hostile}'")
    assert hostile in text
    file = tmp_path / "own.toml"
    file.write_text(text)
    page = opened()
    page.locator(".settings summary").click()
    page.locator("#play-file").set_input_files(file)
    expect(page.locator("#status")).to_have_text("Turn 1 of 12, roll the dice", timeout=60_000)
    expect(page.locator("table.card th", has_text=hostile)).to_be_visible()
    assert page.locator("table.card img").count() == 0
    page.locator("#roll").click()
    expect(page.locator(".open button")).to_have_count(12)
    file.write_text("name = 1")
    with refused(page):
        page.locator("#play-file").set_input_files(file)


def test_practice(opened: Opened) -> None:
    """A wrong answer is told with its cost and comes again, until it is right; then the position rests."""
    page = opened("#practise")
    page.locator("#practise").click()
    status, verdict = page.locator(".tray .status"), page.locator("#practice-verdict")
    expect(status).to_contain_text("10 to go", timeout=60_000)
    best: dict[str, str] = {}
    wrong = 0
    for _ in range(60):
        place = page.locator(".dice").inner_html() + page.locator("table.card").inner_text()
        page.locator("#answer").fill(best.get(place, "k all"))
        if "Where" in status.inner_text() and place not in best:
            page.locator(".open button").first.click()
        else:
            page.locator("#answer").press("Enter")
        expect(page.locator("#next")).to_be_visible()
        if "It comes again" in verdict.inner_text():
            wrong += 1
            said = verdict.inner_text().partition("best is ")[2].partition(". It comes")[0]
            best[place] = said.partition(" for ")[0].replace("roll all dice again", "k nothing")
            assert " costs " in verdict.inner_text()
        page.locator("#next").click()
        expect(page.locator("#next")).to_be_hidden()
        if not page.locator(".tray").is_visible():
            break
    expect(page.get_by_text("All that were due are done.")).to_be_visible()
    expect(page.get_by_text("10 positions in the deck, 0 due")).to_be_visible()
    assert wrong


def test_strategies_play_each_other(opened: Opened) -> None:
    """Many games are played while a bar shows how far they are; the table has intervals."""
    page = opened("#compare")
    page.locator("#games").fill("20000")
    page.locator("#do-compare").click()
    table = page.locator(".moves-table")
    expect(table.locator("caption")).to_have_text("20,000 games of yahtzee, seed 1; a tie is shared", timeout=90_000)
    share = float(table.locator("tbody tr").first.locator("td").nth(3).inner_text().removesuffix(" %"))
    assert 71 < share < 74
    with refused(page):
        page.locator("#games").fill("many")
        page.locator("#do-compare").click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_everybody_can_use_it(opened: Opened, size: dict[str, int], scheme: str) -> None:
    """An automatic check finds no barrier on any view, and no view is wider than the screen."""
    addresses = [*(f"#{view}" for view in VIEWS), "#explore?card=aces%3D3&dice=22256&left=2"]
    for address in addresses:
        page = opened(address, size=size, scheme=scheme)
        expect(page.locator("#view .panel").first).to_be_visible()
        if address == "#play":
            page.locator(".settings summary").click()
            say(page, "22256")
            page.locator("#show-advice").click()
            expect(page.locator("#move-0")).to_be_visible()
        if address == "#review":
            page.locator("#record").fill(GAME)
            page.locator("#do-review").click()
            expect(page.locator("#figure-loss")).to_be_visible()
        if "?" in address:
            expect(page.locator("#explored-value")).to_be_visible()
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


def test_it_is_small_and_fast(opened: Opened) -> None:
    """Page and scripts are below 150 KB unpacked, and the first paint comes within 0.3 s."""
    assert sum(len(entry.read_bytes()) for entry in PAGE.iterdir()) < MOST_BYTES
    paints = []
    for _ in range(5):
        page = opened()
        expect(page.locator("#roll")).to_be_visible()
        paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    assert min(paints) < 300, paints
