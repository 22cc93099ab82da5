"""The part of the store from which a Supervisor delivers status events to webhooks: their queues are the outbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stepward.model.messages.webhook_retries import Deliveries, WaitingEvent, Webhook


class WebhookStore(Protocol):
    """Webhooks, for operators."""

    async def webhooks(self) -> list[Webhook]:
        """The webhooks of the Supervisor that leads, or led last, by name."""
        ...

    async def enable_webhook(self, name: str, actor: str) -> bool:
        """Has a disabled webhook get events again, those that wait first; False if it is not disabled.

        What waits counts as new: its refusals are forgotten, so that an outage of the receiver gives up no event.
        """
        ...

    async def disable_webhook(self, name: str, actor: str) -> bool:
        """Has a webhook get nothing until it is enabled; False if there is none, or it is disabled already."""
        ...


class WebhookDeliveryStore(Protocol):
    """Status events on their way to webhooks."""

    async def webhooks(self) -> list[Webhook]:
        """The webhooks that were reported, by name."""
        ...

    async def report_webhooks(self, webhooks: Sequence[Webhook]) -> None:
        """Has operators see these webhooks in place of those before; what is known of one by its name stays.

        One that was disabled stays as well, until it is enabled.
        """
        ...

    async def newest_event(self, queue: str) -> int:
        """The token of the newest event of a webhook's queue, 0 if it is empty.

        An event that is recorded later has a higher one, unless its commit was under way.
        """
        ...

    async def waiting_events(self, queue: str, after: int, last: int, limit: int) -> list[WaitingEvent]:
        """Events of a webhook's queue in order, behind the token ``after`` and up to the token ``last``."""
        ...

    async def record_deliveries(self, queue: str, deliveries: Deliveries) -> None:
        """Records in one commit what the receiver took or refused, what is given up, and how the webhook fares.

        Raises the alert of a webhook that is disabled with it. What an operator has enabled or disabled since stands.
        """
        ...
