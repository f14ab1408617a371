"""Plans as text, JSON and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yahtzee_cluster.engine.fixed_set import MOST_CLASSES
from yahtzee_cluster.engine.simulator import Costs, Forecast
from yahtzee_cluster.errors import UsageError, needs
from yahtzee_cluster.runtime.planner import Plan, Row
from yahtzee_cluster.runtime.scaling import SAME, Scaling
from yahtzee_cluster.text import rough_size, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MIB = 1 << 20
THESIS = "         thesis                     |"
THESIS_COLUMNS = "   classes     cache   reads   |"
HEADING = "  classes     cache   reads   largest     busy   fits  |      time    idle  efficiency"


def as_json(plan: Plan | Scaling) -> dict[str, Any]:
    """A plan or a scaling as JSON data."""
    listed = asdict(plan)
    forecasts = [*zip([row.forecast for row in plan.rows], listed["rows"], strict=True)]
    if isinstance(plan, Plan) and plan.own:
        forecasts.append((plan.own.forecast, listed["own"]))
    for forecast, written in forecasts:
        if forecast:
            written["forecast"] |= {"efficiency": forecast.efficiency, "idle": forecast.idle}
    return {**listed.pop("about"), **listed}


def as_text(plan: Plan | Scaling) -> list[str]:
    """A plan or a scaling as lines of text."""
    return _plan_as_text(plan) if isinstance(plan, Plan) else _scaling_as_text(plan)


def _title(about: Mapping[str, Any]) -> str:
    told = {key: value for key, value in about.items() if value is not None}
    return ", ".join(value if isinstance(value, str) else f"{key} {value}" for key, value in told.items())


def _memory(plan: Plan | Scaling, of_ranks: str = " rank") -> str:
    in_all = rough_size(plan.cache_bytes + plan.fixed_bytes)
    parts = f"a cache of {rough_size(plan.cache_bytes)}, and {rough_size(plan.fixed_bytes)} besides"
    return f"{in_all} for each{of_ranks}: {parts}"


def _about_costs(costs: Costs, origin: str) -> list[str]:
    times = [
        f"{_time(seconds)} {what}"
        for seconds, what in (
            (costs.value_s, "a value"),
            (costs.subset_s, "a subset"),
            (costs.class_s + costs.commit_s, "a class"),
            (costs.start_s, "to start"),
        )
    ]
    rates = [
        f"{what} {rate / 1e9:.1f} GB/s"
        for what, rate in (("reads", costs.disk_read_bytes_per_s), ("writes", costs.disk_write_bytes_per_s))
    ]
    return [
        f"costs      {origin}:",
        f"           {', '.join(times)},",
        f"           a shared disk that {' and '.join(rates)}",
    ]


def _time(seconds: float) -> str:
    """A time with two or three digits and its unit."""
    unit, size = next(
        ((unit, size) for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)) if seconds >= size), ("ns", 1e-9)
    )
    return f"{seconds / size:.{1 if 0 < seconds < 10 * size else 0}f} {unit}"


def _plan_as_text(plan: Plan) -> list[str]:
    plain = rough_size(plan.thesis_table_bytes)
    lines = [
        _title(plan.about),
        f"table      {rough_size(plan.table_bytes)} on disk"
        + f" ({plain} with every subset as large)" * plan.of_thesis,
        f"memory     {_memory(plan, f' of {plan.ranks} ranks')}",
        *_about_costs(plan.costs, plan.costs_origin),
        "",
    ]
    if plan.of_thesis:
        lines.append(f"{THESIS}  {'this program':<52}|  as simulated")
    lines.append(f" |G|{THESIS_COLUMNS * plan.of_thesis}{HEADING}")
    lines += [_row_as_text(row, of_thesis=plan.of_thesis) for row in plan.rows]
    if plan.own:
        lines += [
            _row_as_text(plan.own, of_thesis=plan.of_thesis),
            f"  The last line is for --G {','.join(plan.own.G)}.",
        ]
    if plan.left_out:
        lines.append(
            f"  Left out: {plan.left_out[0]} to {plan.left_out[-1]}, which make more than {MOST_CLASSES:,} classes."
        )
    if plan.advised is None:
        return [*lines, "", "No G makes it fit; take a larger --cache."]
    names = ",".join(plan.rows[plan.advised].G) or "no element is fixed"
    return [
        *lines,
        "",
        f"Advised: --G {plan.advised} ({names}), the smallest of those that are nearly as fast as the best.",
    ]


def _row_as_text(row: Row, *, of_thesis: bool) -> str:
    thesis = (
        f"{row.thesis_classes:>10}{rough_size(row.thesis_cache_bytes):>10}{row.thesis_reads_per_value:>8.3f}   |"
        if of_thesis
        else ""
    )
    return (
        f"{row.n_fixed:>4}{thesis}{row.classes:>9}{rough_size(row.cache_bytes):>10}"
        f"{row.reads_per_value:>8.3f}{rough_size(row.largest_class_bytes):>10}{row.most_busy:>9.1f}"
        f"{'yes' if row.fits else 'no':>7}  |  {_simulated(row.forecast)}"
    )


def _simulated(forecast: Forecast | None) -> str:
    if forecast is None:
        return "-"
    return f"{forecast.makespan_s:8.2f} s  {forecast.idle:5.0%}  {forecast.efficiency:10.0%}"


def _scaling_as_text(scaling: Scaling) -> list[str]:
    unit, unit_s = ("core-hours", 3600) if scaling.rows[0].core_s >= 3600 else ("core-seconds", 1)
    decimals = int(scaling.rows[0].core_s < 100 * unit_s)
    own = "" if scaling.G is None else f"  {f'with |G| = {len(scaling.G)}':>14}"
    lines = [
        _title(scaling.about),
        f"table      {rough_size(scaling.table_bytes)} on disk",
        f"memory     {_memory(scaling)}",
        *_about_costs(scaling.costs, scaling.costs_origin),
        "",
        f"ranks  |G|  classes         time  efficiency  {unit:>12}       read  memory in all{own}",
    ]
    for row in scaling.rows:
        memory = row.ranks * (scaling.cache_bytes + scaling.fixed_bytes)
        as_asked = "" if row.as_asked is None else f"  {row.as_asked.makespan_s:>12.2f} s"
        lines.append(
            f"{row.ranks:>5}  {row.n_fixed:>3}  {row.classes:>7,}  {row.forecast.makespan_s:>9.2f} s  "
            f"{row.forecast.efficiency:>10.0%}  {row.core_s / unit_s:>12,.{decimals}f}  "
            f"{rough_size(row.forecast.bytes_read):>9}  {rough_size(memory):>13}{as_asked}"
        )
    return [*lines, "", _worth(scaling)]


def _worth(scaling: Scaling) -> str:
    at = next(i for i, row in enumerate(scaling.rows) if row.ranks == scaling.worth)
    best, more = scaling.rows[at], scaling.rows[at + 1 :]
    advice = f"Worth it: about {scaling.worth} ranks, with --G {best.n_fixed}"
    if not more:
        return f"{advice}, and perhaps more."
    saved = max(0.0, 1 - more[0].forecast.makespan_s / best.forecast.makespan_s)
    least = min(row.forecast.makespan_s for row in scaling.rows)
    fastest = next(row.ranks for row in scaling.rows if row.forecast.makespan_s <= (1 + SAME) * least)
    if fastest <= scaling.worth:
        return f"{advice}; beyond that nothing gets faster."
    return f"{advice}; twice as many save {saved:.0%} of the time, and beyond {fastest} nothing gets faster."


# ----------------------------------------------------------------------------------------------------- figures


def plot(plan: Plan | Scaling, file: Path) -> None:
    """Plot memory and reads against the size of the fixed set, or time and efficiency against the number of ranks."""
    if not file.suffix:
        raise UsageError(f"plot: {shown(str(file))}: expected a file whose name ends in .svg, .png or .pdf")
    with needs("plot", "matplotlib", extra="plot"):
        import matplotlib as mpl
        from matplotlib.figure import Figure

    mpl.rcParams["svg.hashsalt"] = "yahtzee_cluster"  # the same plan makes the same file
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    if isinstance(plan, Plan):
        _plot_plan(plan, figure)
    else:
        _plot_scaling(plan, figure)
    figure.suptitle(_title(plan.about), parse_math=False)
    try:
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
    except (OSError, ValueError) as error:
        raise UsageError(f"plot: {file} cannot be written: {error}") from error


def _plot_plan(plan: Plan, figure: Figure) -> None:
    """As in figures 5.7 and 5.8 of the thesis."""
    memory, reads = figure.subplots(1, 2)
    sizes = [row.n_fixed for row in plan.rows]
    for axes, thesis, true in (
        (memory, [row.thesis_cache_bytes / MIB for row in plan.rows], [row.cache_bytes / MIB for row in plan.rows]),
        (reads, [row.thesis_reads_per_value for row in plan.rows], [row.reads_per_value for row in plan.rows]),
    ):
        if plan.of_thesis:
            axes.plot(sizes, thesis, "o--", color="0.45", label="by the thesis' formula")
        axes.plot(sizes, true, "s-", color="black", label="this program")
        axes.set_xlabel("size of the fixed set, |G|")
        axes.set_xticks(sizes)
        axes.grid(color="0.9")
    memory.set_yscale("log")
    memory.axhline(plan.cache_bytes / MIB, color="0.3", linewidth=1, linestyle=":", label="cache of a rank")
    memory.set_ylabel("memory needed at once, MB")
    reads.set_ylabel("values read for each value of the table")
    memory.legend()
    reads.legend()


def _plot_scaling(scaling: Scaling, figure: Figure) -> None:
    from matplotlib.ticker import LogLocator

    time, efficiency = figure.subplots(1, 2)
    ranks = [row.ranks for row in scaling.rows]
    computing_s = scaling.rows[0].forecast.computing_s / scaling.threads
    ideal_s = [computing_s / (n - 1) for n in ranks]
    time.plot(ranks, ideal_s, ":", color="0.45", label="computing alone, divided evenly")
    lines = [("s-", "black", "with the best G for each", [row.forecast for row in scaling.rows])]
    if scaling.G is not None:
        own = [row.as_asked for row in scaling.rows if row.as_asked]
        lines.append(("o--", "0.45", f"with the job's G, |G| = {len(scaling.G)}", own))
    for style, color, label, found in reversed(lines):
        time.plot(ranks, [forecast.makespan_s for forecast in found], style, color=color, label=label)
        efficiency.plot(ranks, [100 * forecast.efficiency for forecast in found], style, color=color, label=label)
    time.set_yscale("log", subs=())
    time.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    time.yaxis.set_major_formatter("{x:g}")
    time.set_ylim(bottom=min(row.forecast.makespan_s for row in scaling.rows) / 2)
    time.set_ylabel("time, s")
    efficiency.set_ylim(0, 105)
    efficiency.set_ylabel("efficiency, %")
    for axes in (time, efficiency):
        axes.set_xscale("log", base=2)
        axes.set_xticks(ranks, [f"{n:,}" for n in ranks])
        axes.set_xlabel("ranks, the master among them")
        axes.axvline(scaling.worth, color="0.3", linewidth=1, label=f"worth it: about {scaling.worth}")
        axes.grid(color="0.9")
        axes.legend()
