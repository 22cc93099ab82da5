"""The operators' acts on what every store has of its own: alerts, dead letters, Agents, limits and credentials."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from stepward.model.agents import AgentStanding
from stepward.model.alerts.alert_routing import AlertReceipt, ReportedSink
from stepward.model.alerts.silences import AlertSilence
from stepward.model.credentials import Credential
from stepward.model.limits.flow_limit import FlowLimit, SetLimit
from stepward.model.limits.slot_shares import SlotLease
from stepward.model.messages.webhook_retries import Webhook
from stepward.model.records import Alert, Audit, DeadLetter, Task
from stepward.store.contract import Store
from stepward.store.partitions import merging
from stepward.store.partitions.numbers import outside
from stepward.store.partitions.partition import Partition
from stepward.store.partitions.partition_routing import Partitions
from stepward.store.search.conditions import Condition

Numbered = TypeVar("Numbered", Alert, Audit, DeadLetter)


class PartitionedActs:
    """A part of ``OperatorStore`` over partitions. What is set for all tasks is set in every store."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    def now(self) -> float:
        return self._partitions.now()

    async def alerts(self, limit: int, open_only: bool) -> list[Alert]:
        found = await self._partitions.read_each(lambda store: store.operators.alerts(limit, open_only))
        alerts = [self._outside(partition, alert) for partition, alerts in found for alert in alerts]
        return sorted(alerts, key=lambda alert: alert.at, reverse=True)[:limit]

    async def task_alerts(self, id: str, limit: int, open_only: bool) -> list[Alert]:
        found = await self._partitions.read_each(lambda store: store.operators.task_alerts(id, limit, open_only))
        alerts = [self._outside(partition, alert) for partition, alerts in found for alert in alerts]
        return sorted(alerts, key=lambda alert: alert.at, reverse=True)[:limit]

    async def alerts_of(
        self, condition: Condition, limit: int, open_only: bool, number: int | None = None
    ) -> list[Alert]:
        if number is not None:
            ((holder, (own,)),) = self._partitions.by_number([number]).items()
            alerts = await holder.ask(lambda store: store.operators.alerts_of(condition, limit, open_only, own))
            return [self._outside(holder, alert) for alert in alerts]
        found = await self._partitions.read_each(lambda store: store.operators.alerts_of(condition, limit, open_only))
        alerts = [self._outside(partition, alert) for partition, alerts in found for alert in alerts]
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

    async def webhooks(self) -> list[Webhook]:
        found = await self._partitions.read_each(lambda store: store.operators.webhooks())
        return merging.merged_webhooks(webhook for _, webhooks in found for webhook in webhooks)

    async def enable_webhook(self, name: str, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.enable_webhook(name, actor)))

    async def disable_webhook(self, name: str, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.disable_webhook(name, actor)))

    async def dead_letters(self, limit: int) -> list[DeadLetter]:
        found = await self._partitions.read_each(lambda store: store.operators.dead_letters(limit))
        letters = [self._outside(partition, letter) for partition, letters in found for letter in letters]
        return sorted(letters, key=lambda letter: letter.buried_at, reverse=True)[:limit]

    async def put_back(self, numbers: Sequence[int], actor: str) -> list[int]:
        found: list[int] = []
        for partition, own in self._partitions.by_number(numbers).items():
            put = await _put_back(partition, own, actor)
            found += [outside(partition.number, number) for number in put]
        return found

    async def discard(self, numbers: Sequence[int], actor: str) -> list[int]:
        found: list[int] = []
        for partition, own in self._partitions.by_number(numbers).items():
            gone = await _discard(partition, own, actor)
            found += [outside(partition.number, number) for number in gone]
        return found

    async def drain_instance(self, id: str, actor: str) -> bool:
        return any(await self._partitions.write_reachable(lambda store: store.operators.drain_instance(id, actor)))

    async def standings(self) -> list[AgentStanding]:
        found = await self._partitions.read_each(lambda store: store.operators.standings())
        return merging.merged_standings(standing for _, standings in found for standing in standings)

    async def suspend_agent(self, name: str, note: str | None, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.suspend_agent(name, note, actor)))

    async def resume_agent(self, name: str, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.resume_agent(name, actor)))

    async def limits(self) -> list[FlowLimit]:
        found = await self._partitions.read_each(lambda store: store.operators.limits())
        limits = {limit.name: limit for _, limits in found[::-1] for limit in limits}
        return [limits[name] for name in sorted(limits)]

    async def slots(self) -> list[SlotLease]:
        found = await self._partitions.read_each(lambda store: store.operators.slots())
        return [slot for _, slots in found for slot in slots]

    async def permits(self) -> dict[tuple[str, bool], int]:
        found = await self._partitions.read_each(lambda store: store.operators.permits())
        permits: dict[tuple[str, bool], int] = {}
        for key, count in (item for _, each in found for item in each.items()):
            permits[key] = permits.get(key, 0) + count
        return permits

    async def set_limit(self, name: str, values: SetLimit, actor: str) -> None:
        await self._partitions.write_each(lambda store: store.operators.set_limit(name, values, actor))

    async def reset_limit(self, name: str, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.reset_limit(name, actor)))

    async def add_credential(self, credential: Credential, actor: str) -> bool:
        """Every store that can be reached has every credential, so that signing in needs no store in particular."""
        found = await self._partitions.write_reachable(lambda store: store.operators.add_credential(credential, actor))
        return all(found)

    async def credential(self, id: str) -> Credential | None:
        found = await self._partitions.read_each(lambda store: store.operators.credential(id))
        known = [credential for _, credential in found if credential is not None]
        return min(known, key=lambda each: each.is_live(self.now()), default=None)

    async def credentials(self) -> list[Credential]:
        found = await self._partitions.read_each(lambda store: store.operators.credentials())
        known: dict[str, Credential] = {}
        for credential in (credential for _, credentials in found for credential in credentials):
            if credential.id not in known or not credential.is_live(self.now()):
                known[credential.id] = credential
        return list(known.values())

    async def revoke_credential(self, id: str, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.revoke_credential(id, actor)))

    async def record_acts(self, acts: Sequence[Audit]) -> None:
        """Those on a task in its store, where its audit is read; the others in the first that can be reached."""
        homes: dict[Partition | None, list[Audit]] = {}
        for act in acts:
            homes.setdefault(None if act.task is None else await self._home(act.task), []).append(act)
        for home, those in homes.items():
            record = partial(_record, acts=those)
            await (self._partitions.any(record) if home is None else home.ask(record))

    async def _home(self, uid: str) -> Partition | None:
        """The partition of the task with that uid; None if there is no such task."""
        members = self._partitions.where(uid)
        return members[0] if len(members) == 1 else await self._partitions.holder(partial(_task, uid=uid), uid)

    def _outside(self, partition: Partition, row: Numbered) -> Numbered:
        return replace(row, number=outside(partition.number, row.number))


async def _record(store: Store, *, acts: Sequence[Audit]) -> None:
    await store.operators.record_acts(acts)


async def _task(store: Store, *, uid: str) -> Task | None:
    return next(iter(await store.supervisor.outlived_tasks([uid], "")), None)


async def _alert_receipts(partition: Partition, numbers: Sequence[int]) -> list[AlertReceipt]:
    return await partition.read(lambda store: store.operators.alert_receipts(numbers))


async def _put_back(partition: Partition, numbers: Sequence[int], actor: str) -> list[int]:
    return await partition.ask(lambda store: store.operators.put_back(numbers, actor))


async def _discard(partition: Partition, numbers: Sequence[int], actor: str) -> list[int]:
    return await partition.ask(lambda store: store.operators.discard(numbers, actor))
