"""The run: products in turn over several rounds, recoveries, and sweeps, within a budget of time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from benchmarks.comparison import measures
from benchmarks.comparison.measures import Figures, Sizes
from benchmarks.comparison.process_trees import descendants
from benchmarks.comparison.products import RECOVERY, Product
from benchmarks.comparison.programs import ProgramFailed
from benchmarks.comparison.results import Results
from benchmarks.comparison.sweeps import SWEEPS

SWEEP_SECONDS, LONG_SECONDS, LEAST_SECONDS = 240.0, 3_600.0, 30.0
"""Most seconds of one size of a sweep, in a long run, and for the last one where the time is nearly used up."""
END_SECONDS = 20.0
"""Seconds that a sweep which was given up has for stopping its servers."""
LATE = "left out: the time of the run was used up"
ROUNDS_SHARE, RECOVERIES_SHARE = 0.6, 0.85
"""The parts of the budget after which no further round and no further recovery begins; sweeps follow."""

Measure = Callable[[Product, Sizes], Awaitable[Figures]]
Say = Callable[[str], None]


class Run:
    """Adds what it measures to the results; a product that fails is reported, and the others go on."""

    def __init__(self, products: Sequence[Product], sizes: Sizes, results: Results, say: Say) -> None:
        self._products = products
        self._sizes = sizes
        self._results = results
        self._say = say
        self._began = time.perf_counter()

    async def compare(self) -> None:
        """Run the rounds, each with the products in another order, and then a recovery of each."""
        for number in range(self._sizes.rounds):
            if number and self._is_late(ROUNDS_SHARE):
                self._results.missing["rounds"] = f"{number} of {self._sizes.rounds}: {LATE}"
                break
            for product in rotated(self._products, number):
                await self._measure(product, measures.round_of, f"round {number + 1}")
        for product in self._products:
            if RECOVERY not in product.takes:
                continue
            if self._is_late(RECOVERIES_SHARE):
                self._results.missing[f"{product.key}, recovery"] = LATE
            else:
                await self._measure(product, measures.recovery, "recovery")
        self._results.seconds = time.perf_counter() - self._began

    def sweep(self, *, is_long: bool) -> None:
        """Run every size of every sweep; those that take minutes only in a long run."""
        for name, sweep in SWEEPS.items():
            for size in (*sweep.sizes, *(sweep.long if is_long else ())):
                part = f"{name} {size}"
                if not is_long and self._is_late(1.0):
                    self._results.missing[part] = LATE
                    continue
                self._say(part)
                try:
                    figures = _in_fresh_process(name, size, LONG_SECONDS if is_long else self._left())
                except ProgramFailed as error:
                    self._results.missing[part] = str(error)
                else:
                    self._results.sweeps.setdefault(name, {})[size] = figures
        self._results.seconds = time.perf_counter() - self._began

    async def _measure(self, product: Product, measure: Measure, part: str) -> None:
        self._say(f"{product.title}, {part}")
        try:
            self._results.add(product.key, await measure(product, self._sizes))
        except (ProgramFailed, OSError, RuntimeError, TimeoutError) as error:
            reason = f"{type(error).__name__}: {error}" if not isinstance(error, ProgramFailed) else str(error)
            self._results.missing[f"{product.key}, {part}"] = reason.replace("\n", " ")
            self._say(f"{product.title}, {part}: {reason}")

    def _left(self) -> float:
        """Seconds that a size of a sweep may take, so that the last one does not exceed the budget by much."""
        left = self._sizes.budget_seconds - (time.perf_counter() - self._began)
        return min(SWEEP_SECONDS, max(LEAST_SECONDS, left))

    def _is_late(self, share: float) -> bool:
        return time.perf_counter() - self._began > share * self._sizes.budget_seconds


def rotated(products: Sequence[Product], number: int) -> list[Product]:
    """The products, beginning with another one in each round: none is always the one after the slowest."""
    first = number * 4 % len(products)
    return [*products[first:], *products[:first]]


def _in_fresh_process(name: str, size: str, seconds: float) -> Figures:
    command = [sys.executable, "-m", "benchmarks.comparison.sweeps", name, size]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        said, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise ProgramFailed(f"expected an end within {seconds:.0f} s, found none") from None
    finally:
        _end(process)
    if process.returncode:
        raise ProgramFailed((errors.strip().splitlines() or ["it wrote nothing"])[-1])
    figures: Figures = json.loads(said.splitlines()[-1])
    return figures


def _end(process: subprocess.Popen[str]) -> None:
    """End a process that may have been given up, with its servers: some of them are in sessions of their own."""
    if process.poll() is None:
        left = [*descendants(process.pid), process.pid]
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
