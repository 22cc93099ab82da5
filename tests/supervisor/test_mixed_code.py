"""Live Schedulers that serve different code or policies under one workflow and version: one alert while it lasts."""

from __future__ import annotations

import json

import msgspec
import pytest

from stepward.model.alerts.mixed_code import mixed
from stepward.model.records import Alert, Digest, Instance, Role

from .conftest import Bench


def scheduler(number: int, *, code: str = "a", policy: str = "p", workflow: str = "order@1") -> Instance:
    return Instance(
        id=f"scheduler-{number}",
        role=Role.SCHEDULER,
        host=f"host-{number}",
        pid=100 + number,
        serves=[workflow],
        started_at=float(number),
        digests={workflow: Digest(code=code, policy=policy)},
    )


def opened(bench: Bench) -> list[Alert]:
    return [alert for alert in bench.store.alerts.values() if alert.acknowledged_at is None]


async def test_different_code_is_one_alert_until_all_agree_again(bench: Bench) -> None:
    supervisor = bench.supervisor()
    bench.store.serving = [scheduler(1), scheduler(2, code="b")]
    for _ in range(3):
        await supervisor.turn()
        bench.store.time += 10
    (alert,) = opened(bench)
    assert alert.kind == "mixed_code"
    assert alert.message == (
        "workflow order@1: expected all live Schedulers to serve the same, found another code in scheduler-2 on host-2 "
        "(process 102) than in scheduler-1 on host-1 (process 101); give changed code a new version, or restart "
        "the one that is out of date"
    )
    (told,) = json.loads(alert.details)
    assert (told["workflow"], told["differs"]) == ("order@1", ["code"])
    assert [(each["id"], each["host"]) for each in told["instances"]] == [
        ("scheduler-1", "host-1"),
        ("scheduler-2", "host-2"),
    ]
    bench.store.serving = [scheduler(2, code="b")]
    await supervisor.turn()
    assert opened(bench) == []
    assert bench.names().count("code.differs") == bench.names().count("code.agrees") == 1


async def test_a_new_leader_neither_repeats_the_alert_nor_leaves_it_open(bench: Bench) -> None:
    bench.store.serving = [scheduler(1), scheduler(2, policy="q")]
    await bench.supervisor().turn()
    await bench.supervisor().turn()
    (alert,) = opened(bench)
    assert "found another policy in" in alert.message
    bench.store.serving = [scheduler(1)]
    await bench.supervisor().turn()
    assert opened(bench) == []


async def test_a_changed_difference_replaces_the_alert(bench: Bench) -> None:
    supervisor = bench.supervisor()
    bench.store.serving = [scheduler(1), scheduler(2, code="b")]
    await supervisor.turn()
    bench.store.serving = [scheduler(2, code="b"), scheduler(3, code="b", policy="q")]
    bench.store.time += 10
    await supervisor.turn()
    (alert,) = opened(bench)
    assert "another policy in scheduler-3" in alert.message


@pytest.mark.parametrize(
    ("other", "parts"),
    [
        (scheduler(2), None),
        (scheduler(2, code="b"), ("code",)),
        (scheduler(2, policy="q"), ("policy",)),
        (scheduler(2, code="b", policy="q"), ("code", "policy")),
        (scheduler(2, code="b", workflow="order@2"), None),
        (scheduler(2, code=""), None),
        (msgspec.structs.replace(scheduler(2, code="b"), alive=False), None),
        (msgspec.structs.replace(scheduler(2, code="b"), role=Role.AGENT), None),
        (msgspec.structs.replace(scheduler(2), digests={}), None),
    ],
    ids=["same", "code", "policy", "both", "another-version", "no-source", "dead", "no-scheduler", "older-release"],
)
def test_what_counts_as_different(other: Instance, parts: tuple[str, ...] | None) -> None:
    assert [each.parts for each in mixed([other, scheduler(1)])] == ([] if parts is None else [parts])
