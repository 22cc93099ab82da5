"""Messages under a rule for their key: joined ones are accepted with their rows, refused ones are dead letters."""

from __future__ import annotations

from stepward import Accepted, Debounce, Message, Singleton
from stepward.client import session_of
from stepward.model.tasks.key_rules import KeyRule
from stepward.store.contract import Transaction
from tests.submission.world import World, fulfil


def under(rule: KeyRule) -> object:
    async def plan(message: Message, transaction: Transaction) -> Accepted:
        return Accepted(fulfil, message.id, per_key=rule)

    return plan


async def test_a_message_that_joins_a_task_keeps_its_rows_and_comes_again_in_vain(world: World) -> None:
    for id in ("a", "b"):
        world.desk.plans[id] = under(Singleton("k", if_running="join"))  # type: ignore[assignment]
    await world.post("a", "b")
    await world.run()
    await world.emptied()
    assert (world.placed(), await world.tasks()) == (["a", "b"], ["a"])
    store = session_of(world.client).store
    async with store.client.transaction() as transaction:
        assert await transaction.known(["a", "b"]) == {"a", "b"}
    await world.post("b")
    await world.emptied()
    assert (world.placed(), await world.tasks()) == (["a", "b"], ["a"])
    assert world.desk.ids == ["a", "b"]


async def test_a_message_that_the_rule_refuses_is_a_dead_letter_that_names_the_task(world: World) -> None:
    for id in ("a", "b"):
        world.desk.plans[id] = under(Singleton("k"))  # type: ignore[assignment]
    await world.post("a", "b")
    await world.run()
    (letter,) = await world.buried()
    assert "of the key 'k' that has not ended, found a" in letter.reason
    assert await world.both() == ["a"]


async def test_a_debounced_message_replaces_the_arguments_of_the_task_that_waits(world: World) -> None:
    for id in ("a", "b"):
        world.desk.plans[id] = under(Debounce("k", wait="5s", latest="1m"))  # type: ignore[assignment]
    await world.post("a", "b")
    await world.run(scheduler=True)
    await world.emptied()
    assert await world.client.task("a").result(timeout=60) == "b"
    assert await world.tasks() == ["a"]
