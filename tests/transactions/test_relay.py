"""The relay: each row one task, in order; several at once, poison, outages, and death at every point."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from stepward import App, Client, Outbox
from stepward.client import session_of
from stepward.clock import Environment, SystemClock
from stepward.errors import DeclarationError, SettingsError, StoreUnavailable
from stepward.events import Event, Observers
from stepward.outbox import Relay, outbox_table
from tests.store.postgres.server import Server
from tests.store.postgres.worlds import Database
from tests.tiers import sampled
from tests.transactions.application import application, delivery, order

pytestmark = pytest.mark.servers

BOUND = 120.0
KILLED = (137, -signal.SIGKILL)
POINTS = [
    "outbox.take.after",
    "outbox.submit.after",
    "outbox.delete.after",
    "store.commit.before",
    "store.commit.after",
]


class Box:
    """An outbox in a database of its own, and what it holds."""

    def __init__(self, address: str) -> None:
        self.address = address

    async def write(self, *ids: str, workflow: Any = order, what: str = "pen") -> None:
        await asyncio.to_thread(self._write_file, ids) if self.is_file else await self._write(ids, workflow, what)

    async def run(self, sql: str) -> list[Any]:
        if self.is_file:
            return await asyncio.to_thread(self._run_file, sql)
        connection = await asyncpg.connect(self.address)
        try:
            return [tuple(row) for row in await connection.fetch(sql)]
        finally:
            await connection.close()

    async def waiting(self) -> list[str]:
        return [id for (id,) in await self.run("select id from stepward_outbox where reason is null order by number")]

    async def aside(self) -> dict[str, str]:
        return dict(await self.run("select id, reason from stepward_outbox where reason is not null"))

    @property
    def is_file(self) -> bool:
        return self.address.startswith("sqlite")

    async def _write(self, ids: tuple[str, ...], workflow: Any, what: str) -> None:
        connection = await asyncpg.connect(self.address)
        try:
            async with connection.transaction():
                for id in ids:
                    await Outbox("shop").put(connection, workflow, what, id=id)
        finally:
            await connection.close()

    def _write_file(self, ids: tuple[str, ...]) -> None:
        for id in ids:
            body = '{"workflow":"order","arguments":["pen"]}'
            self._run_file(f"insert into stepward_outbox (app, id, body) values ('shop', '{id}', '{body}')")

    def _run_file(self, sql: str) -> list[Any]:
        connection = sqlite3.connect(self.address.removeprefix("sqlite:///"))
        try:
            with connection:
                return connection.execute(sql).fetchall()
        finally:
            connection.close()


@pytest.fixture
async def box(server: Server) -> Box:
    name = await server.emptied("business")
    await server.execute(outbox_table("postgresql"), name)
    return Box(server.address(name))


@pytest.fixture
def file(tmp_path: Path) -> Box:
    connection = sqlite3.connect(tmp_path / "business.db")
    connection.executescript(outbox_table("sqlite"))
    connection.close()
    return Box(f"sqlite:///{tmp_path / 'business.db'}")


async def carried(client: Client, box: Box, **options: Any) -> int:
    """Carry one batch over."""
    async with Relay(client, box.address, **options) as relay:
        return await relay.run_once()


async def ids(client: Client) -> list[str]:
    """In the order in which Schedulers claim them."""
    return [task.id for task in sorted(await client.tasks(limit=10_000), key=lambda task: task.uid)]


async def test_rows_become_tasks_in_their_order_batch_by_batch(box: Box, client: Client) -> None:
    wanted = [f"o{number}" for number in range(250)]
    await box.write(*wanted)
    async with Relay(client, box.address) as relay:
        assert [await relay.run_once() for _ in range(4)] == [100, 100, 50, 0]
    assert (await ids(client), await box.waiting()) == (wanted, [])


async def test_what_another_relay_has_is_passed_over(box: Box, client: Client) -> None:
    await box.write(*[f"o{number}" for number in range(150)])
    holding = await asyncpg.connect(box.address)
    async with holding.transaction():
        await holding.fetch("select 1 from stepward_outbox order by number limit 100 for update")
        assert await carried(client, box) == 50
    await holding.close()
    assert await carried(client, box) == 100
    assert sorted(await ids(client)) == sorted(f"o{number}" for number in range(150))


@pytest.mark.parametrize("kind", sampled(("postgresql", "sqlite"), "sqlite"))
async def test_relays_beside_one_another(box: Box, file: Box, client: Client, app: App, kind: str) -> None:
    chosen = box if kind == "postgresql" else file
    wanted = [f"o{number}" for number in range(300)]
    await chosen.write(*wanted)

    async def carry() -> None:
        async with app.client() as own, Relay(own, chosen.address) as relay:
            while await relay.run_once():
                pass

    await asyncio.gather(*[carry() for _ in range(4)])
    assert Counter(await ids(client)) == Counter(wanted)
    assert (await chosen.waiting(), await chosen.aside()) == ([], {})


async def test_waiting_for_a_row_that_is_set_aside_raises(file: Box, client: Client) -> None:
    body = '{"workflow":"order","arguments":[5],"reply_to":"replies.shop.web"}'
    await file.run(f"insert into stepward_outbox (app, id, body) values ('shop', 'unfit', '{body}') returning 1")
    await carried(client, file)
    assert len(await session_of(client).store.messages.read("replies.shop.web", 0, 9)) == 1
    event = await anext(client.events("replies.shop.web"))
    assert (event.type, event.subject) == ("stepward.request.refused", "unfit")
    assert event.data == {"reason": (await file.aside())["unfit"]}


@pytest.mark.parametrize("kind", sampled(("postgresql", "sqlite"), "sqlite"))
async def test_poison_is_set_aside_and_delays_no_other_row(box: Box, file: Box, client: Client, kind: str) -> None:
    chosen = box if kind == "postgresql" else file
    await client.submit(order, "pencil", id="taken")
    await chosen.write("first", "taken")
    bodies = {
        "bad?": '{"workflow":"order","arguments":["pen"]}',
        "garbage": "not JSON",
        "unfit": '{"workflow":"order","arguments":[5]}',
        "no name": '{"arguments":["pen"]}',
        "strange": '{"workflow":"order","arguments":["pen"],"priority":"high"}',
        "deep": '{"workflow":"order","arguments":[' + "[" * 200 + "]" * 200 + "]}",
        "late": '{"workflow":"order","arguments":["pen"],"complete_by":"2001-01-01T00:00:00Z"}',
        "huge": '{"workflow":"order","arguments":["' + "x" * 1_100_000 + '"]}',
    }
    for id, body in bodies.items():
        await chosen.run(f"insert into stepward_outbox (app, id, body) values ('shop', '{id}', '{body}') returning 1")
    await chosen.write("last")
    told: list[Event] = []
    await carried(client, chosen, observers=Observers(told.append))
    assert await ids(client) == ["taken", "first", "last"]
    aside = await chosen.aside()
    assert sorted(aside) == sorted([*bodies, "taken"])
    for id, reason in {
        "taken": "found a task with others",
        "bad?": "id: expected 1 to 200 of",
        "garbage": "outbox entry 'garbage': expected",
        "unfit": "str",
        "late": "expected an instant to come",
        "huge": "expected at most 1,048,576 bytes, found more",
    }.items():
        assert reason in aside[id]
    assert all("\n" not in reason for reason in aside.values())
    assert (told[0].name, len(told[0].fields["reasons"])) == ("relay.dead_letter", len(aside))
    assert await carried(client, chosen) == 0
    # An operator puts one back.
    await chosen.run("update stepward_outbox set reason = null, id = 'good' where id = 'bad?' returning 1")
    await carried(client, chosen)
    assert await ids(client) == ["taken", "first", "last", "good"]


@pytest.mark.usefixtures("alters")
async def test_one_that_the_stores_tables_do_not_take(box: Box, client: Client, database: Database) -> None:
    await database.run("alter table stepward_shop.task add constraint odd check (id <> 'o1')")
    await box.write("o0", "o1", "o2")
    await carried(client, box)
    assert await ids(client) == ["o0", "o2"]
    assert list(await box.aside()) == ["o1"]


class HandClock(SystemClock):
    """A boot clock that the test moves."""

    def __init__(self) -> None:
        self.at = 1000.0

    def boot(self) -> float:
        return self.at


@pytest.mark.parametrize("kind", sampled(("postgresql", "sqlite"), "sqlite"))
async def test_a_workflow_that_is_not_known_yet_is_waited_for(box: Box, file: Box, app: App, kind: str) -> None:
    """As a newer version of the application may write what an older one carries."""
    chosen = box if kind == "postgresql" else file
    newer = '{"workflow":"newer","arguments":["pen"]}'
    await chosen.run(f"insert into stepward_outbox (app, id, body) values ('shop', 'n', '{newer}') returning 1")
    await chosen.write("o")
    clock = HandClock()
    environment = Environment(clock=clock)
    async with app.client() as client, Relay(client, chosen.address, environment=environment) as relay:
        assert [await relay.run_once() for _ in range(2)] == [2, 0]
        assert (await ids(client), await chosen.waiting(), await chosen.aside()) == (["o"], ["n"], {})
        seen = []
        for _ in range(100):
            clock.at += 5
            seen.append(await relay.run_once())
            if await chosen.aside():
                break
        assert len(seen) == 60
        assert "workflow 'newer': expected a registered one" in (await chosen.aside())["n"]


async def test_rows_of_other_applications_are_left_alone(box: Box, client: Client) -> None:
    await box.write("o")
    await box.run("update stepward_outbox set app = 'other' returning 1")
    assert await carried(client, box) == 0
    assert await box.waiting() == ["o"]


async def test_a_pipeline_is_recorded_with_its_stages(box: Box, client: Client) -> None:
    await box.write("d", workflow=delivery)
    await carried(client, box)
    assert [step.key for step in await client.task("d").steps()] == ["pack/1", "pack/2"]


async def test_an_outbox_that_is_out_of_reach_is_waited_for(app: App, client: Client, tmp_path: Path) -> None:
    missing = "postgresql://postgres@127.0.0.1:1/none"
    with pytest.raises(StoreUnavailable, match="expected a server that answers"):
        await carried(client, Box(missing))
    folder = tmp_path / "later"
    told: list[Event] = []
    app.observers.add(told.append)
    app.relay(f"sqlite:///{folder}/business.db")
    async with app.running(), asyncio.timeout(BOUND):
        while not (said := [event.name for event in told if event.name.startswith("relay.")]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert said == ["relay.unavailable"]
        folder.mkdir()
        connection = sqlite3.connect(folder / "business.db")
        connection.executescript(outbox_table("sqlite"))
        connection.close()
        await Box(f"sqlite:///{folder}/business.db").write("o")
        while not await client.tasks():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert await client.task("o").result() == "packed pen"


def test_declarations(app: App) -> None:
    for wrong in ("mysql://x", "", 5, "sqlite:///", "postgresql://x/y?pooler=no"):
        with pytest.raises(SettingsError):
            app.relay(wrong)  # type: ignore[arg-type]  # the very mistake
    assert app.outboxes == ()


def test_the_stores_own_file_is_no_outbox(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"expected another file than the store's, found the same; .*transaction\(\)"
    ):
        application(f"sqlite:///{tmp_path}/a.db").relay(f"sqlite:///{tmp_path}/../{tmp_path.name}/a.db")


async def test_none_is_declared_while_the_app_runs(app: App) -> None:
    async with app.running():
        with pytest.raises(DeclarationError, match="expected it before the app runs"):
            app.relay("sqlite:///business.db")


@pytest.mark.parametrize("point", sampled(POINTS, "outbox.submit.after"))
@pytest.mark.parametrize("kind", sampled(("postgresql", "sqlite"), "sqlite"))
async def test_a_relay_dies_and_another_goes_on(
    box: Box, file: Box, client: Client, database: Database, kind: str, point: str
) -> None:
    chosen = box if kind == "postgresql" else file
    wanted = [f"o{number}" for number in range(120)]
    await chosen.write(*wanted)
    process = await _started(database.address, chosen.address, STEPWARD_FAILPOINT=point)
    assert await _ended(process) in KILLED
    process = await _started(database.address, chosen.address)
    try:
        async with asyncio.timeout(BOUND):
            while await chosen.waiting():  # noqa: ASYNC110  another process brings it about
                await asyncio.sleep(0.02)
    finally:
        process.kill()
        await process.wait()
    assert Counter(await ids(client)) == Counter(wanted)
    assert await chosen.aside() == {}


@pytest.mark.faults
async def test_a_relay_that_is_killed_again_and_again(box: Box, client: Client, database: Database) -> None:
    wanted: list[str] = []
    for round_ in range(6):
        fresh = [f"r{round_}-{number}" for number in range(200)]
        wanted += fresh
        process = await _started(database.address, box.address)
        writing = asyncio.create_task(_written(box, fresh))
        async with asyncio.timeout(BOUND):
            while len(await ids(client)) < len(wanted) - 150:  # noqa: ASYNC110
                await asyncio.sleep(0)
        process.kill()
        await process.wait()
        await writing
    async with Relay(client, box.address) as relay, asyncio.timeout(BOUND):
        while await box.waiting():
            # The server may still hold the locks of the dead.
            await relay.run_once()
    assert Counter(await ids(client)) == Counter(wanted)


async def _written(box: Box, ids: list[str]) -> None:
    for start in range(0, len(ids), 20):
        await box.write(*ids[start : start + 20])


async def _started(store: str, outbox: str, **variables: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.transactions.relay_process",
        store,
        outbox,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **variables},
        stdout=asyncio.subprocess.DEVNULL,
    )


async def _ended(process: asyncio.subprocess.Process) -> int:
    async with asyncio.timeout(BOUND):
        return await process.wait()


def _columns(**values: str) -> str:
    given = {"app": "'shop'", "id": "'bad'", "body": """'{"workflow":"order","arguments":["pen"]}'""", **values}
    return f"insert into stepward_outbox ({', '.join(given)}) values ({', '.join(given.values())})"


@pytest.mark.parametrize(
    "wrong",
    [
        {"body": "x'ff00fe'"},
        {"body": "cast(x'7b22ff227d' as text)"},
        {"body": "42"},
        {"body": 'cast(\'{"workflow":"order","arguments":["pen"]}\' as blob)'},
        {"id": "cast(x'ff' as text)"},
        {"id": "x'6f31'"},
        {"body": """'{"workflow":"order","arguments":["pen"],"labels":{"a":"\\u0000"}}'"""},
        {"body": """'{"workflow":"order","arguments":["pen"],"delay":1e308}'"""},
        {"body": """'{"workflow":"order","arguments":["pen"],"complete_by":"9999-12-31T23:59:59-23:59"}'"""},
    ],
)
async def test_an_unreadable_row_is_set_aside_and_delays_no_other(
    file: Box, client: Client, wrong: dict[str, str]
) -> None:
    await file.write("o1")
    await file.run(_columns(**wrong))
    await file.write("o2")
    assert await carried(client, file) == 3
    assert (await ids(client), await file.waiting()) == (["o1", "o2"], [])
    (reason,) = [reason for (reason,) in await file.run("select reason from stepward_outbox")]
    assert "expected" in reason


async def test_text_without_an_encoding_is_set_aside_and_holds_up_no_other(server: Server, client: Client) -> None:
    await server.execute("create database bytes encoding 'SQL_ASCII' template template0 lc_collate 'C' lc_ctype 'C'")
    box = Box(server.address("bytes"))
    try:
        await server.execute(outbox_table("postgresql"), "bytes")
        await box.write("o1")
        await box.run(_columns(body='E\'{"a":"\\xff"}\''))
        await box.run(_columns(id="E'\\xfe'"))
        await box.write("o2")
        assert await carried(client, box) == 4
        assert (await ids(client), await box.waiting()) == (["o1", "o2"], [])
    finally:
        await server.drop("bytes")
