"""The service of docs/idempotent-services.md, on a real server: it acts once for each key, also when called at once."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

PAGE = (Path(__file__).parents[2] / "docs/idempotent-services.md").read_text("utf-8")
AT_ONCE = 8


async def test_calls_under_one_key_act_once_and_are_answered_alike(database: Database) -> None:
    (schema,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "idempotent-services.md", "exec", dont_inherit=True), names)
    await database.run(schema)
    await database.run(
        "create table account (owner text primary key, cents int); insert into account values ('A-1', 100)"
    )
    pool = await asyncpg.create_pool(database.address, min_size=AT_ONCE, max_size=AT_ONCE)
    async with pool:

        async def call(key: str) -> str:
            async with pool.acquire() as connection:
                answer: str = await names["charge_once"](connection, key, "A-1", 10)
                return answer

        assert set(await asyncio.gather(*(call("k1") for _ in range(AT_ONCE)))) == {"charge-A-1"}
        assert await call("k2") == "charge-A-1"
    assert await database.rows("select cents from account") == [(80,)]
