"""Every verb of the command line but the cluster job.

Results go to stdout; a refusal is one line on stderr and exit code 2.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from math import isnan
from time import perf_counter
from typing import TYPE_CHECKING, Any

from yahtzee_cluster import __version__
from yahtzee_cluster.errors import UsageError, YahtzeeClusterError, printable, short, shown
from yahtzee_cluster.fields import whole_number
from yahtzee_cluster.game.rules import Rules, load_rules, preset_names, template
from yahtzee_cluster.output import Parser, UnheardError, leave_out, open_streams, say, unheard

if TYPE_CHECKING:
    from yahtzee_cluster.game.anchors import Anchor, Anchors
    from yahtzee_cluster.objectives.race import Race
    from yahtzee_cluster.play.advice import Adviser, Goal
    from yahtzee_cluster.play.duel import Standing
    from yahtzee_cluster.play.strategies import Strategy
    from yahtzee_cluster.storage.store import Store

GAMES = 100_000
"""What a duel with dice takes, unless something else is said."""

EPILOG = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage or bad input. "
    "YAHTZEE_CLUSTER_ISA names the instruction set to use: avx512, avx2, sse2 or portable."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    open_streams()
    try:
        options = _parser().parse_args(arguments)
        verb: Callable[[argparse.Namespace], str] = options.verb
        result = verb(options)
    except YahtzeeClusterError as error:
        print(f"yahtzee-cluster: {error}", file=sys.stderr)
        return error.exit_code
    except UnheardError as error:
        return unheard("yahtzee-cluster", error)
    except KeyboardInterrupt:
        return 130
    return say("yahtzee-cluster", result) if result else 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="yahtzee-cluster", description="Exact optimal play for Yahtzee-like dice games.", epilog=EPILOG
    )
    parser.add_argument("--version", action="version", version=__version__)
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")

    expected = verbs.add_parser(
        "expected",
        help="mean and standard deviation of the final score of best play",
        description="Solve a game for the highest expected score, from every state, and print its mean and deviation.",
    )
    expected.add_argument(
        "--rules",
        default="yahtzee",
        metavar="NAME|FILE",
        help="a rule set by name, see `yahtzee-cluster rules`, or a TOML file (default: yahtzee)",
    )
    expected.add_argument("--json", action="store_true", help="print one JSON object with full precision")
    expected.set_defaults(verb=_expected)

    rules = verbs.add_parser(
        "rules",
        help="list the rule sets, or print one as TOML",
        description="List the built-in rule sets, or print one as TOML, ready to edit and to give to --rules.",
    )
    rules.add_argument("name", nargs="?", metavar="NAME", help="print this rule set as TOML")
    rules.set_defaults(verb=_rules)

    value = _query(verbs, "value", "one probability or expected score out of a table", _value)
    value.epilog = "Example: value --store runs/yahtzee-maxprob-800-G5 --used aces,full-house --upper 3 --need 250"
    _add_scorecard(value)
    value.add_argument("--need", type=_count, metavar="N", help="in a table of probabilities: the points still needed")
    value.add_argument("--score", type=_count, metavar="N", help="in a table of some utility: the points so far")
    value.add_argument("--lead", type=_lead, metavar="N", help="of two players: how far the first is ahead")
    value.add_argument("--other-used", metavar="NAMES", help="of two players: what the second has used")
    value.add_argument("--other-upper", type=_count, metavar="N", help="and has in the upper categories")
    value.add_argument("--other-chip", action="store_true", help="and whether that one's Yahtzee box holds points")

    _add_advise(verbs)
    _query(verbs, "curve", "the probability of every final score, from the start", _curve)
    statistics = verbs.add_parser(
        "statistics",
        help="what a strategy brings in every box, and percentiles of the final score",
        description="Print mean and variance of every box and bonus, and percentiles of the final score, exactly: of "
        "who plays for the highest expected score, or for a score, as a table decides. With --json also the whole "
        "distribution, and for the highest expected score all covariances.",
        epilog="Example: statistics --store runs/yahtzee-scores-1575-G5 --for 250",
    )
    game = statistics.add_mutually_exclusive_group()
    game.add_argument("--rules", metavar="NAME|FILE", help="a rule set by name, or a TOML file (default: yahtzee)")
    game.add_argument("--store", metavar="DIR", help="a table of scores or approx; its rules are taken")
    statistics.add_argument("--for", dest="target", type=_count, metavar="N", help="play for at least so many points")
    _add_scorecard(statistics)
    statistics.add_argument("--json", action="store_true", help="print one JSON object with full precision")
    statistics.set_defaults(verb=_statistics)

    likeness = _query(verbs, "compare", "where playing for a score and for the expected score part", _compare)
    likeness.add_argument("--for", dest="target", required=True, type=_count, metavar="N", help="the score")
    likeness.epilog = "Example: compare --store runs/yahtzee-scores-1575-G5 --for 250"
    _add_duel(verbs)
    report = verbs.add_parser(
        "report",
        help="a page with tables and figures",
        description="Write one page that holds everything there is to say of a game, its figures as SVG and PNG, and "
        "its tables as CSV, from a table of scores; print where it is.",
        epilog="Example: report --store runs/yahtzee-scores-1575-G5 --for 250 --out report",
    )
    report.add_argument("--store", required=True, metavar="DIR", help="a table with objective `scores`")
    report.add_argument("--out", required=True, metavar="DIR", help="where the report goes")
    report.add_argument("--for", dest="target", type=_count, metavar="N", help="compare with who plays for this score")
    report.set_defaults(verb=_report)
    _query(verbs, "status", "how much of a table is there", _status)
    verify = _query(verbs, "verify", "whether every byte of a table is right", _verify)
    verify.add_argument(
        "--sample",
        type=_count,
        default=0,
        metavar="N",
        help="how many values to solve again, one of every class at least (default: one of every class)",
    )
    verify.add_argument("--seed", type=_count, metavar="N", help="which ones (default: others each time)")

    _add_slurm(verbs)
    return parser


def _add_advise(verbs: Any) -> None:
    advise: argparse.ArgumentParser = verbs.add_parser(
        "advise",
        help="what to keep, and where to score",
        description="Say what to do: at a terminal turn by turn, for one position with --dice, or for many with "
        "--lines. Plays for the highest expected score, with a table of some utility for what that holds, or with a "
        "table of probabilities to beat or reach a score.",
        epilog="Examples: advise --store runs/yahtzee-maxprob-800-G5 --beat 250; "
        "advise --used aces,full-house --upper 3 --score-so-far 28 --dice 2,2,2,5,6 --rolls-left 2 --json",
    )
    game = advise.add_mutually_exclusive_group()
    game.add_argument("--store", metavar="DIR", help="a table of maxprob, scores or some utility; its rules are taken")
    game.add_argument("--rules", metavar="NAME|FILE", help="a rule set (default: yahtzee, with --lines no-joker)")
    _add_scorecard(advise)
    advise.add_argument("--score-so-far", type=_count, metavar="N", help="all points so far (default: 0)")
    goal = advise.add_mutually_exclusive_group()
    goal.add_argument("--beat", type=_count, metavar="N", help="play to score more than this")
    goal.add_argument("--reach", type=_count, metavar="N", help="play to score at least this")
    goal.add_argument(
        "--goal", choices=["expected"], help="play for the highest expected score, whatever table there is"
    )
    advise.add_argument("--dice", metavar="DICE", help="five dice, as 2,2,2,5,6 or 22256")
    advise.add_argument("--rolls-left", type=_count, choices=range(3), metavar="N", help="0 to 2 more rolls")
    advise.add_argument("--json", action="store_true", help="print one JSON object with full precision")
    advise.add_argument(
        "--lines",
        action="store_true",
        help="answer lines on stdin: a mark for each box (x used, - free), upper total, True or False for an active "
        "Yahtzee bonus, rerolls left (3 before the first roll), five dice, and for a table of some "
        "utility the score so far",
    )
    advise.set_defaults(verb=_advise)


def _add_duel(verbs: Any) -> None:
    duel: argparse.ArgumentParser = verbs.add_parser(
        "duel",
        help="strategies against each other",
        description="Print how likely each strategy has most points in the end: exactly where nobody looks at the "
        "others, else in games with dice, in which all take turns in this order. A strategy is `expected`, for the "
        "highest expected score; `chance`, for the chance to win, with an eye on the others; the directory of a table "
        "of some utility, or of two players; or DIR:N, to reach N by a table of scores or approx.",
        epilog="Examples: duel runs/yahtzee-utility-beat-1-G5 expected; duel chance expected --games 1000000",
    )
    duel.add_argument("strategies", nargs="+", metavar="STRATEGY", help="two to sixteen of them")
    duel.add_argument("--rules", metavar="NAME|FILE", help="the game (default: that of the tables, or yahtzee)")
    how = duel.add_mutually_exclusive_group()
    how.add_argument("--exact", action="store_true", help="without dice, or not at all")
    how.add_argument(
        "--games",
        type=_count,
        metavar="N",
        help=f"play so many games with dice (default: {GAMES:,} where somebody looks at the others)",
    )
    duel.add_argument("--seed", type=_count, metavar="N", help="of the dice (default: 1)")
    duel.add_argument("--json", action="store_true", help="print one JSON object with full precision")
    duel.set_defaults(verb=_duel)


def _add_slurm(verbs: Any) -> None:
    slurm: argparse.ArgumentParser = verbs.add_parser(
        "slurm",
        help="a batch script that computes a table under Slurm",
        description="Print a batch script that computes a table, with memory and time from the planner. "
        "It reacts to Slurm's warning, has itself requeued, and goes on from what was committed.",
        epilog="Example: slurm --job jobs/maxprob-800.toml --nodes 4 --ranks-per-node 8 --submit",
    )
    slurm.add_argument("--job", required=True, metavar="FILE", help="what to compute, see jobs/")
    slurm.add_argument("--nodes", required=True, type=_count, metavar="N", help="how many nodes")
    slurm.add_argument("--ranks-per-node", required=True, type=_count, metavar="N", help="one of all is the master")
    slurm.add_argument("--time", help="MINUTES, HH:MM:SS or D-HH:MM:SS (default: from the planner, generously)")
    slurm.add_argument("--threads", type=_count, metavar="N", help="cores that each rank uses (default: the job's)")
    slurm.add_argument("--store", metavar="DIR", help="where the table is kept (default: the job's, or in $RUNS)")
    slurm.add_argument("--launcher", choices=["srun", "mpirun"], default="srun", help="(default: srun)")
    slurm.add_argument(
        "--site", default="slurm/site.sh", metavar="FILE", help="what is so on this cluster (default: slurm/site.sh)"
    )
    slurm.add_argument("--submit", action="store_true", help="submit the script, and print the job's number instead")
    slurm.set_defaults(verb=_slurm)


def _add_scorecard(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--used", metavar="NAMES", help="the used categories, with commas between")
    parser.add_argument("--upper", type=_count, metavar="N", help="the points in the upper categories so far")
    parser.add_argument("--chip", action="store_true", help="the Yahtzee box is used and holds points")


def _query(verbs: Any, name: str, about: str, verb: Callable[[argparse.Namespace], str]) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=about, description=f"Print {about}.")
    parser.add_argument("--store", required=True, metavar="DIR", help="the directory of the table")
    parser.add_argument("--json", action="store_true", help="print one JSON object with full precision")
    parser.set_defaults(verb=verb)
    return parser


def _count(text: str) -> int:
    count = whole_number(text)
    if count is None:
        raise argparse.ArgumentTypeError(f"expected a whole number, found {shown(text)}")
    return count


def _lead(text: str) -> int:
    return -_count(text[1:]) if text.startswith("-") else _count(text)


def _expected(options: argparse.Namespace) -> str:
    rules = load_rules(options.rules)
    from yahtzee_cluster.objectives.expected import solve_expected  # only now: listing rules needs no kernels

    started = perf_counter()
    table = solve_expected(rules)
    elapsed = perf_counter() - started
    mean, std = float(table.mean[table.start]), table.std(table.start)
    if options.json:
        summary = {
            "rules": rules.name,
            "mean": mean,
            "std": std,
            "anchors": len(table.anchors),
            "elapsed_s": elapsed,
        }
        return json.dumps(summary)
    return "\n".join(
        [
            f"rules      {rules.name}",
            f"mean       {mean:.4f}{_published(rules.published_mean)}",
            f"std        {std:.4f}{_published(rules.published_std)}",
            f"anchors    {len(table.anchors):,} ({table.anchors.n_unmerged:,} with every upper total kept apart)",
            f"elapsed    {elapsed:.3f} s",
        ]
    )


def _statistics(options: argparse.Namespace) -> str:
    from yahtzee_cluster.analysis.forward import play_for, play_for_mean
    from yahtzee_cluster.analysis.statistics import PERCENTILES, percentile, statistics
    from yahtzee_cluster.game.anchors import Anchors
    from yahtzee_cluster.objectives.expected import std_of
    from yahtzee_cluster.tables.table import open_table

    if (options.store is None) != (options.target is None):
        raise UsageError("name a table of scores with --store and the score that is played for with --for, or neither")
    table = None if options.store is None else open_table(options.store)
    rules = table.rules if table else load_rules("yahtzee" if options.rules is None else options.rules)
    start, _ = _scorecard(options, Anchors(rules))
    games = play_for(options.target, table, start) if table else play_for_mean(rules, start)
    mean, second_moment = games.moments
    percentiles = {share: percentile(games.curve, share / 100) for share in PERCENTILES}
    summary: dict[str, Any] = {"rules": rules.name, "for": options.target, "mean": mean}
    summary["std"] = std_of(mean, second_moment)
    variances = games.variance.tolist()
    if not table:
        found = statistics(rules, start)
        variances = found.variance.tolist()
        summary["covariances"] = found.covariance.tolist()
    boxes = list(zip(games.names, games.mean.tolist(), variances, strict=True))
    if options.json:
        columns = {"names": games.names, "means": games.mean.tolist()}
        columns["variances"] = [None if isnan(variance) else variance for variance in variances]
        return json.dumps(summary | columns | {"percentiles": percentiles, "p": games.curve.tolist()})
    goal = "the highest expected score" if options.target is None else f"at least {options.target} points"
    lines = [f"{'rules':10} {rules.name}", f"{'played for':10} {goal}"]
    lines += [f"{key:10} {summary[key]:.4f}" for key in ("mean", "std")]
    lines += ["", f"{'box or bonus':16} {'mean':>9} {'variance':>12} {'deviation':>10}"]
    for name, average, variance in boxes:
        spread = "" if isnan(variance) else f" {variance:>12.4f} {variance**0.5:>10.4f}"
        lines.append(f"{short(name, 16):16} {average:>9.4f}{spread}")
    lines += ["", f"{'percentile':17}{'score':>9}", *(f"{share:<17g}{at:>9}" for share, at in percentiles.items())]
    return "\n".join(lines)


def _compare(options: argparse.Namespace) -> str:
    from yahtzee_cluster.analysis.comparison import facts, words
    from yahtzee_cluster.analysis.forward import compare
    from yahtzee_cluster.tables.table import open_table

    table = open_table(options.store)
    both = compare(options.target, table)
    if options.json:
        return json.dumps(facts(options.target, both, table.rules))
    return words(options.target, both, table.rules)


def _duel(options: argparse.Namespace) -> str:
    from yahtzee_cluster.play.duel import duel, simulated_duel
    from yahtzee_cluster.play.strategies import parse_strategy

    known = {text: parse_strategy(text) for text in dict.fromkeys(options.strategies)}
    strategies = [known[text] for text in options.strategies]
    rules = None if options.rules is None else load_rules(options.rules)
    n_games, seed = options.games, 1 if options.seed is None else options.seed
    if n_games is None and not options.exact and any(strategy.looks_on for strategy in strategies):
        n_games = GAMES
    if n_games == 0:
        raise UsageError("games: expected at least one")
    if n_games is None and options.seed is not None:
        raise UsageError("seed: this duel needs no dice; say how many --games to play, or leave it out")
    found = duel(strategies, rules) if n_games is None else simulated_duel(strategies, n_games, seed, rules)
    if options.json:
        players = [
            {"strategy": strategy.words, **asdict(standing), "interval": standing.interval}
            for strategy, standing in zip(strategies, found, strict=True)
        ]
        return json.dumps({"games": n_games, "seed": None if n_games is None else seed, "players": players})
    return "\n".join(_standings(strategies, found, n_games, seed))


def _standings(strategies: Sequence[Strategy], found: Sequence[Standing], n_games: int | None, seed: int) -> list[str]:
    """A line for each player, with as many digits as mean something."""
    exact = n_games is None
    digits, places, interval = (6, 9, "") if exact else (4, 6, f"  {'95 % interval':20}")
    lines = [f"{'':>3} {'win':>12} {'tie':>12} {'loss':>12} {'value':>11}{interval} {'mean':>9}  plays for"]
    for number, (strategy, one) in enumerate(zip(strategies, found, strict=True), start=1):
        chances = " ".join(f"{100 * chance:>10.{digits}f} %" for chance in (one.win, one.tie, one.loss))
        interval = "" if exact else "  {:.6f} to {:.6f}".format(*one.interval)
        lines.append(f"{number:>3} {chances} {one.value:>11.{places}f}{interval} {one.mean:>9.4f}  {strategy.words}")
    return lines if exact else [*lines, "", f"In {n_games:,} games with dice, seed {seed}."]


def _report(options: argparse.Namespace) -> str:
    from pathlib import Path

    from yahtzee_cluster.analysis.findings import find
    from yahtzee_cluster.analysis.report import prepare, write
    from yahtzee_cluster.tables.table import open_table

    if not options.out:
        raise UsageError("out: name a directory with --out")
    table, out = open_table(options.store), Path(options.out)
    table.score_curve()  # or it says why not, before anything is made
    prepare(out)
    return str(write(find(table, options.target), out))


def _value(options: argparse.Namespace) -> str:
    from yahtzee_cluster.objectives.probabilities import Probabilities
    from yahtzee_cluster.objectives.race import Race
    from yahtzee_cluster.objectives.utility import Utility
    from yahtzee_cluster.tables.table import open_store, open_table

    problem, store = open_store(options.store)
    asking = {"lead": Race, "score": Utility, "need": Probabilities}
    others = [*asking, "other_used", "other_upper", "other_chip"]
    takes = others[3:] if isinstance(problem, Race) else []
    takes += [name for name, kind in asking.items() if isinstance(problem, kind)]
    held = f"{printable(options.store)}: holds {problem.identity['objective']}"
    leave_out(options, (name for name in others if name not in takes), held)
    anchor, asked = _scorecard(options, problem.anchors)
    if isinstance(problem, Race):
        return _race_value(options, problem, store, anchor, asked)
    table = open_table(options.store)
    if isinstance(table.problem, Utility):
        if options.score is None:
            raise UsageError("score: say how many points there are so far, with --score")
        found: dict[str, Any] = {"score": options.score, "worth": table.worth(anchor, options.score)}
    elif isinstance(table.problem, Probabilities):
        if options.need is None:
            raise UsageError("need: say how many points are still needed, with --need")
        found = {"need": options.need, "p": table.value(anchor, options.need)}
        if table.objective == "scores":
            found |= zip(("mean", "second_moment"), table.moments(anchor, options.need), strict=True)
    else:
        mean, second_moment = table.moments(anchor)
        found = {"mean": mean, "second_moment": second_moment}
    return _answer(asked | found, options)


def _race_value(options: argparse.Namespace, problem: Race, store: Store, one: Anchor, asked: dict[str, Any]) -> str:
    from yahtzee_cluster.tables.race import value_of

    theirs = argparse.Namespace(used=options.other_used, upper=options.other_upper, chip=options.other_chip)
    two, also = _scorecard(theirs, problem.anchors)
    if options.lead is None:
        raise UsageError("lead: say how many points the first player is ahead, with --lead; behind is below 0")
    found = dict(zip(("value", "win"), value_of(problem, store, one, two, options.lead), strict=False))
    return _answer(
        asked | {f"other_{key}": value for key, value in also.items()} | {"lead": options.lead} | found, options
    )


def _answer(facts: dict[str, Any], options: argparse.Namespace) -> str:
    if options.json:
        return json.dumps(facts)
    words = {True: "yes", False: "no"}
    shown = {key: ", ".join(value) or "nothing" if isinstance(value, list) else value for key, value in facts.items()}
    return "\n".join(f"{key:15}{words[v] if isinstance(v, bool) else v}" for key, v in shown.items())


def _scorecard(options: argparse.Namespace, anchors: Anchors) -> tuple[Anchor, dict[str, Any]]:
    """The state that the options name, and what they say."""
    from yahtzee_cluster.game.notation import anchor_of, names_of, parse_used

    used = parse_used(options.used or "", anchors.rules)
    anchor = anchor_of(anchors, used, options.upper, options.chip)
    return anchor, {"used": names_of(used, anchors.rules), "upper": options.upper or 0, "chip": options.chip}


def _advise(options: argparse.Namespace) -> str:
    from yahtzee_cluster.game.notation import parse_dice
    from yahtzee_cluster.play.advice import START_OF_TURN, Adviser, Position
    from yahtzee_cluster.play.conversation import Conversation, answer_lines, listing, talk
    from yahtzee_cluster.tables.table import open_table

    table = None if options.store is None else open_table(options.store)
    rules = table.rules if table else load_rules(options.rules or ("no-joker" if options.lines else "yahtzee"))
    adviser = Adviser(rules, table)
    if options.lines:
        _check_lines(options, adviser)
        answer_lines(adviser)
        return ""
    goal = _goal(options, adviser)
    anchor, card = _scorecard(options, adviser.anchors)
    if options.dice is None and options.rolls_left is not None:
        raise UsageError("dice: say which are on the table, with --dice")
    position = Position(anchor, score=options.score_so_far or 0)
    adviser.check(position, goal)
    if options.dice is None and not options.json:
        return talk(Conversation(adviser, position, goal))
    if options.dice is not None:
        if options.rolls_left is None:
            raise UsageError("rolls left: say how often the dice may still be rolled, 0 to 2, with --rolls-left")
        position = replace(position, roll=parse_dice(options.dice), rolls_left=options.rolls_left)
    advice = adviser.advise(position, goal)
    if not options.json:
        return listing(advice)
    asked = {
        "rules": rules.name,
        **card,
        "score": position.score,
        "dice": position.roll,
        "rolls_left": START_OF_TURN if position.roll is None else position.rolls_left,
        "reach": goal.reach,
        "goal": goal.utility,
    }
    return json.dumps(asked | {"moves": [_flat(asdict(one)) for one in advice]})


def _goal(options: argparse.Namespace, adviser: Adviser) -> Goal:
    """What the flags say is played for, or else what the table does."""
    from yahtzee_cluster.play.advice import MEAN, Goal

    if options.goal is not None:
        return MEAN
    reach = options.reach if options.beat is None else options.beat + 1
    return adviser.goal if reach is None else Goal(reach)


def _check_lines(options: argparse.Namespace, adviser: Adviser) -> None:
    """Refuse what says something else than the lines, or than the table by which they are answered."""
    beside = ("beat", "reach", "goal", "dice", "rolls_left", "json", "used", "upper", "chip", "score_so_far")
    leave_out(options, beside, "lines: every line says its position, and all are played for the same")
    if adviser.reaches_scores:
        leave_out(options, ["store"], "lines: none says what to beat or to reach; name the game with --rules")


def _flat(advice: dict[str, Any]) -> dict[str, Any]:
    move = advice.pop("move")
    return {key: value for key, value in (move | advice).items() if value is not None}


def _curve(options: argparse.Namespace) -> str:
    from yahtzee_cluster.tables.table import open_table

    table = open_table(options.store)
    columns = {"p": table.curve()}
    if table.objective == "scores":
        columns["mean"], columns["std"] = table.score_curve()
    if options.json:
        return json.dumps({"target": table.target} | {name: column.tolist() for name, column in columns.items()})
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return "\n".join(f"{s:>5}  {'  '.join(f'{x:<16.12g}' for x in row)}".rstrip() for s, row in enumerate(rows))


def _status(options: argparse.Namespace) -> str:
    from yahtzee_cluster.storage.store import read_header, writer
    from yahtzee_cluster.tables.table import open_store

    problem, store = open_store(options.store)
    header = read_header(store.path)
    assert header is not None
    sizes, dropped = store.partition.n_values, store.dropped
    missing = set(sizes) - set(store.committed)
    status: dict[str, Any] = {
        "objective": header.identity["objective"],
        "rules": problem.rules.name,
        "target": header.identity.get("target"),
        "G": header.fixed_names,
        "classes": len(sizes),
        "classes_done": len(sizes) - len(missing),
        "values": sum(sizes.values()),
        "values_done": sum(n for cls, n in sizes.items() if cls not in missing),
        "classes_dropped": len(dropped),
        "table_sha256": None if missing else store.table_digest,
        "writer": writer(store.path),
        "provenance": header.provenance,
    }
    if options.json:
        return json.dumps(status)
    provenance = status.pop("provenance")
    shown = status | {"G": ", ".join(status["G"]) or "nothing"}
    facts = [*shown.items(), *provenance.items()]
    return "\n".join(f"{printable(key):17}{printable(str(value))}" for key, value in facts if value is not None)


def _verify(options: argparse.Namespace) -> str:
    from yahtzee_cluster.objectives.race import Race
    from yahtzee_cluster.storage import verification
    from yahtzee_cluster.tables.judges import verify
    from yahtzee_cluster.tables.table import open_store, open_table

    problem, store = open_store(options.store)
    if isinstance(problem, Race):
        verdict = verification.verify(problem, store, options.sample, options.seed)
    else:
        verdict = verify(open_table(options.store), options.sample, options.seed)
    verdict.check()
    return json.dumps(asdict(verdict)) if options.json else verdict.report()


def _slurm(options: argparse.Namespace) -> str:
    from yahtzee_cluster.commands.slurm import Request, ready, submit

    request = Request(**{field.name: getattr(options, field.name) for field in fields(Request)})
    text = ready(request)
    return submit(text, request.site) if options.submit else text


def _published(value: str | None) -> str:
    return f"   published {value}" if value else ""


def _rules(options: argparse.Namespace) -> str:
    if options.name is not None:
        return template(options.name).rstrip("\n")
    heading = f"{'name':14}{'boxes':>5}  {'mean':>10}  {'std':>7}  published by, and what sets the rules apart"
    return "\n".join([heading, *(_row(load_rules(name)) for name in preset_names())])


def _row(rules: Rules) -> str:
    mean, std = rules.published_mean or "-", rules.published_std or "-"
    return f"{rules.name:14}{len(rules.categories):>5}  {mean:>10}  {std:>7}  {rules.source}"
