"""Warns of messages and tasks that stand first in their queues for long: their least age, as messages carry no time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from stepward import durations
from stepward.model.records import Alert
from stepward.store.contract.values.early_warnings import QueueHead, WaitingTask, WarningFigures
from stepward.supervisor.early_warnings.warning import warning

CONFIRM_SECONDS = 15.0
"""Seconds for which the same task must be claimed next: one that was created long ago may have been delayed."""
MOST_SAMPLES = 1_000
"""Most samples kept; more frequent looks make the ages less exact, never too high."""


class QueueAges:
    """Compares what stands first now with what was newest at former looks."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._samples: deque[tuple[float, int]] = deque(maxlen=MOST_SAMPLES)
        """The instants of former looks, each with the newest token at that time."""
        self._first: dict[str, float] = {}
        """Since when each task is seen to be claimed next."""

    def old_heads(self, signs: WarningFigures, now: float) -> list[QueueHead]:
        """The first messages that were there at a look longer ago than the limit."""
        newest = max([signs.newest_token, *(token for _, token in self._samples)])
        self._samples.append((now, newest))
        while len(self._samples) > 1 and self._samples[1][0] <= now - self._limit:
            self._samples.popleft()
        at, token = self._samples[0]
        return [head for head in signs.heads if at <= now - self._limit and head.token <= token]

    def old_tasks(self, waiting: Sequence[WaitingTask], now: float) -> list[WaitingTask]:
        """The tasks that wait for longer than the limit, and have been first for some looks."""
        self._first = {task.id: self._first.get(task.id, now) for task in waiting}
        return [
            task
            for task in waiting
            if now - task.created_at > self._limit and now - self._first[task.id] >= CONFIRM_SECONDS
        ]


def old_heads(heads: Iterable[QueueHead], limit: float) -> list[Alert]:
    """One alert for each queue."""
    return [
        warning(
            "queue_old",
            f"queue {head.queue}: expected its messages to be taken within {durations.text(limit)}, found an older "
            "one; see whether its consumers run and keep up",
            queue=head.queue,
        )
        for head in heads
    ]


def old_tasks(tasks: Iterable[WaitingTask], limit: float) -> list[Alert]:
    """One alert for each workflow and version."""
    return [
        warning(
            "queue_old",
            f"workflow {task.workflow}@{task.version}: expected its tasks to start within {durations.text(limit)}, "
            f"found {task.id} waiting for longer; see whether its Schedulers keep up",
            workflow=task.workflow,
            version=task.version,
        )
        for task in tasks
    ]
