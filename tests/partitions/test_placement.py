"""The placement of tasks is even, the same in every process, and changes by no more than a share for one more store."""

from __future__ import annotations

import pytest

from stepward.store.partitions.placement import (
    MOST_PARTITIONS,
    SHARDS,
    initial_shards,
    placement_key,
    read_shards,
    shard_of,
    with_one_more,
    written,
)

IDS = 100_000


def test_every_shard_is_held_by_exactly_one_partition() -> None:
    for count in range(1, MOST_PARTITIONS + 1):
        held = initial_shards(count)
        assert sorted(shard for shards in held for shard in shards) == list(range(SHARDS))
        assert max(map(len, held)) - min(map(len, held)) <= 1


@pytest.mark.parametrize("count", range(1, MOST_PARTITIONS))
def test_another_partition_takes_its_share_and_no_other_gains_a_shard(count: int) -> None:
    before, after = initial_shards(count), initial_shards(count + 1)
    assert len(after[-1]) == SHARDS // (count + 1)
    assert all(left <= held for left, held in zip(after, before, strict=False))


@pytest.mark.parametrize("pattern", ["order-{}", "{}", "task_{:08d}"])
def test_a_third_partition_takes_at_most_a_third_of_the_ids_and_the_others_stay(pattern: str) -> None:
    before = initial_shards(2)
    after = with_one_more(before)
    was, becomes = ({shard: place for place, shards in enumerate(held) for shard in shards} for held in (before, after))
    shards = [shard_of(pattern.format(number)) for number in range(IDS)]
    moved = [shard for shard in shards if was[shard] != becomes[shard]]
    assert len(moved) <= IDS / 3
    assert {becomes[shard] for shard in moved} == {2}
    assert sum(was[shard] == 0 for shard in shards) == pytest.approx(IDS / 2, rel=0.01)


def test_shards_do_not_change_between_versions() -> None:
    # A store holds tasks by these numbers: another function would lose them.
    assert [shard_of(id) for id in ("order-1", "order-2", "grüße")] == [131, 158, 226]
    assert sorted(initial_shards(2)[1])[:5] == [4, 6, 7, 9, 10]


@pytest.mark.parametrize(
    ("id", "key"),
    [
        ("order-1", "order-1"),
        ("order-1/payments.charge/2", "order-1"),
        ("order-1/2/child/1#1/deeper/1", "order-1"),
        ("nightly@2027-01-15T09:00:00Z", "nightly"),
        ("nightly@2027-01-15T09:00:00Z/child/1", "nightly"),
        ("nightly@0193a5e2-7c1b-7def-8abc-0123456789ab", "nightly"),
        ("nightly@0193a5e2-7c1b-7def-8abc-0123456789ab/child/1", "nightly"),
        ("nightly@0193a5e2-7c1b-4def-8abc-0123456789ab", "nightly@0193a5e2-7c1b-4def-8abc-0123456789ab"),
        ("alice@example.com", "alice@example.com"),
    ],
)
def test_child_tasks_are_placed_with_their_root_and_tasks_of_a_schedule_with_its_name(id: str, key: str) -> None:
    assert placement_key(id) == key
    assert shard_of(id) == shard_of(key)


def test_written_shards_are_read_back() -> None:
    for shards in initial_shards(3):
        assert read_shards(written(shards)) == shards
        assert len(written(shards)) == SHARDS // 4
