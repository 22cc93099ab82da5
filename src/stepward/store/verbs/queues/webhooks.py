"""Webhooks: their events on the way, how each fares, and what operators decide about them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import astuple

from stepward.model.messages.webhook_retries import (
    DISABLED_KIND,
    Deliveries,
    WaitingEvent,
    Webhook,
    disabled_alert,
    disabled_details,
)
from stepward.model.tasks.control_characters import without_nul
from stepward.store import rows
from stepward.store.rules.audit.audited_acts import webhook_audit
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs import connection as ask
from stepward.store.verbs.alerts.alert_delivery import AlertDeliveryVerbs
from stepward.store.verbs.connection import VerbConnection
from stepward.store.verbs.engine import VerbPart
from stepward.store.verbs.queues import dead_letters

MOST_ALERTS = 1_000


class WebhookReads(VerbPart):
    """What both parts read."""

    async def webhooks(self) -> list[Webhook]:
        found = await self._transactions.read(ask.rows, "webhooks.listed")
        return [Webhook(**dict(zip(Webhook.__struct_fields__, row, strict=True))) for row in found]


class WebhookDeliveryVerbs(WebhookReads):
    """Implements ``WebhookDeliveryStore``."""

    async def report_webhooks(self, webhooks: Sequence[Webhook]) -> None:
        await self._transactions.write(_report, webhooks, self._clock.now())

    async def newest_event(self, queue: str) -> int:
        found = await self._transactions.read(ask.rows, "webhooks.newest", queue)
        return found[0][0] if found else 0

    async def waiting_events(self, queue: str, after: int, last: int, limit: int) -> list[WaitingEvent]:
        now = self._clock.now()
        found = await self._transactions.read(ask.rows, "webhooks.waiting", queue, after, limit, now, last)
        return [
            WaitingEvent(token=token, body=body, tries=tries or 0, refused_at=refused_at, next_try=next_try or 0.0)
            for token, body, tries, refused_at, next_try in found
        ]

    async def record_deliveries(self, queue: str, deliveries: Deliveries) -> None:
        await self._transactions.write(_record, queue, deliveries, self._clock.now())


class DeliveryVerbs(AlertDeliveryVerbs, WebhookDeliveryVerbs):
    """What a Supervisor delivers: alerts to sinks, and status events to webhooks."""


class WebhookVerbs(WebhookReads):
    """Implements ``WebhookStore``."""

    async def enable_webhook(self, name: str, actor: str) -> bool:
        is_changed = await self._transactions.write(_enable, name, actor, self._clock.now())
        self._ring()
        return is_changed

    async def disable_webhook(self, name: str, actor: str) -> bool:
        return await self._transactions.write(_disable, name, actor, self._clock.now())


async def _report(connection: VerbConnection, webhooks: Sequence[Webhook], now: float) -> None:
    await connection.change("webhooks.forget", [each.name for each in webhooks])
    for each in sorted(webhooks, key=lambda webhook: webhook.name):
        await connection.change("webhooks.report", each.name, each.description, now)
    await connection.change("webhooks.forget_refusals")


async def _record(connection: VerbConnection, queue: str, deliveries: Deliveries, now: float) -> None:
    gone = [*deliveries.taken, *(token for token, _ in deliveries.dead)]
    await connection.change("webhooks.settle_refusals", gone)
    for each in deliveries.refused:
        token, *values, error = astuple(each)
        await connection.change("webhooks.refuse", token, *values, without_nul(error))
    if deliveries.dead:
        await dead_letters.bury(connection, queue, deliveries.dead, (), now)
    await connection.change_each("messages.delete", [(token,) for token in deliveries.taken], queue)
    webhook = deliveries.webhook
    error = None if webhook.error is None else without_nul(webhook.error)
    await connection.change(
        "webhooks.fare",
        webhook.name,
        len(deliveries.taken),
        webhook.taken_at,
        webhook.failing_since,
        webhook.tries,
        webhook.next_try,
        error,
    )
    if webhook.disabled_at is not None and await connection.change(
        "webhooks.disable", webhook.name, now, webhook.disabled_by
    ):
        await alerts_and_audit.write_alerts(connection, [disabled_alert(webhook, now)], now)


async def _enable(connection: VerbConnection, name: str, actor: str, now: float) -> bool:
    name = without_nul(name)
    if not await connection.change("webhooks.enable", name):
        return False
    await connection.change("webhooks.offer_at_once", name)
    known = [rows.alert(row) for row in await connection.rows("alerts.open_of", [DISABLED_KIND], MOST_ALERTS)]
    over = [alert.number for alert in known if alert.details == disabled_details(name)]
    if over:
        resolved = await connection.rows("alerts.resolve", over, now, without_nul(actor))
        await alerts_and_audit.acknowledged(connection, sorted(resolved), actor, now)
    await alerts_and_audit.write_audits(connection, [webhook_audit(actor, "enable", name)], now)
    return True


async def _disable(connection: VerbConnection, name: str, actor: str, now: float) -> bool:
    name = without_nul(name)
    if not await connection.change("webhooks.disable", name, now, without_nul(actor)):
        return False
    await alerts_and_audit.write_audits(connection, [webhook_audit(actor, "disable", name)], now)
    return True
