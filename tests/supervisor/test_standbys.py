"""Too few standbys: alerted once, settled when they are back, and ignored where none are expected."""

from __future__ import annotations

import pytest

from stepward.store.contract import Standby

from .conftest import Bench

SYNC = Standby(name="one", state="streaming", sync="sync", behind=0)
ASYNC = Standby(name="two", state="streaming", sync="async", behind=0)
CATCHING_UP = Standby(name="three", state="catchup", sync="sync", behind=9)
OTHERS = [[], [ASYNC], [CATCHING_UP], [ASYNC, CATCHING_UP]]


def kinds(bench: Bench) -> list[str]:
    return [alert.kind for alert in bench.store.alerts.values() if alert.acknowledged_at is None]


async def test_without_required_standbys_none_are_checked(bench: Bench) -> None:
    await bench.supervisor(warn_standby_behind="never").turn()
    assert "standbys" not in bench.store.calls


@pytest.mark.parametrize("attached", OTHERS)
async def test_too_few_standbys_are_one_alert_until_they_are_back(bench: Bench, attached: list[Standby]) -> None:
    supervisor = bench.supervisor(synchronous_standbys=1)
    bench.store.attached = attached
    for _ in range(3):
        await supervisor.turn()
        bench.store.time += 10
    assert kinds(bench) == ["standby_missing"]
    assert bench.names().count("standbys.missing") == 1
    bench.store.attached = [ASYNC, SYNC]
    await supervisor.turn()
    assert kinds(bench) == []
    assert "standbys.back" in bench.names()
    bench.store.time += 10
    bench.store.attached = []
    await supervisor.turn()
    assert kinds(bench) == ["standby_missing"]


async def test_a_new_leader_settles_an_alert_of_another(bench: Bench) -> None:
    bench.store.attached = []
    await bench.supervisor(synchronous_standbys=1).turn()
    bench.store.attached = [SYNC]
    await bench.supervisor(synchronous_standbys=1).turn()
    assert kinds(bench) == []


async def test_standbys_are_looked_at_now_and_then(bench: Bench) -> None:
    supervisor = bench.supervisor(synchronous_standbys=1, warn_standby_behind="never")
    bench.store.attached = [SYNC]
    for _ in range(20):
        await supervisor.turn()
        bench.store.time += 1
    assert bench.store.calls.count("standbys") == 2
    assert "standbys.back" not in bench.names()


async def test_without_rights_to_see_standbys_no_alert_is_raised(bench: Bench) -> None:
    supervisor = bench.supervisor(synchronous_standbys=1)
    await supervisor.turn()
    assert kinds(bench) == []
