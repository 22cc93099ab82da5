"""``python -m simulation``: run many seeds, each a world of its own; exit 1 names what broke."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path

from simulation.corpus import Corpus
from simulation.environment.faulty_transport import REQUESTS, RESULT
from simulation.planted_bugs.bugs import BUGS, planted
from simulation.reduction import CALM, WHOLE, Cut
from simulation.run import Result, run_seed

CHUNK = 10
BUG_SEEDS = 300
LEAST_DONE = 0.2
"""The share of tasks that must end processed, or the faults leave nothing to be proved."""


class Summary:
    """What many seeds together did."""

    def __init__(self, *, is_calm: bool = False, is_direct: bool = False) -> None:
        self._is_calm = is_calm
        self.is_direct = is_direct
        self.seeds = 0
        self.tasks = 0
        self.processed = 0
        self.callbacks = 0
        self.virtual_seconds = 0.0
        self.faults: Counter[str] = Counter()
        self.situations: Counter[str] = Counter()
        self.broken: list[Result] = []

    def add(self, result: Result) -> None:
        """Count a seed in."""
        self.seeds += 1
        self.tasks += result.tasks
        self.processed += result.processed
        self.callbacks += result.callbacks
        self.virtual_seconds += result.seconds
        self.faults += result.faults
        self.situations += result.situations
        if result.violations:
            self.broken.append(result)

    @property
    def void(self) -> str | None:
        """Why the run proves nothing, if so: no fault, hardly a task processed, or no plain call in a direct run."""
        if self.seeds and not self.faults and not self._is_calm:
            return "no fault was delivered"
        if self.seeds and self.processed < LEAST_DONE * self.tasks:
            return f"only {self.processed} of {self.tasks} tasks were processed"
        if self.seeds and self.is_direct and not (self.situations[REQUESTS] and self.situations[RESULT]):
            return f"expected requests and results to pass by plain calls, found {self.direct_puts}"
        return None

    @property
    def direct_puts(self) -> str:
        """How often messages were put by a plain call."""
        return f"{self.situations[REQUESTS]:,} puts of requests and {self.situations[RESULT]:,} of results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; the exit code."""
    options = _options(arguments)
    if options.bugs:
        return _find_all(options.seeds or BUG_SEEDS, options.first, options.jobs, direct=options.direct)
    if options.corpus is not None and not _holds(Corpus(options.corpus), options.first, direct=options.direct):
        return 1
    summary = Summary(is_calm=options.calm, is_direct=options.direct)
    began = time.perf_counter()
    seeds = range(options.first, options.first + (options.seeds or 100))
    cut = CALM if options.calm else WHOLE
    for result in results(seeds, options.bug, options.jobs, cut, direct=options.direct):
        summary.add(result)
        if options.verbose:
            _tell_seed(result)
        elif sys.stderr.isatty():
            print(f"\r{summary.seeds} seeds, {len(summary.broken)} broken", end="", file=sys.stderr, flush=True)
        if summary.broken and not options.go_on:
            break
    _tell(summary, time.perf_counter() - began, verbose=options.verbose)
    return 1 if summary.broken or summary.void else 0


def _holds(corpus: Corpus, first: int, *, direct: bool) -> bool:
    """Whether nothing that was found once is found again; the programs run in the world of the first seed."""
    summary = Summary(is_direct=direct)
    for seed in corpus.seeds().values():
        summary.add(run_seed(seed, plain=True, direct=direct))
        summary.add(run_seed(seed, direct=direct))
        gc.collect()
    summary.add(run_seed(first, direct=direct, experiments=corpus.experiments()))
    print(f"{summary.seeds} worlds of the corpus, {len(summary.broken)} broken")
    _tell_broken(summary)
    return not summary.broken


