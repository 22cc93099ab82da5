"""``build/docs/bin/python -m benchmarks.comparison.plots``: draw the last whole run, in a light and a dark edition.

Runs in the environment of the documentation. Each file names the digest of the results that it was drawn from.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.ticker import StrMethodFormatter

from benchmarks.comparison.results import RESULTS, Results, digest, read
from benchmarks.comparison.tables import STORES, number

FOLDER = Path("docs/images/benchmarks")
INK = {"light": "#1f2328", "dark": "#e6edf3"}
PAPER = {"light": "#ffffff", "dark": "#161b22"}
OURS = {"light": "#3949ab", "dark": "#8c9eff"}
THEIRS = {"light": "#8d99a6", "dark": "#768390"}
SECOND = {"light": "#c2410c", "dark": "#f59e6b"}
INCHES = (7.6, 4.2)

Draw = Callable[[Any, Results, str], None]


def throughput(axes: Any, results: Results, mode: str) -> None:
    """Steps a second of every product, on a logarithmic scale."""
    _bars(axes, results, mode, "steps_per_s", "steps/s of ten-step tasks, 128 in flight (logarithmic; more is better)")


def latency(axes: Any, results: Results, mode: str) -> None:
    """Milliseconds of ten steps of one task alone."""
    _bars(axes, results, mode, "alone_p50_ms", "ms for the ten steps of one task alone (logarithmic; less is better)")


def growth(axes: Any, results: Results, mode: str) -> None:
    """CPU of a step beside stored tasks."""
    _lines(axes, results, mode, "stored", "cpu_us_per_step")
    axes.set_xlabel("ended tasks in the store")
    axes.set_ylabel("CPU of a step, µs")


def flight(axes: Any, results: Results, mode: str) -> None:
    """Throughput with more and more tasks in flight."""
    _lines(axes, results, mode, "flight", "steps_per_s")
    axes.set_xlabel("tasks in flight")
    axes.set_ylabel("steps/s")


PLOTS: dict[str, Draw] = {"throughput": throughput, "latency": latency, "growth": growth, "flight": flight}


def _bars(axes: Any, results: Results, mode: str, figure: str, label: str) -> None:
    found = [(key, spread) for key in results.products if (spread := results.spread(key, figure)) is not None]
    found.sort(key=lambda each: each[1].median, reverse=figure != "steps_per_s")
    names = [results.products[key]["title"] for key, _ in found]
    medians = [spread.median for _, spread in found]
    colours = [OURS[mode] if key.startswith("stepward") else THEIRS[mode] for key, _ in found]
    axes.barh(names, medians, color=colours, height=0.62)
    axes.set_xscale("log")
    # Room for the labels behind the bars.
    axes.set_xlim(min(medians) / 3, max(medians) * 4)
    for place, median in enumerate(medians):
        axes.text(median * 1.08, place, number(median), va="center")
    axes.set_xlabel(label)


def _lines(axes: Any, results: Results, mode: str, kind: str, figure: str) -> None:
    for store, colour in (("sqlite", OURS[mode]), ("postgresql", SECOND[mode])):
        sizes = results.sweeps.get(f"{kind}-{store}", {})
        if sizes:
            values = [sizes[size][figure] for size in sizes]
            axes.plot([int(size) for size in sizes], values, marker="o", color=colour, label=STORES[store])
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.grid(axis="y", color=THEIRS[mode], alpha=0.3)
    if axes.lines:
        axes.legend(frameon=False, labelcolor=INK[mode])


def _style(mode: str) -> dict[str, Any]:
    ink, paper = INK[mode], PAPER[mode]
    coloured = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), ink)
    filled = dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), paper)
    return {
        **coloured,
        **filled,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.family": "sans-serif",
        "font.size": 10,
        "svg.fonttype": "none",
        "svg.hashsalt": "stepward",
    }


def main() -> None:
    """Draw every plot in both editions."""
    results = read()
    FOLDER.mkdir(parents=True, exist_ok=True)
    mpl.use("svg")
    for name, draw in PLOTS.items():
        for mode in INK:
            with mpl.rc_context(_style(mode)):
                figure, axes = plt.subplots(figsize=INCHES, layout="constrained")
                draw(axes, results, mode)
                metadata = {"Date": None, "Description": f"results {digest(RESULTS)}"}
                figure.savefig(FOLDER / f"{name}-{mode}.svg", metadata=metadata)
                plt.close(figure)


if __name__ == "__main__":
    main()
