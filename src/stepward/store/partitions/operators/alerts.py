"""Alerts, their sinks and silences over partitions."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from stepward.model.alerts.alert_routing import AlertReceipt, ReportedSink
from stepward.model.alerts.silences import AlertSilence
from stepward.model.records import Alert
from stepward.store.partitions.numbers import outside
from stepward.store.partitions.operators.operator_verbs import SubjectVerbs, outside_row
from stepward.store.partitions.partition import Partition
from stepward.store.search.conditions import Condition


class PartitionedAlerts(SubjectVerbs):
    """Alerts of every store; sinks and silences are set in each."""

    async def alerts(self, limit: int, open_only: bool) -> list[Alert]:
        found = await self._partitions.read_each(lambda store: store.operators.alerts(limit, open_only))
        alerts = [outside_row(partition, alert) for partition, alerts in found for alert in alerts]
        return sorted(alerts, key=lambda alert: alert.at, reverse=True)[:limit]

    async def task_alerts(self, id: str, limit: int, open_only: bool) -> list[Alert]:
        found = await self._partitions.read_each(lambda store: store.operators.task_alerts(id, limit, open_only))
        alerts = [outside_row(partition, alert) for partition, alerts in found for alert in alerts]
        return sorted(alerts, key=lambda alert: alert.at, reverse=True)[:limit]

    async def alerts_of(
        self, condition: Condition, limit: int, open_only: bool, number: int | None = None
    ) -> list[Alert]:
        if number is not None:
            ((holder, (own,)),) = self._partitions.by_number([number]).items()
            alerts = await holder.ask(lambda store: store.operators.alerts_of(condition, limit, open_only, own))
            return [outside_row(holder, alert) for alert in alerts]
        found = await self._partitions.read_each(lambda store: store.operators.alerts_of(condition, limit, open_only))
        alerts = [outside_row(partition, alert) for partition, alerts in found for alert in alerts]
        return sorted(alerts, key=lambda alert: alert.at, reverse=True)[:limit]

    async def acknowledge(self, number: int, actor: str) -> bool:
        ((holder, (own,)),) = self._partitions.by_number([number]).items()
        return await holder.ask(lambda store: store.operators.acknowledge(own, actor))

    async def alert_sinks(self) -> list[ReportedSink]:
        found = await self._partitions.read_each(lambda store: store.operators.alert_sinks())
        sinks = {sink.name: sink for _, sinks in found for sink in sinks}
        return [sinks[name] for name in sorted(sinks)]

    async def alert_receipts(self, numbers: Sequence[int]) -> list[AlertReceipt]:
        receipts: list[AlertReceipt] = []
        for partition, own in self._partitions.by_number(numbers).items():
            found = await _alert_receipts(partition, own)
            receipts += [replace(each, number=outside(partition.number, each.number)) for each in found]
        return receipts

    async def alert_silences(self) -> list[AlertSilence]:
        found = await self._partitions.read_each(lambda store: store.operators.alert_silences())
        silences = {(each.kind, each.workflow): each for _, silences in found for each in silences}
        return list(silences.values())

    async def silence(self, silence: AlertSilence, actor: str) -> bool:
        return all(await self._partitions.write_each(lambda store: store.operators.silence(silence, actor)))

    async def unsilence(self, kind: str, workflow: str | None, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.unsilence(kind, workflow, actor)))

    async def test_sink(self, name: str, actor: str) -> int | None:
        """The leader of the first partition that can be reached sends the test."""
        for partition in self._partitions.members:
            if partition.failed is None or partition is self._partitions.members[-1]:
                number = await partition.ask(lambda store: store.operators.test_sink(name, actor))
                return None if number is None else outside(partition.number, number)
        return None


async def _alert_receipts(partition: Partition, numbers: Sequence[int]) -> list[AlertReceipt]:
    return await partition.read(lambda store: store.operators.alert_receipts(numbers))
