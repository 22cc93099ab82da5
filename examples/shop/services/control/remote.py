"""One service as the panel knows it: by its HTTP interface, and never for longer than a second."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TypeVar

import httpx
import msgspec

from examples.shop.services.control.switches import Switch, switched
from examples.shop.services.faults import Fault, StandingFault
from servers.ledger import Effect

PATIENCE_SECONDS = 1.0
LARGEST_ANSWER = 8 * 1024 * 1024

RemoteAnswer = TypeVar("RemoteAnswer")


class NoAnswer(Exception):
    """The service did not answer as one of its kind does; the message is one line for the visitor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The state of a service: its faults, its effects oldest first, and how often each key arrived.

    `trouble` says why there is none.
    """

    name: str
    faults: list[StandingFault] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    deliveries: dict[str, int] = field(default_factory=dict)
    trouble: str | None = None


class _Health(msgspec.Struct, frozen=True):
    service: str


class Remote:
    """A service at a URL; two changes of its faults never overtake each other."""

    def __init__(self, name: str, url: str, client: httpx.AsyncClient) -> None:
        self.name = name
        self._url = url
        self._client = client
        self._changing = asyncio.Lock()

    async def look(self) -> Sight:
        """The service as it is now; never raises for one that is gone."""
        try:
            health, faults, effects, deliveries = await asyncio.gather(
                self._ask("GET", "/health", _Health),
                self._ask("GET", "/faults", list[StandingFault]),
                self._ask("GET", "/ledger", list[Effect]),
                self._ask("GET", "/deliveries", dict[str, int]),
            )
        except NoAnswer as error:
            return Sight(name=self.name, trouble=str(error))
        if health.service != self.name:
            trouble = f"expected {self.name} at {self._url}, found {health.service}: look at --{self.name}"
            return Sight(name=self.name, trouble=trouble)
        return Sight(name=self.name, faults=faults, effects=effects, deliveries=deliveries)

    async def turn(self, switch: Switch, *, on: bool) -> None:
        """Switch one fault on or off, and leave the others. Raises NoAnswer."""
        async with self._changing:
            standing = await self._ask("GET", "/faults", list[StandingFault])
            await self._put(switched(standing, switch, on=on))

    async def clear(self) -> None:
        """Switch every fault off. Raises NoAnswer."""
        async with self._changing:
            await self._put([])

    async def _put(self, faults: list[Fault]) -> None:
        await self._ask("PUT", "/faults", list[StandingFault], msgspec.json.encode(faults))

    async def _ask(self, method: str, path: str, kind: type[RemoteAnswer], body: bytes | None = None) -> RemoteAnswer:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return msgspec.json.decode(await self._fetch(method, path, body), type=kind)
        except (httpx.HTTPError, TimeoutError) as error:
            raise NoAnswer(f"{self.name} does not answer at {self._url}: is it running?") from error
        except msgspec.DecodeError as error:
            raise NoAnswer(f"expected {self.name} at {self._url}, found something else: {error}") from error

    async def _fetch(self, method: str, path: str, body: bytes | None) -> bytes:
        answer = bytearray()
        async with self._client.stream(method, f"{self._url}{path}", content=body) as response:
            response.raise_for_status()
            async for chunk in response.aiter_bytes():
                answer += chunk
                if len(answer) > LARGEST_ANSWER:
                    raise NoAnswer(f"{self.name}{path}: expected at most {LARGEST_ANSWER} bytes, found more")
        return bytes(answer)
