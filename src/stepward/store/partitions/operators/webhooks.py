"""Webhooks over partitions: those of all stores shown as one."""

from __future__ import annotations

from stepward.model.messages.webhook_retries import Webhook
from stepward.store.partitions import merging
from stepward.store.partitions.operators.operator_verbs import SubjectVerbs


class PartitionedWebhooks(SubjectVerbs):
    """A webhook is enabled and disabled in every store."""

    async def webhooks(self) -> list[Webhook]:
        found = await self._partitions.read_each(lambda store: store.operators.webhooks())
        return merging.merged_webhooks(webhook for _, webhooks in found for webhook in webhooks)

    async def enable_webhook(self, name: str, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.enable_webhook(name, actor)))

    async def disable_webhook(self, name: str, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.disable_webhook(name, actor)))
