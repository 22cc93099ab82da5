"""A process that starts where another store has its application's name is refused, unless a prefix keeps them apart."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from stepward import Agent, App, Queues, workflow
from stepward.client import session_of
from stepward.clock import Environment
from stepward.errors import SettingsError
from stepward.events import Observers
from stepward.model.messages.cloudevents import decode_event
from stepward.transport.open_broker import broker_queues
from tests.transport.apart.test_receipt import OTHER, PAYMENTS
from tests.transport.brokers import brokered, clear, new_app, opened
from tests.transport.messages import SIGNER, request, signer_of

pytestmark = pytest.mark.servers


def application(name: str, address: str, store: Path, charged: list[str]) -> App:
    payments = Agent("payments")

    @payments.operation(complete_by="30s")
    async def charge(order: str) -> str:
        charged.append(order)
        return f"charge-{order}"

    @workflow
    async def fulfil(order: str) -> str:
        return await charge(order)

    return App(name, workflows=[fulfil], agents=[payments], store=f"sqlite:///{store}", transport=address)


def prefixed(address: str, prefix: str) -> str:
    return f"{address}?prefix={prefix}"


async def test_a_second_store_is_refused_in_one_line(address: str, tmp_path: Path) -> None:
    name = new_app()
    production = application(name, address, tmp_path / "production.db", [])
    staging = application(name, address, tmp_path / "staging.db", [])
    async with production.running(), production.client() as client:
        with pytest.raises(SettingsError) as refused:
            async with staging.running():
                pass
        line = str(refused.value)
        assert "\n" not in line
        assert (await signer_of(session_of(client).store)).store in line
        assert re.search(r"expected the application '[\w-]+' of the store '\w{20}'.*\?prefix=NAME", line)
    # The name stays that store's when nothing of it runs.
    with pytest.raises(SettingsError):
        async with staging.running():
            pass
    async with production.running():
        pass


async def test_one_of_several_stores_starting_at_once_gets_the_name(address: str) -> None:
    name = new_app()
    signers = [SIGNER, OTHER] * 3
    found = await asyncio.gather(
        *[opened(address, app=name, signer=signer) for signer in signers], return_exceptions=True
    )
    began = [each for each in found if not isinstance(each, BaseException)]
    for transport in began:
        await transport.close()
    assert len(began) == 3
    assert all(isinstance(each, SettingsError) for each in found if isinstance(each, BaseException))
    assert len({signer.store for signer, each in zip(signers, found, strict=True) if each in began}) == 1


async def test_a_prefix_keeps_two_stores_apart(address: str, tmp_path: Path) -> None:
    name, charged, also = new_app(), list[str](), list[str]()
    production = application(name, address, tmp_path / "production.db", charged)
    staging = application(name, prefixed(address, "staging"), tmp_path / "staging.db", also)
    async with production.running(), staging.running(), production.client() as ours, staging.client() as theirs:
        for number in range(10):
            await (await ours.submit("fulfil", f"ours-{number}")).result(timeout="30s")
            await (await theirs.submit("fulfil", f"theirs-{number}")).result(timeout="30s")
        assert await ours.alerts(10) == await theirs.alerts(10) == []
    assert charged == [f"ours-{number}" for number in range(10)]
    assert also == [f"theirs-{number}" for number in range(10)]


async def test_front_ends_post_where_their_address_says(address: str) -> None:
    name = new_app()
    async with (
        Queues(prefixed(address, "staging"), app=name) as staging,
        Queues(address, app=name, store_id=SIGNER.store) as production,
    ):
        await staging.post("orders", 1, id="staging")
        await production.post("orders", 2, id="production")
    for place, posted in ((prefixed(address, "staging"), "staging"), (address, "production")):
        now = asyncio.get_running_loop().time
        queues = broker_queues(place, app=name, now=now, environment=Environment(), observers=Observers(), bury=None)
        (found,) = await queues.take(f"submissions.{name}.orders", 10, 5.0)
        event = decode_event(found.body)
        assert (event.id, event.store) == (posted, SIGNER.store if posted == "production" else None)
        await queues.close()
    await clear(address, name)


@pytest.mark.parametrize("prefix", ["", "a.b", "a b", "x" * 51, "a&prefix=b"])
async def test_a_prefix_that_is_none_is_refused(address: str, prefix: str) -> None:
    with pytest.raises(SettingsError, match="expected one prefix="):
        await opened(f"{address}?prefix={prefix}", app="shop")


async def test_the_same_name_behind_a_prefix_has_queues_of_its_own(address: str) -> None:
    name = new_app()
    async with (
        brokered(address, app=name) as plain,
        brokered(prefixed(address, "a"), app=name, signer=OTHER) as other,
    ):
        await plain.publish(PAYMENTS, [request("plain")])
        await other.publish(PAYMENTS, [request("other", proof=None)])
        (delivery,) = await other.take(PAYMENTS, 10, 5.0)
        assert delivery.message.task == "other"
        await other.settle(PAYMENTS, [delivery])
