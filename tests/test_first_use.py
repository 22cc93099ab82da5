"""First programs of a new user: they work, or one line says what is wrong."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from stepward import Agent, App, Client, Queues, SyncClient, SyncQueues, step, wait_for, workflow
from stepward.client import session_of
from stepward.errors import (
    DeclarationError,
    InvalidArguments,
    InvalidId,
    Refused,
    SettingsError,
    StoreUnavailable,
    UnknownWorkflow,
)
from stepward.settings import Settings
from stepward.store.address import is_postgres, postgres_place

ID = UUID("75a6747e-8989-44bf-8a11-b7c9ad41bc7c")
NOT_ENTERED = (
    "^client: expected use within `async with app.client.. as client`, found it not entered yet; enter it first$"
)
CLOSED = r"^client: expected use within `async with app.client.. as client`, found it closed; open another$"

shop = Agent("shop")


@shop.operation
async def charge(amount: int) -> int:
    return amount


@charge.undo()
async def refund(result: int | None, amount: int) -> None:
    pass


@shop.operation
def weigh(amount: int) -> int:
    return amount * 2


@step
async def note(amount: int) -> int:
    return amount + 1


@step
def note_in_thread(amount: int) -> int:
    return amount + 1


@workflow
async def order(amount: int) -> list[int]:
    return [await charge(amount), await weigh(amount), await note(amount), await note_in_thread(amount)]


@workflow
async def approval() -> object:
    return await wait_for("approved")


@workflow
async def unregistered() -> None:
    pass


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App("shop", workflows=[order, approval], agents=[shop], store=f"sqlite:///{tmp_path / 'shop.db'}")


async def test_decorators_without_parentheses_declare_what_those_with_parentheses_do(app: App) -> None:
    assert charge.has_undo
    async with app.running(), app.client() as client:
        assert await (await client.submit(order, 3)).result(timeout=20) == [3, 6, 4, 4]


def test_a_decorator_that_is_given_a_text_says_that_it_expects_a_function() -> None:
    with pytest.raises(DeclarationError, match="expected a function, found 'charge'"):
        shop.operation("charge")  # type: ignore[call-overload]
    with pytest.raises(DeclarationError, match="step: expected a function, found 'note'"):
        step("note")  # type: ignore[call-overload]


async def test_a_uuid_is_an_id_wherever_one_is_taken(app: App) -> None:
    async with app.client() as client:
        handle = await client.submit(approval, id=ID)
        assert handle.id == str(ID)
        (again,) = await client.submit_many(approval, [()], ids=[ID])
        assert again.id == str(ID)
        assert (await client.task(ID).status()).id == str(ID)
        assert await client.audits(ID) == []
        assert await client.task(ID).signal("approved", id=ID)
        assert not await client.task(ID).signal("approved", id=str(ID))
        async with Queues(session_of(client).store, app="shop") as queues:
            assert await queues.post("orders", {}, id=ID) == str(ID)


async def test_a_uuid_is_an_id_for_the_blocking_client_too(app: App) -> None:
    def script() -> str:
        with app.sync_client() as client:
            client.submit(approval, id=ID)
            return client.task(ID).status().id

    assert await asyncio.to_thread(script) == str(ID)


async def test_an_id_of_another_type_is_refused_by_type(app: App) -> None:
    async with app.client() as client:
        with pytest.raises(InvalidId, match=r"^id: expected a text or a UUID, found 5; give its text$"):
            await client.submit(approval, id=5)  # type: ignore[call-arg, call-overload]
        with pytest.raises(InvalidId, match="found 5"):
            client.task(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("address", ["postgres://ada:secret@db:5433/shop", "postgresql://ada:secret@db:5433/shop"])
def test_both_schemes_of_postgresql_name_a_store(address: str) -> None:
    assert is_postgres(address)
    assert postgres_place(address).dsn == "postgresql://ada:secret@db:5433/shop"
    assert postgres_place(address).shown == "postgresql://db:5433/shop"
    assert Settings(store=address).store == address
    assert App("shop", store=address).settings.store == address
    App("shop", store="sqlite:///shop.db").relay(address)


def test_the_address_of_a_driver_of_postgresql_is_answered_with_the_scheme_that_is_meant() -> None:
    with pytest.raises(Refused, match=r"found postgresql.asyncpg in .*; write postgresql://$"):
        Client("postgresql+asyncpg://ada@db/shop", app="shop")


async def _events(client: Client) -> object:
    return await anext(client.events("replies.shop.web"))


USES: list[Callable[[Client], Any]] = [
    lambda client: client.submit(order, 1),
    lambda client: client.submit("order", 1),
    lambda client: client.submit_many(order, [(1,)]),
    lambda client: client.tasks(),
    lambda client: client.task("a").status(),
    lambda client: client.task("a").result(),
    lambda client: client.task("a").cancel(),
    lambda client: client.task("a").signal("approved"),
    lambda client: client.complete("token"),
    lambda client: client.transaction().__aenter__(),
    _events,
]


async def test_a_client_that_was_not_entered_says_so(app: App) -> None:
    for use in USES:
        with pytest.raises(Refused, match=NOT_ENTERED):
            await asyncio.wait_for(use(app.client()), 5)


async def test_a_client_that_was_closed_says_so(app: App) -> None:
    async with app.client() as client:
        handle = await client.submit(approval)
    for use in USES:
        with pytest.raises(Refused, match=CLOSED):
            await asyncio.wait_for(use(client), 5)
    with pytest.raises(Refused, match=CLOSED):
        await handle.status()


async def test_a_client_of_a_running_app_may_be_used_at_once_and_not_after_its_end(app: App) -> None:
    async with app.running():
        client = app.client()
        assert await (await client.submit(order, 1)).result(timeout=20) == [1, 2, 2, 2]
    with pytest.raises(StoreUnavailable, match=r"use it before its client or app.running.. ends$"):
        await client.tasks()


BLOCKING: list[Callable[[SyncClient], object]] = [
    lambda client: client.submit(order, 1),
    lambda client: client.tasks(),
    lambda client: client.task("a"),
    lambda client: client.events("replies.shop.web"),
    lambda client: client.transaction().__enter__(),
]


def test_a_blocking_client_that_is_not_open_says_so(app: App) -> None:
    client = app.sync_client()
    for found in ("not entered yet; enter it first", "closed; open another"):
        for use in BLOCKING:
            with pytest.raises(
                Refused,
                match=rf"^SyncClient: expected use within `with app.sync_client.. as client`, found it {found}$",
            ):
                use(client)
        with client:
            assert client.tasks() == []


def test_a_blocking_client_whose_store_cannot_be_opened_leaves_no_thread_behind(tmp_path: Path) -> None:
    client = App("shop", store=f"sqlite:///{tmp_path / 'nowhere' / 'shop.db'}").sync_client()
    with pytest.raises(StoreUnavailable), client:
        pass
    with pytest.raises(Refused, match="closed"):
        client.tasks()


def test_blocking_queues_that_are_not_open_say_so(app: App) -> None:
    queues = SyncQueues(app.settings.store, app="shop")
    with pytest.raises(
        Refused, match=r"^SyncQueues: expected use within .*, found it not entered yet; enter it first$"
    ):
        queues.post("orders", {})
    with queues:
        queues.post("orders", {})
    with pytest.raises(Refused, match=r"^SyncQueues: .*, found it closed; open another$"):
        queues.post("orders", {})


async def test_queues_that_are_closed_say_so(app: App) -> None:
    async with Queues(app.settings.store, app="shop") as queues:
        pass
    with pytest.raises(Refused, match=r"^Queues: .*, found it closed; open another$"):
        await queues.post("orders", {})


async def test_an_unregistered_workflow_is_refused_with_the_known_ones_and_advice(app: App) -> None:
    async with app.client() as client:
        with pytest.raises(
            UnknownWorkflow, match=r"known: approval, order; add it to App.workflows=.*start a Scheduler"
        ):
            await client.submit(unregistered)
        with pytest.raises(UnknownWorkflow, match=r"known: approval, order; did you mean 'order'?"):
            await client.submit("ordr", 1)
        with pytest.raises(Refused, match=r"found <function.*; put @workflow above it$"):
            await client.submit(order.fn, 1)


def test_a_workflow_or_an_agent_alone_is_answered_with_the_list_that_is_meant() -> None:
    with pytest.raises(DeclarationError, match=r"^workflows: expected a list, found .*; write \[ \] around it$"):
        App("shop", workflows=order)  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match=r"^agents: expected a list, found .*; write \[ \] around it$"):
        App("shop", agents=shop)  # type: ignore[arg-type]


async def test_a_timeout_without_a_scheduler_says_that_the_application_does_not_run(app: App) -> None:
    async with app.client() as client:
        handle = await client.submit(order, 1, id="o")
        with pytest.raises(TimeoutError) as late:
            await handle.result(timeout=0.01)
    assert str(late.value) == (
        "task o: expected its end within 10ms, found it pending and no live Scheduler; run the application: "
        "async with app.running(), or stepward run APP"
    )


async def test_a_timeout_at_a_task_of_another_application_names_the_unserved_workflow(app: App) -> None:
    async with app.client() as client:
        await client.submit(order, 1, id="o")
    other = App("shop", workflows=[approval], store=app.settings.store)
    async with other.running(supervisor=False), other.client() as client:
        with pytest.raises(
            TimeoutError, match=r"found it pending and 1 live Schedulers?, none of which serves order@1;"
        ):
            await client.task("o").result(timeout=0.01)


async def test_a_timeout_says_what_the_task_waits_for(app: App) -> None:
    async with app.running(), app.client() as client:
        handle = await client.submit(approval, id="a", reply_to="replies.shop.web")
        async for event in client.events("replies.shop.web"):
            if event.type == "stepward.task.waiting":
                break
        with pytest.raises(
            TimeoutError, match=r"^task a: .* found it waiting for signal approved; give it more time, or"
        ):
            await handle.result(timeout=0.01)


WITHOUT_EXTRAS = """
import sys
sys.modules.update(dict.fromkeys(["httpx", "asyncpg", "nats", "aio_pika"]))
from stepward import *
import stepward, stepward.cli.main
print(*sorted(set(stepward.__all__) - set(globals())), "HttpAgent" in globals())
from stepward import HttpAgent
"""


def test_a_star_import_needs_no_extra_and_what_needs_one_names_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=False)
    assert done.stdout == "False\n"
    assert done.stderr.splitlines()[-1] == (
        "ImportError: HttpAgent: expected the package httpx, found none; run: pip install stepward[http]"
    )


def test_a_star_import_gives_http_agents_where_their_extra_is_installed() -> None:
    names: dict[str, Coroutine[Any, Any, Any] | object] = {}
    exec("from stepward import *", names)
    assert "HttpAgent" in names


def test_an_outbox_takes_a_uuid(tmp_path: Path) -> None:
    import sqlite3

    from stepward import SyncOutbox
    from stepward.outbox import outbox_table

    with closing(sqlite3.connect(tmp_path / "rows.db")) as connection:
        connection.executescript(outbox_table("sqlite"))
        connection.execute("begin")
        assert SyncOutbox("shop").put(connection, approval, id=ID) == str(ID)


async def test_an_unknown_argument_is_refused_with_the_nearest_name(app: App) -> None:
    async with app.client() as client:
        with pytest.raises(InvalidArguments, match=r"found: the unknown argument 'amout'; did you mean 'amount'\?$"):
            await client.submit(order, amout=3)  # type: ignore[call-overload]
        with pytest.raises(InvalidArguments, match=r"'prioriti'; did you mean 'priority'\?$"):
            await client.submit(order, 3, prioriti=9)  # type: ignore[call-arg]
        with pytest.raises(
            Refused, match=r"^submit_many\(\): expected an option, found 'priorty'; did you mean 'priority'"
        ):
            await client.submit_many(order, [(3,)], priorty=9)  # type: ignore[call-overload]
        with pytest.raises(Refused, match=r"found 'time_zone'; did you mean 'timezone'\?$"):
            await client.create_schedule("nightly", order, (3,), cron="0 2 * * *", time_zone="UTC")  # type: ignore[call-overload]
    with pytest.raises(SettingsError, match=r"did you mean 'lease'\?$"):
        App("shop", leas="5s")
