"""The watchdog's writes to the store while the loop hangs, through a connection apart from that loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stepward.host.assembly import Parts
from stepward.host.watchdog.blocking_code import Blamed
from stepward.store.contract import Store
from stepward.store.store_at_address import open_store


class Hangs:
    """Counts hangs, and gives up the instances of a process that is about to end, so that others continue at once."""

    def __init__(self, parts: Parts, instances: Callable[[], Iterable[str]]) -> None:
        self._parts = parts
        self._instances = instances

    async def count(self, blamed: Blamed) -> int | None:
        """Count a hang on its task; the number of its hangs, None if the task is gone."""
        if blamed.task is None:
            return None
        store = self._store()
        await store.open()
        try:
            return await store.host.count_hang(blamed.task, next(iter(self._instances()), "host"), blamed.at)
        finally:
            await store.close()

    def _store(self) -> Store:
        parts = self._parts
        return open_store(parts.settings.store, app=parts.app, environment=parts.environment, codec=parts.codec)

    def break_off(self) -> bool:
        """Break off a transaction in which the blocking code is; whether there was one."""
        return self._parts.store.host.break_off()

    async def leave(self) -> None:
        """Free this process's tasks; none of them counts as failed."""
        store = self._store()
        await store.open()
        try:
            for instance in self._instances():
                await store.host.retire(instance, in_order=False)
        finally:
            await store.close()
