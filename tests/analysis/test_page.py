"""The page of a report in a real browser: its script answers, and nothing is wider than the screen."""

import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from in_process import command
from launch import computed

from yahtzee_cluster.analysis.forward import play_for_mean
from yahtzee_cluster.tables.table import Table

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for name in BROWSERS if (path := shutil.which(name))), None)
pytestmark = [
    pytest.mark.program,
    pytest.mark.skipif(BROWSER is None, reason=f"needs a browser: {', '.join(BROWSERS)}"),
]
PHONE, DESK = 390, 1400
HARNESS = """
<body style="margin:0"><iframe src="index.html" style="width:{width}px;height:800px;border:0"></iframe>
<pre id="seen"></pre>
<script>
addEventListener("load", () => {{
  const page = document.querySelector("iframe").contentDocument;
  const find = (selector) => page.querySelector(selector);
  const [field, slider] = page.querySelectorAll(".score input");
  const put = (input, value) => {{ input.value = value; input.dispatchEvent(new Event("input")); }};
  const plot = [...page.querySelectorAll('[data-figure="curves"]')].find((one) => one.clientWidth);
  const point = (kind, score) => {{
    const {{ left, right, last }} = plot.dataset, box = plot.getBoundingClientRect();
    const x = box.left + box.width * (Number(left) + (right - left) * score / last);
    plot.dispatchEvent(new PointerEvent(kind, {{ clientX: x, clientY: box.top + box.height / 2, bubbles: true }}));
  }};
  const answer = () => find(".score output").textContent;
  const tip = () => plot.querySelector(".tip").hidden ? null : plot.querySelector(".tip").textContent;
  const line = () => plot.querySelector(".cursor").hidden ? null : parseFloat(plot.querySelector(".cursor").style.left);
  const seen = {{}};
  {steps}
  document.getElementById("seen").textContent = JSON.stringify(seen);
}});
</script></body>
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return computed("yacht", tmp_path_factory.mktemp("page") / "table", "scores", 300)


@pytest.fixture(scope="module")
def report(table: Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    assert command("report", "--store", table.path, "--for", 200, "--out", out).returncode == 0
    return out


def seen(report: Path, steps: str, width: int = DESK) -> dict[str, Any]:
    """What some steps note of the page, which the browser shows in a frame of such a width."""
    assert BROWSER
    (report / "harness.html").write_text(HARNESS.format(width=width, steps=steps), encoding="utf-8")
    flags = ["--headless", "--disable-gpu", "--no-sandbox", "--disable-dev-shm-usage", "--allow-file-access-from-files"]
    flags += [f"--user-data-dir={report / 'profile'}", "--virtual-time-budget=5000", "--window-size=1500,900"]
    line = [BROWSER, *flags, "--dump-dom", (report / "harness.html").as_uri()]
    environment = os.environ | {"HOME": str(report)}
    shown = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120, check=True).stdout
    noted = re.search(r'<pre id="seen">(.+?)</pre>', shown)
    assert noted, shown[-2000:]
    found: dict[str, Any] = json.loads(unescape(noted[1]))
    return found


def test_my_score(table: Table, report: Path) -> None:
    """The field and the slider answer a score with both probabilities and its percentile, and move each other."""
    steps = """
      seen.first = answer();
      put(field, 150); seen.typed = answer(); seen.slider = slider.value;
      put(slider, 180); seen.slid = answer(); seen.field = field.value; seen.line = line();
      put(field, ""); seen.empty = [answer(), line()];
      put(field, 100000); seen.beyond = answer();
    """
    found = seen(report, steps)
    best, usual = table.curve(), play_for_mean(table.rules).curve
    for key, score in (("first", 200), ("typed", 150), ("slid", 180)):
        numbers = [float(number) for number in re.findall(r"[\d.]+\d", found[key])]
        gained = 100 * (best[score] - usual[score])
        expected = [score, 100 * best[score], 100 * usual[score], gained, 100 * (1 - usual[score + 1])]
        assert numbers == pytest.approx(expected, abs=0.06)
    assert (found["slider"], found["field"]) == ("150", "180")
    assert found["empty"] == [f"A whole number from 0 to {len(usual) - 1}.", None]
    assert found["beyond"] == found["empty"][0]


def test_the_line_at_a_score(table: Table, report: Path) -> None:
    """A pointer over a plot reads both curves at its score; without one the line stands at the score of the field."""
    steps = """
      put(field, 120); seen.resting = [line(), tip()];
      point("pointermove", 170); seen.pointing = tip(); seen.moved = line(); seen.field = field.value;
      const { left, right, last } = plot.dataset;
      seen.expected = 100 * (Number(left) + (right - left) * 170 / last);
      point("pointerleave", 170); seen.left = [line(), tip()];
      point("click", 90); seen.clicked = field.value;
    """
    found = seen(report, steps, PHONE)
    best, usual = table.curve(), play_for_mean(table.rules).curve
    score, *curves = [float(number) for number in re.findall(r"[\d.]+\d", found["pointing"])]
    assert score == 170
    assert curves == pytest.approx([100 * best[170], 100 * usual[170]], abs=0.01)
    assert found["resting"] == found["left"]
    assert found["resting"][0] < found["moved"] == pytest.approx(found["expected"], abs=0.01)
    assert (found["resting"][1], found["field"], found["clicked"]) == (None, "120", "90")


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_nothing_is_cut_off(report: Path, width: int) -> None:
    """Neither the page nor a table is wider than the screen; of the two drawings of a figure one is shown."""
    steps = """
      seen.page = page.documentElement.scrollWidth;
      seen.tables = [...page.querySelectorAll(".scrolls")].map((one) => one.scrollWidth - one.clientWidth);
      seen.shown = [...page.querySelectorAll("figure")].map(
        (one) => [...one.querySelectorAll(".plot")].filter((plot) => plot.clientWidth).map((plot) => plot.className));
    """
    found = seen(report, steps, width)
    assert found["page"] <= width
    assert found["tables"] == [0] * 5
    kind = "plot narrow" if width == PHONE else "plot wide"
    assert found["shown"] == [[kind]] * 10
