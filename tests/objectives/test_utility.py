"""Any goal for one player: small games against the judge, and goals that other tables know the value of."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
from in_process import command
from launch import compute, mpirun, program
from small_games import SMALL, utility

from yahtzee_cluster.analysis.forward import play_by
from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.possible_scores import scores_so_far
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.play.duel import duel
from yahtzee_cluster.play.strategies import BestMean, parse_strategy
from yahtzee_cluster.tables import open_table
from yahtzee_cluster.tables.table import Table


def solved(rules: Rules, goal: str, path: Path) -> Table:
    problem = Job(rules=rules.name, objective="utility", goal=goal).problem() if rules.name == "yacht" else None
    compute(path, problem or utility(rules, goal), 0b11)
    return open_table(path)


@pytest.mark.parametrize(
    ("name", "goal"),
    [(name, "odd") for name in sorted(SMALL)]
    + [
        ("exact", goal)
        for goal in ("win:expected", "win-outright:2*expected", "win:expected+8", "best-of:3", "power:0.5", "reach:9")
    ],
)
def test_utilities_are_the_judge_s(name: str, goal: str, tmp_path: Path) -> None:
    """From every sampled state and score, the worth is what trying out everything finds; more may be worth less."""
    rules = parse_rules(SMALL[name], name)
    if goal == "odd":
        worth = np.random.default_rng(5).normal(size=Utility.count_scores(rules))
        problem = Utility(rules, goal, tuple(worth.tolist()))
    else:
        problem = utility(rules, goal)
    compute(tmp_path, problem, 0b11)
    table = open_table(tmp_path)
    judge = reference.utility(rules, lambda score: problem.worth[score])
    assert table.worth(Anchor(rules.all_free, 0, False), 0) == pytest.approx(
        judge(rules.all_free, 0, False, 0), rel=1e-11, abs=1e-13
    )
    verdict = table.verify(n_sampled=10)
    assert verdict.complaints == ()
    assert verdict.n_judged >= verdict.n_classes - 1


@pytest.mark.program
def test_goals_that_other_tables_know(tmp_path: Path) -> None:
    """To reach a score is MaxProb, the score itself is the expected score; a best reply wins more than it loses."""
    rules = load_rules("yacht")
    start = Anchor(rules.all_free, 0, False)
    expected = solve_expected(rules)
    linear = solved(rules, "power:1", tmp_path / "linear")
    assert linear.worth(start, 0) == pytest.approx(expected.mean[expected.start], rel=1e-12)
    result = mpirun(3, ["-m", "yahtzee_cluster.run", "--rules", "yacht", "--target", 200, "--store", tmp_path / "max"])
    assert result.returncode == 0
    reach = solved(rules, "reach:200", tmp_path / "reach")
    assert reach.worth(start, 0) == pytest.approx(open_table(tmp_path / "max").value(start, 200), rel=1e-12)
    assert reach.worth(Anchor(0b111, 0, False), 150) == pytest.approx(
        open_table(tmp_path / "max").value(Anchor(0b111, 0, False), 50), rel=1e-12
    )
    beat, outright = (solved(rules, goal, tmp_path / goal) for goal in ("beat:1", "beat-all:1"))
    assert 0.5 < beat.worth(start, 0) < 0.52
    assert outright.worth(start, 0) < beat.worth(start, 0)
    against_three = solved(rules, "beat:3", tmp_path / "three")
    assert 0.25 < against_three.worth(start, 0) < 0.3


def test_best_replies(tmp_path: Path) -> None:
    """Played forward against those it replies to, a best reply wins what its table says, and no other wins more."""
    rules = parse_rules(SMALL["free"], "free")
    tables = {goal: solved(rules, goal, tmp_path / goal) for goal in ("beat:1", "beat-all:1", "power:2", "reach:17")}
    start = Anchor(rules.all_free, 0, False)
    found = {goal: duel([parse_strategy(str(table.path)), BestMean()], rules)[0] for goal, table in tables.items()}
    for one in found.values():
        assert one.win + one.tie + one.loss == pytest.approx(1, rel=1e-12)
    assert found["beat:1"].value == pytest.approx(tables["beat:1"].worth(start, 0), rel=1e-12)
    assert found["beat-all:1"].win == pytest.approx(tables["beat-all:1"].worth(start, 0), rel=1e-12)
    for goal, one in found.items():
        assert one.value <= found["beat:1"].value * (1 + 1e-12), goal
        assert one.win <= found["beat-all:1"].win * (1 + 1e-12), goal
    same, _ = duel([BestMean(), BestMean()], rules)
    assert (same.value, same.win) == pytest.approx((0.5, same.loss), rel=1e-12)
    assert play_by(tables["power:2"]).moments[1] == pytest.approx(tables["power:2"].worth(start, 0), rel=1e-12)
    assert play_by(tables["reach:17"]).curve[17] == pytest.approx(tables["reach:17"].worth(start, 0), rel=1e-12)


def test_opponents_and_worth_of_one_s_own(tmp_path: Path) -> None:
    """A best reply may be to any strategy that looks at nobody, and scores may be worth whatever a file says."""
    rules, file = parse_rules(SMALL["free"], "free"), tmp_path / "free.toml"
    file.write_text(SMALL["free"])
    start = Anchor(rules.all_free, 0, False)
    daring = solved(rules, "power:3", tmp_path / "daring")
    job = Job(rules=str(file), objective="utility", goal="beat:1", against=str(daring.path))
    compute(tmp_path / "reply", job.problem(), 0b1)
    reply = open_table(tmp_path / "reply")
    strategies = [parse_strategy(str(table.path)) for table in (reply, daring)]
    value = duel(strategies)[0].value
    assert value == pytest.approx(reply.worth(start, 0), rel=1e-12)
    assert value > duel([BestMean(), strategies[1]])[0].value
    assert strategies[0].words == "a win against an opponent with the strategy power:3, a tie counted half"
    assert reply.goal == "beat:1 against power:3"
    same = Job(rules=str(file), objective="utility", goal=f"win:{daring.path}")
    assert (same.problem().identity, same.label) == (job.problem().identity, job.label)
    assert job.about["against"] == "daring"
    (tmp_path / "worth.txt").write_text("0 0\n0,0.5\n" + "1 " * 5)
    (tmp_path / "job.toml").write_text('objective = "utility"\ngoal = "worth:worth.txt"\nrules = "free.toml"\n')
    own = Job.read(str(tmp_path / "job.toml"))
    problem = own.problem()
    assert isinstance(problem, Utility)
    assert (problem.goal, own.about["goal"]) == ("worth:worth.txt", "worth:worth.txt")
    assert problem.worth[:4] == (0.0, 0.0, 0.0, 0.5)
    assert set(problem.worth[4:]) == {1.0}
    with pytest.raises(UsageError, match="all have to play the same game"):
        Job(rules="yacht", objective="utility", goal="beat:1", against=str(daring.path)).problem()


@pytest.mark.parametrize(
    ("goal", "older", "digest"),
    [
        ("win:expected", "beat:1", "cd29ac7ef1a451a390af1b1963666f2db8a463e8c3e8d2cbf3fc6ae2f4caa565"),
        ("win:3*expected", "beat:3", "90c4a0235562300f30d56fbeb29c7c21d6c1b8b72c0fbaf018e13875cd3c1533"),
        (
            "win-outright:expected+expected",
            "beat-all:2",
            "113b39659e56c1ae1a4a8f31d4ae1cbebcb33d6a6abf20e1d4de50dda4beb41a",
        ),
        ("power:0.50", "power:0.5", "e856f9ebbf4aa67b057a0774a19fb7f1fa722406101423fc53810af3d2686ee7"),
    ],
)
def test_tables_keep_their_names(goal: str, older: str, digest: str) -> None:
    """However a goal is written, its table is the one that was made before goals had this grammar, worth by worth."""
    jobs = [Job(rules="yacht", objective="utility", goal=text) for text in (goal, older)]
    for job in jobs:
        identity = job.problem().identity
        assert (identity["goal"], job.label) == (older, f"yacht-utility-{older}")
        assert hashlib.sha256(json.dumps(identity).encode()).hexdigest() == digest


def test_opponents_in_files_beside_a_job(tmp_path: Path) -> None:
    """A distribution that a job file names is looked for beside it; its table is named after the file alone."""
    (tmp_path / "scores.txt").write_text("0 0.25 0.75")
    (tmp_path / "job.toml").write_text(
        'objective = "utility"\nrules = "yacht"\ngoal = "win-outright:file:scores.txt+2"\n'
    )
    job = Job.read(str(tmp_path / "job.toml"))
    problem = job.problem()
    assert isinstance(problem, Utility)
    assert (problem.goal, job.about["against"], problem.worth[:4]) == (
        "win-outright:file:scores.txt+2",
        None,
        (0, 0, 0, 1),
    )
    with pytest.raises(UsageError, match="against: goes with beat:K and beat-all:K; other goals name opponents"):
        job.overridden({"against": "expected"}).problem()


@pytest.mark.program
def test_as_a_job(tmp_path: Path) -> None:
    """The same bytes for any ranks and G; the worth is printed, and the table knows its goal."""
    rules = tmp_path / "rules.toml"
    rules.write_text(SMALL["free"])
    digests, shown = set(), set()
    for n_ranks, fixed in ((1, "0"), (3, "2")):
        store = tmp_path / f"{n_ranks}"
        flags = ["--rules", rules, "--objective", "utility", "--goal", "beat:1", "--G", fixed, "--store", store]
        result = mpirun(n_ranks, ["-m", "yahtzee_cluster.run", *flags])
        assert result.returncode == 0, result.stderr
        digests |= {line for line in result.stdout.splitlines() if line.startswith("sha256")}
        shown |= {line for line in result.stdout.splitlines() if line.startswith("worth")}
    assert len(digests) == len(shown) == 1
    start = Anchor(0b1111, 0, False)
    assert float(shown.pop().split()[1]) == pytest.approx(open_table(tmp_path / "3").worth(start, 0), abs=1e-9)
    status = json.loads(command("status", "--store", tmp_path / "3", "--json").stdout)
    assert (status["objective"], status["values"] > 0) == ("utility", True)
    assert command("verify", "--store", tmp_path / "3").returncode == 0
    asked = json.loads(command("value", "--store", tmp_path / "3", "--score", "0", "--json").stdout)
    assert asked["worth"] == open_table(tmp_path / "3").worth(start, 0)
    assert "score: say how many points there are so far" in command("value", "--store", tmp_path / "3").stderr


@pytest.mark.program
def test_scores_that_no_game_has(tmp_path: Path) -> None:
    """Exactly the scores that games have at a scorecard are answered; all others are refused with those around them."""
    rules = parse_rules(SMALL["free"], "free")
    table = solved(rules, "power:0.7", tmp_path / "table")
    for anchor in (Anchor(0b1110, 4, False), Anchor(0b1001, 4, False), Anchor(0b0001, 4, True), Anchor(0, None, True)):
        possible = scores_so_far(table.problem.anchors, anchor)
        for score in range(-2, possible[-1] + 12):
            if score in possible:
                assert table.worth(anchor, score) == table.for_goal().worth_unchecked(anchor, score)
            else:
                with pytest.raises(UsageError, match=f"score so far: no game has {score} points here; the "):
                    table.worth(anchor, score)
    asked = ["value", "--store", table.path, "--used", "ones", "--upper", "4", "--score"]
    assert command(*asked, "4").returncode == 0
    for score, nearest in ((27, "most is 4"), (3, "least is 4")):
        refused = command(*asked, str(score))
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr == f"yahtzee-cluster: score so far: no game has {score} points here; the {nearest}\n"


@pytest.mark.parametrize("path", sorted((Path(__file__).resolve().parents[2] / "jobs").glob("*.toml")))
def test_every_job_file_makes_a_problem(path: Path) -> None:
    """Every file in jobs/ describes something that can be computed."""
    job = Job.read(str(path))
    target = None if job.target is None else 100
    assert job.overridden({"rules": "yacht", "G": "auto", "target": target}).problem().element_names


@pytest.mark.program
def test_refusals(tmp_path: Path) -> None:
    """Goals that mean nothing are refused in one line."""
    flags = ["--objective", "utility", "--rules", "yacht", "--store", tmp_path]
    empty, words = tmp_path / "empty", tmp_path / "words"
    empty.write_text("")
    words.write_text("1 2 three")
    digits, pipe = tmp_path / "digits", tmp_path / "pipe"
    digits.write_text("1_0 2")
    os.mkfifo(pipe)
    for more, complaint in (
        ([], "goal: say what to play for, as in --goal reach:250 or --goal win:expected"),
        (["--goal", "win"], "goal: say against whom, as in win:expected; only a position has other players"),
        (
            ["--goal", "win:"],
            "goal: expected opponents, joined by +, each a final score, expected, DIR, DIR:N, file:FILE or",
        ),
        (["--goal", "beat:0"], "goal: expected win:K*expected to win against K opponents, or above:N for more than N"),
        (["--goal", "beat:1000001"], "goal: expected at most 1000 opponents, found 1000001"),
        (
            ["--goal", "quantile:0.5"],
            "goal: quantile:0.5 is no utility of the final score; it takes the chances of all",
        ),
        (["--goal", "reach:²"], "goal: expected reach:N"),
        (["--goal", "reach:9", "--against", "expected"], "against: goes with beat:K and beat-all:K; other goals name"),
        (["--goal", "win:9", "--against", "expected"], "other goals name opponents, as in win:expected"),
        (["--against", "expected"], "against: goes with beat:K and beat-all:K"),
        (["--goal", "win:nowhere"], "nowhere: holds no table"),
        (["--goal", "win:9+chance"], "the best chance to win depends on the other players"),
        (
            ["--goal", f"win:file:{words}"],
            "words: expected numbers with blanks, commas or line ends between, found 'three'",
        ),
        (["--goal", "worth:words", "--job", "beat-one"], "words: cannot be read: No such file or directory"),
        (["--goal", "beat:1", "--against", "nowhere"], "nowhere: holds no table"),
        (["--goal", "beat:1", "--against", "chance"], "the best chance to win depends on the other players"),
        (["--goal", "worth:/"], "/: cannot be read: Is a directory"),
        (["--goal", "worth:/none"], "/none: cannot be read: No such file or directory"),
        (["--goal", f"worth:{empty}"], "expected 1 to 304 numbers, for the final scores from 0 on, found 0"),
        (["--goal", f"worth:{words}"], "expected numbers with blanks, commas or line ends between, found 'three'"),
        (["--goal", f"worth:{digits}"], "line ends between, found '1_0'"),
        (["--goal", f"worth:{pipe}"], "pipe: is a pipe; expected a file"),
        (["--goal", "worth"], "goal: expected worth:FILE, found 'worth'"),
        (["--goal", "beat:1", "--against", ""], "goal: expected opponents, joined by +, each a final score"),
        (["--goal", "power:-1"], "goal: expected power:P with a number above 0 and up to 100, found 'power:-1'"),
        (["--goal", "power:100", "--rules", "yahtzee"], "goal: expected every final score to be worth -1e+300 to"),
        (["--goal", "reach:1", "--target", "9"], "target: utility has none; leave it out"),
        (["--goal", "reach:1", "--G", "aces,yacht,aces"], "G: aces is named twice"),
        (["--goal", "reach:1", "--objective", "maxprob"], "goal: only --objective utility has one"),
        (["--against", "expected", "--objective", "maxprob"], "against: only --objective utility has one"),
    ):
        result = program("run", *flags, *more)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.stderr
        assert complaint in result.stderr
    rules = parse_rules(SMALL["exact"], "exact")
    n_scores = Utility.count_scores(rules)
    for goal, worth, complaint in (
        ("odd", (0.0,), f"expected what {n_scores} final scores are worth"),
        *(("odd", (much,) * n_scores, r"worth -1e\+300 to 1e\+300") for much in (1.1e300, np.inf, -np.inf, np.nan)),
        *((odd, (0.0,) * n_scores, "a text on one line, of at most 200 char") for odd in ("", " ", "o" * 201, "o\n")),
    ):
        with pytest.raises(UsageError, match=complaint):
            Utility(rules, goal, worth)
    table = solved(rules, "reach:3", tmp_path / "table")
    with pytest.raises(UsageError, match="score so far: no game has 3 points here; the most is 0"):
        table.worth(Anchor(0b111, 0, False), 3)
    with pytest.raises(UsageError, match="score: the row ends at 0 points, found 3"):
        table.for_goal().worth_unchecked(Anchor(0b111, 0, False), 3)