def results(
    seeds: Sequence[int], bug: str | None, jobs: int, cut: Cut = WHOLE, *, direct: bool = False
) -> Iterator[Result]:
    """Run seeds, on several processors if there are; closing the iterator stops the work."""
    if jobs <= 1 or len(seeds) < 2 * CHUNK:
        yield from _chunk(list(seeds), bug, cut, direct)
        return
    chunks = [list(seeds[start : start + CHUNK]) for start in range(0, len(seeds), CHUNK)]
    with _workers(jobs) as pool:
        for found in pool.map(_listed, chunks, repeat(bug), repeat(cut), repeat(direct)):
            yield from found


@contextmanager
def _workers(jobs: int) -> Iterator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(jobs)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _listed(seeds: list[int], bug: str | None, cut: Cut, direct: bool) -> list[Result]:
    return list(_chunk(seeds, bug, cut, direct))


def _chunk(seeds: list[int], bug: str | None, cut: Cut, direct: bool) -> Iterator[Result]:
    gc.collect()
    gc.freeze()
    with planted(bug):
        for seed in seeds:
            yield run_seed(seed, cut=cut, direct=direct)
            gc.collect()


def _find_all(seeds: int, first: int, jobs: int, *, direct: bool) -> int:
    missed = 0
    for bug in BUGS:
        ran = results(range(first, first + seeds), bug, jobs, direct=direct)
        found = next((result for result in ran if result.violations), None)
        missed += found is None
        told = f"seed {found.seed}: {found.violations[0]}" if found else f"NOT FOUND within {seeds} seeds"
        print(f"{bug:32} {told[:150]}", flush=True)
    return 1 if missed else 0


def _tell_seed(result: Result) -> None:
    outcome = "BROKEN" if result.violations else "ok"
    print(f"seed {result.seed}: {outcome}, {result.processed}/{result.tasks} tasks processed, {result.seconds:.0f} s")
    print(f"  {result.description}\n  {result.fingerprint}")


def _tell(summary: Summary, seconds: float, *, verbose: bool) -> None:
    if sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    _tell_broken(summary)
    share = 100 * summary.processed / max(1, summary.tasks)
    print(
        f"{summary.seeds} seeds in {seconds:.1f} s ({summary.seeds / seconds:.1f}/s), {len(summary.broken)} broken; "
        f"{summary.tasks} tasks, {share:.0f}% processed; {summary.virtual_seconds / 3600:.1f} h of virtual time, "
        f"{summary.callbacks:,} callbacks, {summary.faults.total():,} faults"
    )
    if summary.is_direct:
        print(f"by plain calls: {summary.direct_puts}")
    if verbose or len(summary.broken) == 0:
        print("faults: " + ", ".join(f"{kind} {count}" for kind, count in sorted(summary.faults.items())))
        print("reached: " + ", ".join(f"{what} {count}" for what, count in sorted(summary.situations.items())))
    if summary.void:
        print(f"void: {summary.void}")


def _tell_broken(summary: Summary) -> None:
    for result in summary.broken[:3]:
        print(f"seed {result.seed} broke: {result.description}")
        print("\n".join(result.timeline))
        print("\n".join(result.violations[:5]))
        direct = " --direct" if summary.is_direct else ""
        print(f"again: python -m simulation --seeds 1 --from {result.seed}{direct}")
        print(f"smaller: python -m simulation.shrink --seed {result.seed}{direct}\n")
    for result in summary.broken[3:]:
        print(f"seed {result.seed} broke: {result.violations[0]}")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=None, help="how many (100; with --bugs at most 300 for each)")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--bug", choices=sorted(BUGS), help="plant this bug: the run must break")
    parser.add_argument(
        "--bugs", action="store_true", help="plant each bug in turn, and say after which seed it showed"
    )
    parser.add_argument("--calm", action="store_true", help="leave all faults out: nothing may be done twice")
    parser.add_argument("--direct", action="store_true", help="messages in memory pass by plain calls")
    parser.add_argument("--corpus", type=Path, help="a folder of what once broke, to be run first")
    parser.add_argument("--go-on", action="store_true", help="do not stop at the first broken seed")
    parser.add_argument("--verbose", action="store_true", help="tell of each seed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
