"""Which Scheduler carries which queue."""

from __future__ import annotations

from collections import Counter

from msgspec import structs

from stepward.host.queues.status_event_relay import carrier_of
from stepward.model.records import Instance, Role

LEASE = 10.0
NOW = 1000.0
QUEUES = [f"replies.shop.{number}" for number in range(300)]


def scheduler(id: str, started_at: float = 0.0, role: Role = Role.SCHEDULER) -> Instance:
    return Instance(
        id=id, role=role, host="h", pid=1, serves=[], started_at=started_at, expires_at=NOW + LEASE, alive=True
    )


def carriers(*instances: Instance, now: float = NOW) -> list[str | None]:
    return [carrier_of(queue, instances, now, LEASE) for queue in QUEUES]


def test_queues_are_shared_by_their_names() -> None:
    ours = [scheduler(f"s{number}") for number in range(3)]
    counts = Counter(carriers(*ours))
    assert set(counts) == {"s0", "s1", "s2"}
    assert min(counts.values()) > len(QUEUES) / 6
    assert carriers(*ours) == carriers(*reversed(ours))


def test_when_one_dies_only_its_queues_change_hands() -> None:
    one, two, three = [scheduler(f"s{number}") for number in range(3)]
    before, after = carriers(one, two, three), carriers(one, two, structs.replace(three, alive=False))
    assert all(was in (now, "s2") for was, now in zip(before, after, strict=True))
    assert set(after) == {"s0", "s1"}


def test_one_whose_lease_is_over_carries_nothing() -> None:
    one, two = scheduler("s0"), structs.replace(scheduler("s1"), expires_at=NOW)
    assert set(carriers(one, two)) == {"s0"}


def test_one_that_is_new_waits_until_all_others_know_of_it() -> None:
    old, new = scheduler("s0"), scheduler("s1", NOW - LEASE + 1)
    assert set(carriers(old, new)) == {"s0"}
    assert set(carriers(old, new, now=NOW + 1)) == {"s0", "s1"}


def test_while_all_are_new_the_first_of_them_carries() -> None:
    assert set(carriers(scheduler("s1", NOW - 1), scheduler("s0", NOW))) == {"s1"}


def test_only_schedulers_carry() -> None:
    assert set(carriers(scheduler("a0", role=Role.AGENT), scheduler("x0", role=Role.SUPERVISOR))) == {None}
