"""``python -m benchmarks.comparison [--long] [--note TEXT] [PRODUCT …]``: measure, and write the file of results."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from benchmarks.comparison.machine import described, machine
from benchmarks.comparison.measures import Sizes
from benchmarks.comparison.process_trees import descendants
from benchmarks.comparison.products import PRODUCTS
from benchmarks.comparison.results import RESULTS, Results, write
from benchmarks.comparison.run import Run
from benchmarks.comparison.tables import comparison_table

QUICK = Sizes(rounds=1, warm_seconds=0.5, ten_seconds=1.5, alone_seconds=1.0, queued_seconds=0.5, held=50)
LONG = Sizes(rounds=9, warm_seconds=3.0, ten_seconds=15.0, alone_seconds=8.0, queued_seconds=4.0)
PARTIAL = Path("build/comparison.json")
"""The results of a run of some products, which no page shows."""


def main(arguments: list[str]) -> int:
    """Measure those products, or all and the sweeps; 1 if one of them has no figures, 2 for an unknown product."""
    asked = _parsed(arguments)
    known = {each.key: each for each in PRODUCTS}
    if unknown := sorted(set(asked.products) - {*known, "all"}):
        print(f"benchmarks: products: expected some of {', '.join(known)}, found {', '.join(unknown)}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _end)
    chosen = [known[key] for key in known if key in asked.products] or list(PRODUCTS)
    sizes = QUICK if asked.quick else LONG if asked.long else Sizes()
    if asked.long:
        sizes = sizes._replace(budget_seconds=float("inf"))
    is_whole = len(chosen) == len(PRODUCTS) and not asked.quick
    path = RESULTS if is_whole else PARTIAL
    results = Results(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        note=asked.note,
        machine=machine(),
        sizes={name: value for name, value in sizes._asdict().items() if value != float("inf")},
        products=described(chosen),
    )
    try:
        run = Run(chosen, sizes, results, lambda line: print(line, flush=True))
        asyncio.run(run.compare())
        if is_whole:
            run.sweep(is_long=asked.long)
    except BaseException:
        # What was measured is not lost, and the pages still show a whole run.
        write(results, PARTIAL)
        raise
    write(results, path)
    print(comparison_table(results))
    print(*(f"{part}: {reason}" for part, reason in results.missing.items()), sep="\n")
    print(f"{results.seconds:.0f} s; results in {path}; `make bench-pages` shows those in {RESULTS} on the pages")
    if left := descendants(os.getpid()):
        print(f"benchmarks: expected no process to be left, found {left}", file=sys.stderr)
        return 1
    return 0 if all(each.key in results.rounds for each in chosen) else 1


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison", description=__doc__)
    parser.add_argument(
        "--long", action="store_true", help="longer rounds, more of them, and stores of 10,000,000 tasks"
    )
    parser.add_argument("--quick", action="store_true", help="one short round, to see whether every product runs")
    parser.add_argument("--note", default="", help="conditions that the pages must name, as 'busy machine'")
    parser.add_argument("products", nargs="*")
    return parser.parse_args(arguments)


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(143)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
