"""Messages that cannot be processed: dead letters with the reason, alerted once, put back or discarded by operators."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stepward.store.contract import Store
from stepward.store.rules import dead_letter_limits
from tests.store.conformance.world import World


async def bury(store: Store, *bodies: bytes, queue: str = "q", reason: str = "no such goods") -> list[int]:
    """Put messages and bury them; the numbers of their letters, oldest first."""
    await store.messages.put(queue, [(body, None) for body in bodies])
    taken = await store.messages.take(queue, len(bodies), 10)
    await store.messages.bury(queue, [(message.token, reason) for message in taken])
    return [letter.number for letter in reversed(await store.operators.dead_letters(len(bodies)))]


async def taken(store: Store, queue: str = "q") -> list[tuple[bytes, int]]:
    return [(message.body, message.tries) for message in await store.messages.take(queue, 9, 10)]


async def audited(store: Store) -> list[tuple[str, str, Any]]:
    return [
        (row.actor, row.act, msgspec.json.decode(row.details))
        for row in reversed(await store.operators.audits(None, 99))
    ]


async def test_a_buried_message_leaves_its_queue_with_the_reason(world: World, store: Store) -> None:
    await store.messages.put("q", [(b"bad", None), (b"good", None)])
    await store.messages.take("q", 1, 10)
    world.clock.advance(10)
    (bad,) = await store.messages.take("q", 1, 10)
    await store.messages.bury("q", [(bad.token, "no such goods")])
    (letter,) = await store.operators.dead_letters(9)
    assert (letter.queue, letter.body, letter.reason, letter.tries) == ("q", b"bad", "no such goods", 2)
    assert letter.buried_at == store.now()
    world.clock.advance(60)
    assert await taken(store) == [(b"good", 1)]


async def test_what_is_gone_is_not_buried(world: World, store: Store) -> None:
    await store.messages.put("q", [(b"1", None), (b"2", None)])
    first, second = await store.messages.take("q", 2, 10)
    await store.messages.settle("q", [first.token])
    await store.messages.bury("q", [(first.token, "gone")])
    await store.messages.bury("other", [(second.token, "another queue's")])
    assert (await store.operators.dead_letters(9), await store.operators.alerts(9, True)) == ([], [])


async def test_a_flood_of_dead_letters_is_bounded_and_one_alert_counts_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letter_limits, "MOST_DEAD_LETTERS", 3)
    await bury(store, b"1", b"2")
    (first,) = await store.operators.alerts(9, True)
    await bury(store, b"3")
    await bury(store, b"4")
    await store.messages.bury_bodies("q", [(b"5", "no sense", 1), (b"6", "no sense", 1)])
    assert [letter.body for letter in await store.operators.dead_letters(9)] == [b"3", b"2", b"1"]
    assert await taken(store) == []
    (alert,) = await store.operators.alerts(9, True)
    assert (alert.number, msgspec.json.decode(alert.details)) == (
        first.number,
        {"queue": "q", "count": 6, "dropped": 3},
    )
    assert alert.message.endswith(
        "(6 so far, of which 3 were not kept as there are too many); see stepward dead-letters"
    )
    # Another queue has room of its own, and so has this one once an operator has made it.
    await bury(store, b"other", queue="p")
    await store.operators.discard(
        [letter.number for letter in await store.operators.dead_letters(9) if letter.queue == "q"], "ada"
    )
    await bury(store, b"7")
    assert [letter.body for letter in await store.operators.dead_letters(9)] == [b"7", b"other"]


async def test_dead_letters_are_bounded_in_bytes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letter_limits, "MOST_DEAD_LETTER_BYTES", 10)
    await bury(store, b"x" * 10)
    await bury(store, b"y")
    assert [letter.body for letter in await store.operators.dead_letters(9)] == [b"x" * 10]


async def test_dead_letters_that_no_operator_wants_are_deleted_in_the_end(world: World, store: Store) -> None:
    await bury(store, b"old")
    world.clock.advance(dead_letter_limits.DEAD_LETTERS_KEPT_SECONDS - 1)
    await bury(store, b"new")
    term = await store.supervisor.lead("supervisor", 1000)
    assert term is not None
    await store.supervisor.purge(term, [])
    assert len(await store.operators.dead_letters(9)) == 2
    world.clock.advance(2)
    await store.supervisor.purge(term, [])
    assert [letter.body for letter in await store.operators.dead_letters(9)] == [b"new"]


async def test_what_never_stood_in_the_store_is_buried_as_well(store: Store) -> None:
    await store.messages.bury_bodies("q", [(b"\xff", "no \0 sense", 3), (b"", "nothing", 1)])
    second, first = await store.operators.dead_letters(9)
    assert (first.queue, first.body, first.tries) == ("q", b"\xff", 3)
    assert first.reason.startswith("no ")
    assert (second.body, second.reason, second.buried_at) == (b"", "nothing", store.now())
    (alert,) = await store.operators.alerts(9, True)
    assert msgspec.json.decode(alert.details) == {"queue": "q", "count": 2, "dropped": 0}
    await store.messages.bury_bodies("q", [(b"more", "no sense", 1)])
    await store.messages.bury_bodies("q", [])
    assert (len(await store.operators.alerts(9, True)), len(await store.operators.dead_letters(9))) == (1, 3)
    assert await store.operators.put_back([first.number], "ada") == [first.number]
    assert await taken(store) == [(b"\xff", 1)]


async def test_letters_are_listed_newest_first(world: World, store: Store) -> None:
    numbers = await bury(store, b"1", b"2", b"3")
    assert [letter.body for letter in await store.operators.dead_letters(2)] == [b"3", b"2"]
    assert [letter.number for letter in await store.operators.dead_letters(9)] == sorted(numbers, reverse=True)


async def test_one_open_alert_tells_of_a_queue(world: World, store: Store) -> None:
    await bury(store, b"1", b"2")
    await bury(store, b"3")
    await bury(store, b"4", queue="other")
    alerts = await store.operators.alerts(9, True)
    assert [(alert.kind, msgspec.json.decode(alert.details)["queue"]) for alert in alerts] == [
        ("dead_letter", "other"),
        ("dead_letter", "q"),
    ]
    assert "no such goods" in alerts[0].message
    await store.operators.acknowledge(alerts[1].number, "ada")
    await bury(store, b"5")
    assert len(await store.operators.alerts(9, True)) == 2


async def test_a_letter_that_is_put_back_is_a_new_message(world: World, store: Store) -> None:
    first, second = await bury(store, b"1", b"2")
    assert await store.operators.put_back([first], "ada") == [first]
    assert await taken(store) == [(b"1", 1)]
    assert [letter.number for letter in await store.operators.dead_letters(9)] == [second]
    assert (await audited(store))[-1] == ("ada", "put_back", {"dead_letter": first, "queue": "q"})


async def test_letters_go_back_in_the_order_that_is_asked_for(world: World, store: Store) -> None:
    first, second = await bury(store, b"1", b"2")
    assert await store.operators.put_back([second, first, second], "ada") == [second, first]
    assert await taken(store) == [(b"2", 1), (b"1", 1)]


async def test_a_letter_that_is_thrown_away_is_gone(world: World, store: Store) -> None:
    first, second = await bury(store, b"1", b"2")
    assert await store.operators.discard([first, first], "ada") == [first]
    assert [letter.number for letter in await store.operators.dead_letters(9)] == [second]
    assert await taken(store) == []
    assert await audited(store) == [("ada", "discard", {"dead_letter": first, "queue": "q"})]


async def test_numbers_that_are_no_letters_change_nothing(world: World, store: Store) -> None:
    (known,) = await bury(store, b"1")
    for act in (store.operators.put_back, store.operators.discard):
        assert await act([known + 1, 0, -1], "ada") == []
    assert (len(await store.operators.dead_letters(9)), await taken(store), await audited(store)) == (1, [], [])
    assert await store.operators.put_back([known + 1, known], "ada") == [known]
    assert await store.operators.put_back([known], "ada") == []


async def test_numbers_of_letters_are_never_used_again(world: World, store: Store) -> None:
    (first,) = await bury(store, b"1")
    await store.operators.discard([first], "ada")
    (second,) = await bury(store, b"2")
    assert second > first


async def test_a_rejected_message_is_reported_in_the_commit_of_its_dead_letter(world: World, store: Store) -> None:
    event = ("replies.shop.web", b'{"refused":true}')
    await store.messages.put("q", [(b"bad", None)])
    (bad,) = await store.messages.take("q", 1, 10)
    await store.messages.bury("q", [(bad.token, "no such goods")], [event])
    # A dead letter of another process already.
    await store.messages.bury("q", [(bad.token, "no such goods")], [event])
    await store.messages.bury_bodies("q", [(b"worse", "no sense", 1)], [event])
    told = await store.messages.read("replies.shop.web", 0, 9)
    assert [message.body for message in told] == [event[1]] * 2
    assert len(await store.operators.dead_letters(9)) == 2
