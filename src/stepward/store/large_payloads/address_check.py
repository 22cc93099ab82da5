"""The check that a process knows where the large payloads of its store are, made before it does anything there."""

from __future__ import annotations

from typing import Protocol

from stepward.errors import StoreUnusable
from stepward.large_payloads import PayloadKeeper


class LargePayloadUse(Protocol):
    """The part of a store that knows whether payloads are kept outside it."""

    async def uses_large_payloads(self) -> bool:
        """As ``HostStore.uses_large_payloads``."""
        ...

    async def use_large_payloads(self) -> None:
        """As ``HostStore.use_large_payloads``."""
        ...


async def check_large_payloads(store: LargePayloadUse, keeper: PayloadKeeper | None) -> None:
    """Raise StoreUnusable for a process without the setting on a store whose payloads were ever kept outside it; note
    the first use."""
    is_used = await store.uses_large_payloads()
    if is_used and keeper is None:
        raise StoreUnusable(
            "large_payloads: expected the address at which payloads of this store are kept, found none; "
            "set STEPWARD_LARGE_PAYLOADS as for the other processes of the application"
        )
    if not is_used and keeper is not None:
        await store.use_large_payloads()
