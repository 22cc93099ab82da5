"""What the watchdog does in the store while the loop hangs: through a connection that knows nothing of that loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stepward.host.parts import Parts
from stepward.host.watchdog.blame import Blamed
from stepward.store.opening import open_store


class Hangs:
    """Counts hangs, and gives up the instances of a process that is about to end, so that others go on at once."""

    def __init__(self, parts: Parts, instances: Callable[[], Iterable[str]]) -> None:
        self._parts = parts
        self._instances = instances

    async def count(self, blamed: Blamed) -> int | None:
        """Count one on its task; how often it has hung, None if there is no such task any more."""
        if blamed.task is None:
            return None
        store = open_store(self._parts.settings.store, app=self._parts.app, environment=self._parts.environment)
        await store.open()
        try:
            return await store.host.count_hang(blamed.task, next(iter(self._instances()), "host"), blamed.at)
        finally:
            await store.close()

    def break_off(self) -> bool:
        """Let go of a transaction in which the hanging code stands, and whether there was one."""
        return self._parts.store.host.break_off()

    async def leave(self) -> None:
        """Free what this process holds; none of it is counted as failed."""
        store = open_store(self._parts.settings.store, app=self._parts.app, environment=self._parts.environment)
        await store.open()
        try:
            for instance in self._instances():
                await store.host.retire(instance, in_order=False)
        finally:
            await store.close()
