"""Published strategies beside exact figures, and how well one can play with how little: JSON lines, and a figure."""

from __future__ import annotations

import argparse
import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from yahtzee_cluster.analysis.evaluation import mean_of, range_among_ties
from yahtzee_cluster.analysis.statistics import statistics_of
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import solve_expected
from yahtzee_cluster.play.duel import simulated_duel
from yahtzee_cluster.play.rule_lists import RuleList
from yahtzee_cluster.play.strategies import BY_NAME
from yahtzee_cluster.play.strategy_files import Described, load_strategy, strategy_names
from yahtzee_cluster.play.worth import Worth
from yahtzee_cluster.play.worth_terms import Boxes

FIGURE = Path(__file__).parent.parent / "docs" / "explanation" / "simplicity.svg"
ITERATES = 225.40, 236.56, 232.27, 235.79
"""What Glenn publishes for `category-means` and for the box means of each strategy as the weights of the next."""
AGAINST_VARIANCE = {
    "expected": 0.478,
    "ecker-additive": 0.450,
    "ecker-regression": 0.448,
    "ecker-small-regression": 0.472,
    "ecker-max-dp": 0.483,
    "ecker-heuristic": 0.474,
    "ecker-greedy": 0.305,
}
"""The share of duels that these win against his strategy by variances, from 1,000 games each (Ecker)."""
SIMULATED = {"Glenn's genetic search": (13, 243.63), "Yahtzotron": (None, 236.2), "a rule of thumb": (None, 218.7)}
"""The means of others, from simulated games; by number of parameters where that is known."""


def told(what: str, **figures: Any) -> None:
    """Print one line."""
    print(json.dumps({"what": what, **figures}), flush=True)


def named() -> Iterator[tuple[Described, float]]:
    """The strategies that come with the program: mean, published mean, and the range by ties."""
    for name in strategy_names():
        strategy = load_strategy(name)
        expected = solve_expected(strategy.game)
        decider = strategy.decider(Turn(compile_moves(strategy.game)), expected)
        mean, by_ties = mean_of(decider, expected), range_among_ties(decider, expected)
        told("strategy", name=name, published=strategy.published, mean=mean, by_ties=by_ties)
        yield strategy, mean


def iterates(published_means: Sequence[float] = ITERATES) -> None:
    """Weights for boxes that are what these boxes bring by the strategy before, beginning with `category-means`.

    Glenn leaves open how he estimates the upper bonus without variances. One reading leaves it out; another one counts
    it where the means of the free boxes are enough for it.
    """
    rules = load_rules("yahtzee")
    expected, names = solve_expected(rules), [category.name for category in rules.categories]
    upper = [category.name for category in rules.categories if category.face]
    strategy = load_strategy("category-means").strategy
    assert isinstance(strategy, Worth)
    start = strategy.terms[0]
    assert isinstance(start, Boxes)
    turn = Turn(compile_moves(rules))
    for with_bonus in (False, True):
        weights = dict(zip(names, start.weights, strict=True))
        for number, published in enumerate(published_means):
            table: dict[str, Any] = {"boxes": weights}
            if with_bonus:
                table["bonus"] = {
                    "mean": {name: weights[name] for name in upper},
                    "variance": dict.fromkeys(upper, 0.0),
                }
            strategy = Worth.parse({"worth": table}, "iterate", rules)
            found = statistics_of(strategy.decider(turn, expected), expected.anchors)
            told("iterate", number=number, with_bonus=with_bonus, published=published, mean=float(found.mean.sum()))
            brought = dict(zip(found.names, found.mean.tolist(), strict=True))
            weights = {name: brought[name] for name in names}


def duels(n_games: int) -> None:
    """Against the strategy by variances, as the first player and as the second; a tie is not won."""
    rules, variance = load_rules("yaht"), BY_NAME["chance"]
    for name, published in AGAINST_VARIANCE.items():
        one = BY_NAME.get(name) or load_strategy(name)
        first, second = (
            simulated_duel(order, n_games, 1, rules)[order.index(one)] for order in ([one, variance], [variance, one])
        )
        told("duel", name=name, published=published, games=n_games, won_first=first.win, won_second=second.win)


