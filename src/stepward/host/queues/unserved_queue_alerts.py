"""Alerts for non-empty queues of applications that have no consumer.

One Scheduler's process checks, the first by name. A submission queue is consumed by live submission processes, which
the store knows; a response queue by its reader, which only a broker knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from stepward.errors import StoreError, TransportError
from stepward.host.assembly import Parts
from stepward.host.queues.status_event_relay import carrier_of
from stepward.model.messages.requests import submission_queue
from stepward.model.records import Alert, Instance, Role
from stepward.transport.broker.queue_names import own_queue

KIND = "queue_unserved"
LOOK_SECONDS = 15.0
"""Seconds between two looks, unless the process polls more rarely."""
UNSERVED_SECONDS = 30.0
"""Seconds without a consumer after which a submission queue is an alert."""
UNREAD_SECONDS = 300.0
"""Seconds without a reader after which a response queue is an alert: its reader may be restarting."""
LONGEST_LOOK_SECONDS = 20.0
"""Most seconds that count between two checks: more mean that a clock was stepped or this process stopped."""
MOST_ALERTS = 1_000
SHARE = "unserved queues"


class UnservedTimes:
    """How long each queue has been found unserved; ``now`` is the store's clock, which may jump."""

    def __init__(self) -> None:
        self._looked_at = 0.0
        self._times: Mapping[str, float] = {}

    def found(self, queues: Collection[str], now: float) -> Mapping[str, float]:
        """By queue found unserved now, for how many seconds; other queues start again."""
        passed = min(max(now - self._looked_at, 0.0), LONGEST_LOOK_SECONDS)
        self._looked_at = now
        self._times = {queue: self._times[queue] + passed if queue in self._times else 0.0 for queue in queues}
        return self._times

    def forget(self) -> None:
        """Forget everything: another process checks."""
        self._times = {}


class UnservedQueues:
    """Checks at intervals; ``instance`` is this process's Scheduler, ``carried`` the response queues it knows."""

    def __init__(self, parts: Parts, instance: Callable[[], str | None], carried: Collection[str]) -> None:
        self._parts = parts
        self._instance = instance
        self._carried = carried
        self._times = UnservedTimes()

    async def keep(self) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(max(LOOK_SECONDS, self._parts.settings.poll))
            try:
                await self._look()
            except StoreError as error:
                self._parts.observers.emit("store.unavailable", error=str(error))
            except TransportError as error:
                self._parts.observers.emit("queue.look_failed", error=str(error))

    async def _look(self) -> None:
        store, now = self._parts.store, self._parts.store.now()
        instances = await store.operators.instances()
        instance = self._instance()
        if instance is None or instance != carrier_of(SHARE, instances, now, self._parts.settings.lease):
            self._times.forget()
            return
        raised = await self._raised()
        unserved = await self._unserved(instances, raised)
        times = self._times.found(unserved, now)
        for queue in raised - unserved.keys():
            await store.host.end_warning(KIND, _details(queue), instance)
        for queue, patience in unserved.items():
            if queue not in raised and times[queue] >= patience:
                await store.host.warn(unserved_alert(queue, times[queue]))

    async def _unserved(self, instances: Sequence[Instance], raised: Collection[str]) -> Mapping[str, float]:
        """By queue, the seconds without a consumer that are tolerated; ``raised`` are queues with an open alert."""
        app, queues = self._parts.app, self._parts.queues
        known = [submission_queue(app, submission.queue) for submission in self._parts.submissions]
        posted = await queues.nonempty(f"submissions.{app}.", known)
        # A process that was restarted knows only the queues that it has carried since.
        response_queues = {queue for queue in raised if queue.startswith(f"replies.{app}.")}
        responses = await queues.nonempty(f"replies.{app}.", response_queues.union(self._carried))
        serving = [each.serves for each in instances if each.alive and each.role is Role.SUBMISSION]
        served = {submission_queue(app, queue) for serves in serving for queue in serves}
        if self._parts.partition is not None:
            served |= {own_queue(queue, self._parts.partition.name) for queue in served}
        found = {queue: UNSERVED_SECONDS for queue, is_read in posted.items() if not is_read and queue not in served}
        return found | {queue: UNREAD_SECONDS for queue, is_read in responses.items() if is_read is False}

    async def _raised(self) -> set[str]:
        alerts = await self._parts.store.operators.alerts(MOST_ALERTS, open_only=True)
        return {msgspec.json.decode(alert.details)["queue"] for alert in alerts if alert.kind == KIND}


def unserved_alert(queue: str, seconds: float) -> Alert:
    """The alert for a queue, with the same details in every process."""
    who, what = ("a reader", "read it") if queue.startswith("replies.") else ("a submission process", "start one")
    return Alert(
        kind=KIND,
        message=f"queue {queue}: expected {who}, found none for {seconds:.0f} s while messages wait; {what}",
        details=_details(queue),
    )


def _details(queue: str) -> bytes:
    return msgspec.json.encode({"queue": queue})
