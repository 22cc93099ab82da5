"""Exploration: runs one scenario with many seeds, through crashes, lost and duplicated messages, and failing calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from stepward.app import App
from stepward.errors import DeclarationError
from stepward.testing.app_environment import AppEnvironment, _running
from stepward.testing.planned_faults import Chances

Scenario = Callable[[AppEnvironment], Awaitable[None]]
"""The coroutine that runs with each seed: it submits tasks, awaits them, and asserts what must hold under any fault."""

LOSS = DOUBLING = FAILURE = 0.03
"""Probabilities that a message is lost, that a message arrives twice, and that a call fails before it acts."""
CRASH, MOST_CRASHES = 0.01, 3
"""How often the process dies at a failpoint, and how many times in a run."""
MOST_SEEDS = 10_000_000


def explore(
    app: App,
    scenario: Scenario,
    *,
    seeds: int = 200,
    first: int = 0,
    fakes: Mapping[Any, Any] | None = None,
) -> None:
    """Run ``scenario`` once for each of ``seeds`` seeds from ``first`` on, each with other faults.

    The faults are those that Stepward promises to survive: a scenario asserts what must hold all the same, such as
    that everything is undone. For a test that is no coroutine: every run has an event loop of its own. Raises
    AssertionError from what failed, and names the seed, which brings about the same run again.
    """
    for name, value, minimum in (("seeds", seeds, 1), ("first", first, 0)):
        if type(value) is not int or not minimum <= value <= MOST_SEEDS:
            raise DeclarationError(f"explore(): expected {name} from {minimum} to {MOST_SEEDS:,}, found {value!r}")
    for seed in range(first, first + seeds):
        try:
            asyncio.run(_run(app, scenario, seed, fakes or {}))
        except Exception as error:
            raise AssertionError(
                f"explore(): seed {seed} broke the scenario: {type(error).__name__}: {error}; "
                f"explore(…, seeds=1, first={seed}) repeats it"
            ) from error


async def _run(app: App, scenario: Scenario, seed: int, fakes: Mapping[Any, Any]) -> None:
    chances = Chances(seed, loss=LOSS, doubling=DOUBLING, failure=FAILURE, crash=CRASH, crashes=MOST_CRASHES)
    async with _running(app, fakes, seed, chances) as env:
        await scenario(env)