# -------------------------------------------------------------------------------------------- the figure

STYLE: Mapping[str, dict[str, Any]] = {
    "numbers": {"marker": "o", "color": "black"},
    "rules": {"marker": "s", "color": "black", "markerfacecolor": "white"},
    "others, simulated": {"marker": "^", "color": "0.55"},
}
LABELS = {
    "greedy": ("greedy", (6, -3)),
    "category-means": ("category means", (6, -4)),
    "category-means-variances": ("with variances", (-64, -6)),
    "best-13": ("best 13", (-6, 5)),
    "best-20": ("best 20", (-40, -4)),
    "best-1000": ("best network", (-14, 7)),
    "upper-lower": ("upper and lower half", (-40, -11)),
    "glenn-rules": ("Glenn's rules", (6, -3)),
    "all-by-rules": ("all by rules", (7, -3)),
    "boxes-by-rules": ("boxes by rules,\nrolls optimal", (8, -12)),
}
"""The strategies in the figure, with what they are called there and where, in points from the mark."""
NONE = 0.5
"""Where a strategy without parameters stands on the logarithmic axis."""


def draw(file: Path, found: Sequence[tuple[Described, float]]) -> None:
    """Exact means by the number of parameters; the same numbers make the same file."""
    mpl = importlib.import_module("matplotlib")
    mpl.rcParams.update({"svg.hashsalt": "yahtzee_cluster", "font.size": 8, "legend.frameon": False})
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=(7, 4.4), layout="constrained")
    axes = figure.subplots()
    expected = solve_expected(load_rules("yahtzee"))
    best = float(expected.mean[expected.start])
    marks: list[tuple[str, float, float, str, tuple[int, int]]]
    marks = [("numbers", int(expected.anchors.exists.sum()), best, "optimal play", (-40, 6))]
    for strategy, mean in found:
        if strategy.title in LABELS:
            kind = "rules" if isinstance(strategy.strategy, RuleList) else "numbers"
            marks.append((kind, strategy.n_parameters or NONE, mean, *LABELS[strategy.title]))
    for name, (n_parameters, mean) in SIMULATED.items():
        if n_parameters:
            marks.append(("others, simulated", n_parameters, mean, name, (-106, -3)))
        else:
            axes.axhline(mean, color="0.75", linewidth=0.8, linestyle=(0, (3, 2)))
            axes.annotate(
                f"{name}, simulated", (3e5, mean), (0, 2), ha="right", color="0.45", textcoords="offset points"
            )
    for kind, style in STYLE.items():
        some = [(n, mean) for what, n, mean, *_ in marks if what == kind]
        axes.plot(*zip(*some, strict=True), linestyle="", markersize=5, label=kind, **style)
    for _, n, mean, label, where in marks:
        axes.annotate(label, (n, mean), where, textcoords="offset points")
    axes.axhline(best, color="0.8", linewidth=0.8, zorder=0)
    axes.set(xscale="log", xlabel="numbers or rules", ylabel="exact mean", ylim=(214, 258), xlim=(0.3, 1e6))
    axes.minorticks_off()
    axes.set_xticks([NONE, 10, 100, 1e3, 1e4, 1e5], ["0", "10", "100", "1,000", "10,000", "100,000"])
    axes.grid(color="0.94")
    axes.set_axisbelow(True)
    axes.legend(loc="center right", bbox_to_anchor=(1, 0.33))
    figure.savefig(file, dpi=150, metadata={"Date": None})


def main() -> None:
    """Compute all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=200_000, metavar="N", help="games of each duel")
    parser.add_argument("--figure", type=Path, default=FIGURE, metavar="FILE", help="where it is drawn")
    options = parser.parse_args()
    draw(options.figure, list(named()))
    iterates()
    duels(options.games)


if __name__ == "__main__":
    main()
