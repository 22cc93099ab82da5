"""Statistics of Agents: how the newest attempts at each ended, and how long they took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import ceil

from msgspec import Struct

from stepward.model.states import StepState


class StepAttempts(Struct, frozen=True):
    """The attempts of one step at an Agent, as the store has them."""

    agent: str
    state: StepState
    attempt: int
    """The number of the newest attempt."""
    started_at: float | None
    finished_at: float | None
    deferred_at: float | None


class AgentStats(Struct, frozen=True, kw_only=True):
    """How the newest attempts at an Agent ended, and how long they took."""

    name: str
    attempts: int
    """Attempts that ended; those of steps that their workflow abandoned are left out."""
    failed: int
    """Those of them that ended with an error, or without an outcome."""
    error_rate: float
    """The share of the attempts that failed, from 0 to 1."""
    p50_seconds: float | None
    """The median duration of the last attempts of steps that completed or failed; None if there is none. Those that
    were finished from outside are left out."""
    p95_seconds: float | None


def agent_stats(steps: Iterable[StepAttempts]) -> list[AgentStats]:
    """The attempts by Agent, by name; an Agent without an attempt that ended is left out."""
    ended, failed, durations = (
        defaultdict[str, int](int),
        defaultdict[str, int](int),
        defaultdict[str, list[float]](list),
    )
    for step in steps:
        attempts, failures = _outcomes(step)
        ended[step.agent] += attempts
        failed[step.agent] += failures
        if (duration := _duration(step)) is not None:
            durations[step.agent].append(duration)
    return [
        AgentStats(
            name=name,
            attempts=count,
            failed=failed[name],
            error_rate=failed[name] / count,
            p50_seconds=_percentile(sorted(durations[name]), 0.5),
            p95_seconds=_percentile(sorted(durations[name]), 0.95),
        )
        for name, count in sorted(ended.items())
        if count
    ]


def _outcomes(step: StepAttempts) -> tuple[int, int]:
    """How many attempts have ended, and how many of them failed: of those before the newest one, all."""
    before = step.attempt - 1
    if step.state in (StepState.COMPLETED, StepState.UNDONE):
        return before + 1, before
    if step.state in (StepState.FAILED, StepState.TO_REPEAT):
        return before + 1, before + 1
    return before, before


def _duration(step: StepAttempts) -> float | None:
    is_timed = step.state in (StepState.COMPLETED, StepState.FAILED) and step.deferred_at is None
    if not is_timed or step.started_at is None or step.finished_at is None:
        return None
    return max(0.0, step.finished_at - step.started_at)


def _percentile(ordered: Sequence[float], share: float) -> float | None:
    """The smallest of the values that at least this share of them does not exceed."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None
