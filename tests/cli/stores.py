"""What tests of the command line write into a store themselves, and read of its JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from stepward.clock import Environment
from stepward.model.records import Instance, Role
from stepward.store.contract import Store
from stepward.store.store_at_address import open_store

from .conftest import Stepward

URL = "sqlite:///stepward.db"


def as_json(stepward: Stepward, *args: str, code: int = 0) -> Any:
    result = stepward(*args, "--json")
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout)


def instance(id: str, serves: list[str], role: Role = Role.SCHEDULER, pid: int = 1) -> Instance:
    return Instance(id=id, role=role, host="h", pid=pid, serves=serves)


@asynccontextmanager
async def opened(app: str = "shop") -> AsyncIterator[Store]:
    store = open_store(URL, app=app, environment=Environment())
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def register(*instances: Instance, lease: float = 3600) -> None:
    async def write() -> None:
        async with opened() as store:
            for each in instances:
                await store.host.register(each, lease)

    asyncio.run(write())
