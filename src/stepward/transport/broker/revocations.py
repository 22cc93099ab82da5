"""Revocations that a process has received: a revoked request is answered when it is taken."""

from __future__ import annotations

from collections.abc import Sequence

from stepward.model.messages.requests import Request

MOST_REMEMBERED = 10_000
"""Most revoked steps remembered, the latest; older requests are performed, and their outcome is undone."""
MOST_OWN = 1_000
"""Most own revocations kept per queue, for Agents that come later."""

RevokedStep = tuple[str, int, str]
"""Task, run and key."""


class Revocations:
    """By step, the last revoked attempt; later attempts are valid."""

    def __init__(self) -> None:
        self._attempts: dict[RevokedStep, int] = {}

    def note(self, task: str, run: int, key: str, attempt: int) -> None:
        """Note that the step's attempts up to this one are revoked."""
        step = task, run, key
        self._attempts[step] = max(attempt, self._attempts.pop(step, 0))
        if len(self._attempts) > MOST_REMEMBERED:
            del self._attempts[next(iter(self._attempts))]

    def covers(self, request: Request) -> bool:
        """Whether the request is revoked."""
        return request.attempt <= self._attempts.get((request.task, request.run, request.key), 0)


class OwnRevocations:
    """The revocations that this process sent, by queue, the latest ones."""

    def __init__(self) -> None:
        self._steps: dict[str, dict[RevokedStep, int]] = {}

    def note(self, queue: str, task: str, run: int, key: str, attempt: int) -> None:
        """Note that the step's attempts up to this one are revoked."""
        steps = self._steps.setdefault(queue, {})
        steps.pop((task, run, key), None)
        steps[task, run, key] = attempt
        if len(steps) > MOST_OWN:
            del steps[next(iter(steps))]

    def of(self, queue: str) -> Sequence[tuple[RevokedStep, int]]:
        """The revocations of a queue, the oldest first."""
        return list(self._steps.get(queue, {}).items())
