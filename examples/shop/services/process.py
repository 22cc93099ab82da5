"""A remote service as a process, for the shop, the demo and the tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec

from servers.keeper.process import PLAIN, Process, Upkeep

Document = dict[str, Any]
Reply = TypeVar("Reply")


class ServiceProcess(Process):
    """One service, on one port and one ledger for life, and what one can ask it besides its work."""

    def __init__(
        self,
        name: str,
        ledger: Path,
        *,
        port: int = 0,
        stock: Mapping[str, int] | None = None,
        upkeep: Upkeep = PLAIN,
    ) -> None:
        options = [] if stock is None else ["--stock", msgspec.json.encode(stock).decode()]
        super().__init__(
            name,
            "examples.shop.services",
            *[name, "--ledger", str(ledger.absolute()), *options],
            port=port,
            upkeep=upkeep,
        )

    async def put_faults(self, faults: list[Document]) -> list[Document]:
        """Replace the faults; raises `ValueError` with the service's own words when it refuses them."""
        return await self._fetch(list[Document], "PUT", "/faults", faults)

    async def faults(self) -> list[Document]:
        """The faults with what is left of them (`times`) and what they struck (`hits`)."""
        return await self._fetch(list[Document], "GET", "/faults")

    async def ledger(self) -> list[Document]:
        """Every effect, oldest first."""
        return await self._fetch(list[Document], "GET", "/ledger")

    async def deliveries(self) -> dict[str, int]:
        """How often each idempotency key has arrived."""
        return await self._fetch(dict[str, int], "GET", "/deliveries")

    async def _fetch(self, kind: type[Reply], method: str, path: str, body: object = None) -> Reply:
        # Proxies of the environment are for the outside world.
        async with httpx.AsyncClient(base_url=self.url, trust_env=False) as client:
            response = await client.request(method, path, json=body)
        if response.status_code == httpx.codes.BAD_REQUEST:
            raise ValueError(response.text)
        response.raise_for_status()
        return msgspec.json.decode(response.content, type=kind)
