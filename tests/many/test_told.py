"""What the command line says where PostgreSQL is not as it should be: one clear line, and the exit code for it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from servers.ports import free_port
from servers.postgres import versions
from stepward.store.postgres.schema.versions import newest
from tests.many.floor import APP, Floor
from tests.store.postgres.server import WITH_PASSWORD, Server, running
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

COMMANDS = (pytest.param("run", marks=pytest.mark.faults), "check")
ENDING = ("check", "tasks")
"""Commands that do not run until a signal; they need no process."""
Place = Callable[[Database], Coroutine[Any, Any, str]]


@pytest.fixture(scope="module")
def standby() -> Iterator[Server]:
    """A server that only reads."""
    with running(versions()[max(versions())], in_recovery=True) as server:
        yield server


async def told(floor: Floor, command: str, address: str) -> tuple[int, str]:
    """The exit code, and the one line; ``check`` shows it among what it found."""
    args = {"run": [APP], "check": [APP, "--json"], "group": [APP, "--processes", "2"]}.get(command, [])
    ask = floor.asked if command in ENDING else floor.command
    result = await ask("run" if command == "group" else command, *args, STEPWARD_STORE=address)
    assert "Traceback" not in result.stdout + result.stderr
    assert "canary" not in result.stdout + result.stderr
    (line,) = json.loads(result.stdout)["problems"] if command == "check" else result.stderr.splitlines()
    return result.returncode, line


async def away(database: Database) -> str:
    return f"postgresql://postgres:canary@127.0.0.1:{free_port()}/shop"


async def password(database: Database) -> str:
    return database.server.address(database.name, f"{WITH_PASSWORD}:canary")


async def stranger(database: Database) -> str:
    return database.server.address(database.name, "stranger:canary")


async def nowhere(database: Database) -> str:
    return database.server.address("nowhere")


async def newer(database: Database) -> str:
    await database.opened()
    await database.rows("update stepward_shop.meta set value = '999' where key = 'schema_version'")
    return database.address


async def crowded(database: Database) -> str:
    await database.opened()
    await database.run(f"create role crowd_{database.name} login connection limit 0")
    return database.server.address(database.name, f"crowd_{database.name}")


async def unentitled(database: Database) -> str:
    await database.opened()
    await database.run(f"create role guest_{database.name} login")
    return database.server.address(database.name, f"guest_{database.name}")


CASES: list[tuple[Place, int, str]] = [
    (away, 3, "expected a server that answers, found: ConnectionRefusedError"),
    (password, 2, "expected the right password, found none or a wrong one"),
    (stranger, 2, "expected to be let in, found the user refused"),
    (nowhere, 2, "expected the database, found none of that name"),
    (newer, 2, f"expected schema version {newest()} or older, found 999; upgrade this program"),
    (crowded, 3, "expected room for a connection, found too many"),
    (unentitled, 2, "expected the rights on schema and tables, found InsufficientPrivilegeError: permission denied"),
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("place", "code", "line"), CASES)
async def test_what_is_wrong_is_one_line(floor: Floor, place: Place, code: int, line: str, command: str) -> None:
    found = await told(floor, command, await place(floor.database))
    assert found[0] == code, found
    assert line in found[1]


@pytest.mark.parametrize("command", ["group", pytest.param("migrate", marks=pytest.mark.faults), "tasks"])
async def test_every_command_says_that_the_store_does_not_answer(floor: Floor, command: str) -> None:
    code, line = await told(floor, command, await away(floor.database))
    assert code == 3
    assert "expected a server that answers, found: ConnectionRefusedError" in line


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_server_in_recovery_is_one_line(floor: Floor, standby: Server, command: str) -> None:
    code, line = await told(floor, command, standby.address())
    assert code == 3
    assert "found none but standbys in recovery" in line


@pytest.mark.faults
@pytest.mark.parametrize("command", ["run", "migrate"])
async def test_an_answer_that_does_not_come_in_time_is_one_line(floor: Floor, command: str) -> None:
    await floor.database.opened()
    async with held(floor.database.address):
        code, line = await told(floor, command, floor.database.address)
    assert code == 3
    assert "expected an answer within the time allowed, found none" in line


async def test_a_schema_that_may_not_be_made_is_one_line(floor: Floor) -> None:
    await floor.database.run(f"create role guest_{floor.database.name} login")
    code, line = await told(
        floor, "run", floor.database.server.address(floor.database.name, f"guest_{floor.database.name}")
    )
    assert code == 2
    assert "or CREATE on the database" in line


async def test_the_store_may_be_migrated_while_processes_run(floor: Floor) -> None:
    await floor.group(2)
    await floor.gate.open()
    orders = await floor.submit("a", "b")
    result = await floor.command("migrate")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.endswith(f"(app shop): schema version is {newest()}\n")
    orders += await floor.submit("c", "d")
    assert await floor.results(orders) == [["pay 1", "ship 1"]] * 4


@asynccontextmanager
async def held(address: str) -> AsyncIterator[None]:
    """The store's owner cannot be checked while it is locked."""
    connection = await asyncpg.connect(address)
    try:
        async with connection.transaction():
            await connection.execute("lock table stepward_shop.meta in access exclusive mode")
            yield
    finally:
        await connection.close()
