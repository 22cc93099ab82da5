"""The results of a run as tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.comparison.results import Results, Spread

NONE = "–"
TIMES = "Stepward is … times as fast"
SWEEP_TITLES = {
    "stored": "CPU of a step (µs, server included) beside ended tasks in the store",
    "flight": "steps/s with all tasks submitted at once",
    "processes": "steps/s of several processes on one store",
    "transports": "steps/s of a Scheduler process and an Agent process",
}
SWEEP_FIGURES = {"stored": "cpu_us_per_step"}
"""The figure that is shown of a sweep; of others it is ``steps_per_s``."""
STORES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def comparison_table(results: Results) -> str:
    """All products beside each other."""
    header = (
        "",
        "steps/s, 128 in flight",
        TIMES,
        "ten steps alone, ms",
        "queued tasks/s",
        "all done after `kill -9`, s",
        "CPU a step, µs: client + server",
        "memory, MiB: client + server",
        "written a step, kB",
        "commits a step",
    )
    return _table(header, [_row(results, key) for key in results.products])


def short_table(results: Results) -> str:
    """The figures that a reader of the README looks for, and when they were measured."""
    header = (
        "",
        "steps/s, 128 in flight",
        TIMES,
        "ten steps alone, ms",
        "all done after `kill -9`, s",
    )
    rows = [(*cells[:4], cells[5]) for cells in (_row(results, key) for key in results.products) if cells[1] != NONE]
    return f"{_table(header, rows)}\n\nMeasured on {_when(results)}, with {results.machine['cores']} cores."


def products_table(results: Results) -> str:
    """Versions, durability and remarks."""
    rows = [
        (each["title"], each["versions"] or NONE, each["durability"], each["remark"])
        for each in results.products.values()
    ]
    return _table(("", "versions", "a commit is", "how it is run"), rows)


def sweeps_table(results: Results) -> str:
    """Stepward alone, with one size varied."""
    rows = []
    for name, sizes in results.sweeps.items():
        kind, _, store = name.partition("-")
        figure = SWEEP_FIGURES.get(kind, "steps_per_s")
        shown = " · ".join(f"{_size(size)}: {number(figures[figure])}" for size, figures in sizes.items())
        rows.append((SWEEP_TITLES[kind], STORES[store], shown))
    return _table(("", "store", "by size"), rows)


def conditions(results: Results) -> str:
    """The machine and the date of the run in a sentence, with parts that have no figures."""
    machine = results.machine
    said = (
        f"One run of {_when(results)}, "
        f"{results.seconds / 60:.0f} minutes: "
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']:.0f} GiB, {machine['system']}, "
        f"Python {machine['python']}, commit {machine['commit']}; "
        f"a synced write of a page takes {machine['fsync_ms']:.2g} ms; "
        f"load before the run {machine['load_before']}."
    )
    missing = [f"* {_titled(results, part)}: {reason}" for part, reason in results.missing.items()]
    return "\n".join((said, *(["", "Not measured in it:", "", *missing] if missing else [])))


def _row(results: Results, key: str) -> tuple[str, ...]:
    title, beside = results.products[key]["title"], results.products[key]["beside"]
    if key not in results.rounds:
        why = next(
            (reason for part, reason in results.missing.items() if part.startswith(f"{key},")), "no reason known"
        )
        return (title, "not measured: " + why.replace("|", "\\|"), *[NONE] * 8)
    ratio = None if key == beside else results.ratio(beside, key, "steps_per_s")
    figure = results.spread
    return (
        title,
        _spread(figure(key, "steps_per_s")),
        _spread(ratio),
        _spread(figure(key, "alone_p50_ms")),
        _spread(figure(key, "queued_tasks_per_s")),
        _median(figure(key, "recovered_after_s")),
        _both(figure(key, "client_cpu_us"), figure(key, "server_cpu_us")),
        _both(figure(key, "client_mib"), figure(key, "server_mib")),
        _median(figure(key, "written_bytes"), divisor=1_000),
        _median(figure(key, "commits")),
    )


def _when(results: Results) -> str:
    return f"{results.date}{f' on a {results.note}' if results.note else ''}"


def _titled(results: Results, part: str) -> str:
    key, _, what = part.partition(", ")
    return f"{results.products[key]['title']}, {what}" if key in results.products else part


def _spread(spread: Spread | None) -> str:
    """The median, with the least and the largest in parentheses where they are other numbers."""
    if spread is None:
        return NONE
    median, least, most = map(number, spread)
    return median if least == most else f"{median} ({least}–{most})"


def _both(client: Spread | None, server: Spread | None) -> str:
    if client is None or server is None:
        return NONE
    if not server.median:
        return number(client.median)
    return f"{number(client.median)} + {number(server.median)}"


def _median(spread: Spread | None, *, divisor: float = 1) -> str:
    return NONE if spread is None else number(spread.median / divisor)


def number(value: float) -> str:
    """Three digits, which is as much as a machine repeats."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if rounded >= 100 else f"{rounded:g}"


def _size(size: str) -> str:
    return f"{int(size):,}" if size.isdigit() else size


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = [list(header), *map(list, rows)]
    cells.insert(1, ["---", *["---:" for _ in cells[0][1:]]])
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
