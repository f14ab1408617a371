"""A job: one table of one game, from a TOML file and from flags."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, Fields, check_name_or_file, read_toml
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.possible_scores import highest_score
from yahtzee_cluster.game.rest import rest_of
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.game.scorecard import Scorecard, parse_scorecard
from yahtzee_cluster.kernels.turn import instruction_sets
from yahtzee_cluster.objectives import CHOICES, OBJECTIVES, WITHOUT_TARGET
from yahtzee_cluster.objectives.goals import Goal, is_older, names_in_tables, parse_goal, parse_older
from yahtzee_cluster.objectives.opponents import EXPECTED
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.runtime.configuration import KEEP, MAX_THREADS, Computation, parse_bytes
from yahtzee_cluster.runtime.flags import parse_count
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.tables import table_of

JOBS = Path(__file__).parent.parent / "jobs"
MOST_OF_CARD = 60
"""Characters of a scorecard in the name of a table's directory."""
TARGET = 800
"""The default target of a table of probabilities."""


def job_names() -> list[str]:
    """The names of the jobs that come with the program."""
    return sorted(path.stem for path in JOBS.glob("*.toml"))


@dataclass(frozen=True, kw_only=True)
class Job(Computation):
    """A table of a game; `rules` is a name or a file."""

    objective: str = "maxprob"
    rules: str = "yahtzee"
    target: int | None = None
    """The highest score that gets a probability, where the objective has a target."""
    goal: str | None = None
    """With objective utility: the goal, as `objectives.goals` describes it, or `beat:K` or `beat-all:K`."""
    against: str | None = None
    """With `beat:K` and `beat-all:K`: the strategy of the opponents, which must not depend on others."""
    begun: str | None = None
    """The scorecard from which on the game is computed (`--from`, in a file `from`); an empty one by default."""

    def problem(self) -> Recurrence:
        """The problem to compute."""
        rules = self.game
        if self.target is not None and self.objective in WITHOUT_TARGET:
            raise UsageError(f"target: {self.objective} has none; leave it out")
        if self.objective == "utility":
            return self._utility(rules)
        for name in ("goal", "against"):
            if getattr(self, name) is not None:
                raise UsageError(f"{name}: only --objective utility has one")
        if self.target is not None and self.target > (highest := highest_score(Anchors(rules))):
            where = "still possible from this scorecard" if rules.whole else f"of {rules.name}"
            raise UsageError(f"target: the highest score {where} is {highest}, found {self.target}")
        return OBJECTIVES[self.objective](rules, self.last_need)

    def _utility(self, rules: Rules) -> Utility:
        """The problem of a goal, with the worth of every final score."""
        if self._goal is None:
            raise UsageError(f"goal: say what to play for, as in --goal reach:250 or --goal win:{EXPECTED}")
        from yahtzee_cluster.play.opponents import curve_of  # noqa: PLC0415  # slow, and rarely used
        from yahtzee_cluster.play.strategies import parse_strategy  # noqa: PLC0415

        before = self._card.score
        whole = Utility.count_scores(rules.whole or rules)
        worths = self._goal.worths(whole, partial(curve_of, rules=rules))[before : before + Utility.count_scores(rules)]
        name, strategy = names_in_tables(self._goal)
        name += f" against {parse_strategy(strategy).name}" if strategy else ""
        return Utility(rules, name, tuple(worths.tolist()), before=before)

    @property
    def _card(self) -> Scorecard:
        """The scorecard from which on the game is computed."""
        try:
            return parse_scorecard(self.begun or "", load_rules(self.rules))
        except UsageError as error:
            raise UsageError(f"from: {error}") from error

    @property
    def game(self) -> Rules:
        """The game, or the rest of it."""
        rules = load_rules(self.rules)
        if not self.begun:
            return rules
        if rules.whole:
            raise UsageError("from: these rules are already those of the rest of a game; name those of the whole one")
        return rest_of(rules, self._card.anchor)

    @property
    def _goal(self) -> Goal | None:
        """The goal; in the older form `beat:K`, the strategy of the opponents is a field of its own."""
        if self.against is not None and not is_older(self.goal or ""):
            raise UsageError(
                f"against: goes with beat:K and beat-all:K; other goals name opponents, as in win:{EXPECTED}"
            )
        return None if self.goal is None else parse_older(self.goal, EXPECTED if self.against is None else self.against)

    @property
    def last_need(self) -> int:
        """The highest score that gets a probability."""
        return min(TARGET, highest_score(Anchors(self.game))) if self.target is None else self.target

    @property
    def about(self) -> dict[str, Any]:
        """The game, what it is played for, and how far."""
        target = None if self.objective in WITHOUT_TARGET else self.last_need
        goal, strategy = names_in_tables(self._goal) if self._goal else (None, None)
        about = {"rules": Path(self.rules).stem, "objective": self.objective, "goal": goal}
        begun = self._card.text if self.begun else None
        return {**about, "against": strategy and Path(strategy).name, "target": target, "from": begun}

    @property
    def label(self) -> str:
        """The values of `about`; of a long scorecard, only a digest."""
        told = {key: str(value) for key, value in self.about.items() if value is not None}
        if len(begun := told.pop("from", "")) > MOST_OF_CARD:
            begun = sha256(begun.encode()).hexdigest()[:12]
        return "-".join([*told.values(), *(["from", begun] if begun else [])])

    @property
    def is_of_thesis(self) -> bool:
        """The thesis is about Yahtzee for one player."""
        return self.rules == "yahtzee" and self.objective not in {"race", "race-wins"} and not self.begun

    @property
    def provenance(self) -> dict[str, Any]:
        """The instruction set of the kernels."""
        return {"instruction_set": os.environ.get("YAHTZEE_CLUSTER_ISA") or instruction_sets()[0]}

    @classmethod
    def add_flags(cls, parser: argparse.ArgumentParser) -> None:
        """Add the flags that describe the table."""
        default, add = cls(), parser.add_argument
        add(
            "--job",
            metavar="NAME|FILE",
            help="read these settings from a TOML file, or from one of those that `yahtzee-cluster jobs` lists; flags "
            "override it",
        )
        add("--objective", choices=CHOICES, help=f"what to compute (default: {default.objective})")
        add("--rules", metavar="NAME|FILE", help=f"a rule set by name, or a TOML file (default: {default.rules})")
        add(
            "--goal",
            metavar="GOAL",
            help="for --objective utility: reach:N or above:N points; win:OPPONENTS, more points than each of them, a "
            "tie counting half, or win-outright:OPPONENTS, ties lost; best-of:K scores; power:P of the score; "
            "worth:FILE, one number for each score from 0. Opponents are joined by +, each with K* before it if there "
            "are K of the kind: a final score; a strategy as for `yahtzee-cluster duel` that ignores other players; "
            "file:FILE, a distribution; card:CARD",
        )
        add(
            "--against",
            metavar="STRATEGY",
            help="strategy of the opponents in a goal beat:K or beat-all:K, the older forms of win:K*STRATEGY and "
            f"win-outright:K*STRATEGY (default: {EXPECTED})",
        )
        target = f"the highest score of the table (default: {TARGET}, or the game's if that is lower)"
        add("--target", type=parse_count, metavar="N", help=f"{target}; with --from, of the points still to come")
        add(
            "--from",
            dest="begun",
            metavar="CARD",
            help="compute only the rest of the game from a scorecard on, such as aces=3,full-house=25; its free boxes "
            "are the elements",
        )

    @classmethod
    def of(cls, options: argparse.Namespace) -> Self:
        """The job that the flags describe; they override the job file if there is one."""
        given = {key: value for key, value in vars(options).items() if key in cls.names()}
        job = cls.read(options.job) if options.job else cls()
        if job.target is not None and not given["target"] and (given["rules"] or given["begun"]):
            job = job.overridden(given)  # the file's target is for the file's game
            given["target"] = min(job.last_need, highest_score(Anchors(job.game)))
        return job.overridden(given)

    @classmethod
    def read(cls, name_or_file: str) -> Self:
        """The job of this name, or in this TOML file; the files that it names are looked for beside it."""
        check_name_or_file(name_or_file, job_names(), "job")
        path = str(JOBS / f"{name_or_file}.toml") if name_or_file in job_names() else name_or_file
        known = (*(name for name in cls.names() if name != "begun"), "from")
        fields = Fields(read_toml(path), path, known=known)
        given: dict[str, Any] = {
            "objective": fields.choice("objective", CHOICES, None) if "objective" in fields.table else None,
            "goal": fields.optional_text("goal"),
            "against": fields.optional_text("against"),
            "rules": fields.optional_text("rules"),
            "target": fields.integer("target", None, low=1, high=MAX_COUNT),
            "G": _fixed_text(fields),
            "cache": fields.optional_text("cache"),
            "threads": fields.integer("threads", None, low=1, high=MAX_THREADS),
            "store": fields.optional_text("store"),
            "keep": fields.choice("keep", KEEP, None) if "keep" in fields.table else None,
            "begun": fields.optional_text("from"),
        }
        if given["rules"] is not None and given["rules"].endswith(".toml"):
            given["rules"] = str(Path(path).parent / given["rules"])
        if given["goal"] is not None and not is_older(given["goal"]):
            folder, goal = Path(path).parent, parse_goal(given["goal"])
            given["goal"] = str(goal.with_paths(lambda kind, name: str(folder / name) if kind == "file" else name))
        job = cls().overridden(given)
        parse_bytes(job.cache)
        return job

    def result(self, problem: Recurrence, store: Store) -> Sequence[str]:
        """The headline of the table."""
        return table_of(problem, store).headline()


def _fixed_text(fields: Fields) -> str | None:
    value = fields.table.get("G")
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return ",".join(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return fields.optional_text("G")
