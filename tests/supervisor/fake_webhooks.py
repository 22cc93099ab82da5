"""Webhooks of a store in memory."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from stepward.model.messages.webhook_retries import Deliveries, RefusedEvent, WaitingEvent, Webhook


class FakeWebhooks:
    """Implements ``WebhookDeliveryStore``."""

    def __init__(self) -> None:
        self.known: dict[str, Webhook] = {}
        self.queues: dict[str, list[WaitingEvent]] = {}
        self.letters: list[tuple[int, str]] = []
        self.recorded: list[Deliveries] = []

    async def webhooks(self) -> list[Webhook]:
        return list(self.known.values())

    async def report_webhooks(self, webhooks: Sequence[Webhook]) -> None:
        stays = {each.name: each for each in self.known.values() if each.disabled_at is not None}
        self.known = {**stays, **{each.name: self.known.get(each.name, each) for each in webhooks}}

    async def newest_event(self, queue: str) -> int:
        return max((event.token for event in self.queues.get(queue, [])), default=0)

    async def waiting_events(self, queue: str, after: int, last: int, limit: int) -> list[WaitingEvent]:
        return [event for event in self.queues.get(queue, []) if after < event.token <= last][:limit]

    async def record_deliveries(self, queue: str, deliveries: Deliveries) -> None:
        self.recorded.append(deliveries)
        self.letters += deliveries.dead
        self.known[deliveries.webhook.name] = deliveries.webhook
        gone = {*deliveries.taken, *(token for token, _ in deliveries.dead)}
        refused = {each.token: each for each in deliveries.refused}
        left = [event for event in self.queues[queue] if event.token not in gone]
        self.queues[queue] = [_after(event, refused.get(event.token)) for event in left]


def _after(event: WaitingEvent, refused: RefusedEvent | None) -> WaitingEvent:
    if refused is None:
        return event
    return replace(event, tries=refused.tries, refused_at=refused.refused_at, next_try=refused.next_try)
