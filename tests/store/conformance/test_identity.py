from __future__ import annotations

import asyncio

from stepward.model.messages.signing import StoreIdentity
from stepward.model.records import Alert
from stepward.store.contract import Store
from tests.store.conformance.world import World


async def test_the_identity_of_a_store_is_made_once(world: World, store: Store) -> None:
    other = await world.open()
    drawn = [StoreIdentity.drawn(bytes([number]) * 42) for number in range(6)]
    opened = [store, other] * 3
    kept = await asyncio.gather(*[each.host.identity(fresh) for each, fresh in zip(opened, drawn, strict=True)])
    assert len(set(kept)) == 1
    assert kept[0] in drawn
    assert (len(kept[0].store), len(kept[0].key)) == (20, 32)
    assert await (await world.open()).host.identity(StoreIdentity.drawn(bytes(42))) == kept[0]


async def test_an_alert_about_refused_messages_is_open_once(store: Store) -> None:
    for kind in ("foreign_store", "foreign_store", "old_wire", "unproven_message", "unproven_message"):
        await store.host.warn(Alert(kind=kind, message="refused"))
    found = await store.operators.alerts(10, open_only=True)
    assert sorted(alert.kind for alert in found) == ["foreign_store", "old_wire", "unproven_message"]
    assert all(alert.at > 0 for alert in found)
    await store.operators.acknowledge(next(each.number for each in found if each.kind == "old_wire"), "op")
    await store.host.warn(Alert(kind="old_wire", message="again"))
    assert [each.message for each in await store.operators.alerts(10, open_only=True) if each.kind == "old_wire"] == [
        "again"
    ]
