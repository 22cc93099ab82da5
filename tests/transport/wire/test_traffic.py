"""What really travels is what docs/asyncapi.json says, and all of that really travels."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from stepward import Queues
from tests.tiers import nightly
from tests.transport.brokers import new_app
from tests.transport.wire.described import Described, Tapped
from tests.transport.wire.doors import Door
from tests.transport.wire.taps import Tap
from tests.transport.wire.traffic import MANY, application, say_everything

pytestmark = pytest.mark.servers

CAPACITY = Path(__file__).parent / "golden" / "v2" / "capacity.json"


@pytest.fixture
async def heard(door: Door, tmp_path: Path) -> AsyncIterator[Tap]:
    """Everything that an application said that says everything."""
    app = application(new_app(), door.address, tmp_path)
    async with door.tapped(app.name) as tap:
        async with app.running(), app.client() as client, Queues(door.address, app=app.name) as queues:
            await say_everything(app, client, queues, tap)
            for address in {tapped.address for tapped in tap}:
                assert await door.agrees(Described(door.name).place(address)), address
            await door.put(app.name, "told", CAPACITY.read_bytes())
            await tap.until(lambda tapped: b"stepward.capacity" in tapped.body)
            if door.name == "rabbitmq":
                await door.lose(app.name, "agents.till")
                await tap.until(lambda tapped: b"stepward.loss" in tapped.body)
        yield tap


@pytest.mark.parametrize("door", ["nats", "rabbitmq", nightly("amqp10")], indirect=True)
async def test_real_traffic_and_description_cover_each_other(door: Door, heard: Tap) -> None:
    described = Described(door.name)
    assert [complaint for tapped in heard for complaint in described.complaints(tapped)] == []
    assert described.told - described.seen == set()
    batches = [events(tapped) for tapped in heard if tapped.body.startswith(b"[")]
    assert max(len(batch) for batch in batches) > 1, "many share a broker message"
    assert sum(len(batch) for batch in batches) > 2 * MANY
    said = [event for tapped in heard for event in events(tapped)]
    assert_no_two_share_an_identity(said)
    assert {event["outcome"] for event in said if "outcome" in event} == {"completed", "failed", "gave_up", "deferred"}
    for name in ("undo", "undoes", "maybedone", "progress", "traceparent", "replyto", "sequence"):
        assert any(event.get(name) for event in said), name
    assert {event["priority"] for event in said if "priority" in event} == {5, 9}


def assert_no_two_share_an_identity(heard: list[dict[str, Any]]) -> None:
    """CloudEvents tells doubles by source and id."""
    known: dict[tuple[str, str], Any] = {}
    for event in heard:
        told = {name: value for name, value in event.items() if name != "time"}
        assert known.setdefault((event["source"], event["id"]), told) == told


def events(tapped: Tapped) -> list[dict[str, Any]]:
    body = json.loads(tapped.body)
    return body if isinstance(body, list) else [body]
