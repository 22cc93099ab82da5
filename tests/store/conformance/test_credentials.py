"""Tokens and sessions: kept by their hash, found by their id, worth nothing once they are revoked."""

from __future__ import annotations

from msgspec.structs import replace

from stepward.model.credentials import AccessRole, Credential, CredentialKind
from stepward.model.records import Audit
from stepward.store.contract import Store
from stepward.store.verbs.credentials import KEPT_SECONDS
from tests.store.conformance.world import World

TOKEN = Credential(
    id="t1",
    kind=CredentialKind.TOKEN,
    name="ci",
    secret_hash=b"\0\xff" * 16,
    role=AccessRole.OPERATOR,
    payloads=True,
    workflows=["order"],
    labels={"shop": "north"},
    created_by="ada",
)


async def test_a_token_is_found_by_its_id_as_it_was_kept(world: World, store: Store) -> None:
    assert await store.operators.add_credential(TOKEN, "ada")
    found = await store.operators.credential("t1")
    assert found == replace(TOKEN, created_at=store.now())
    assert await store.operators.credentials() == [found]
    assert await store.operators.credential("t2") is None


async def test_a_name_belongs_to_one_live_token(world: World, store: Store) -> None:
    assert await store.operators.add_credential(TOKEN, "ada")
    again = replace(TOKEN, id="t2")
    assert not await store.operators.add_credential(again, "ada")
    assert await store.operators.revoke_credential("t1", "ada")
    assert await store.operators.add_credential(again, "ada")


async def test_a_name_is_free_once_its_token_has_expired(world: World, store: Store) -> None:
    assert await store.operators.add_credential(replace(TOKEN, expires_at=store.now() + 5), "ada")
    world.clock.advance(6)
    assert await store.operators.add_credential(replace(TOKEN, id="t2"), "ada")


async def test_people_may_have_many_sessions(world: World, store: Store) -> None:
    session = replace(TOKEN, kind=CredentialKind.SESSION)
    assert await store.operators.add_credential(session, "user:ada")
    assert await store.operators.add_credential(replace(session, id="t2"), "user:ada")


async def test_what_is_revoked_stays_revoked(world: World, store: Store) -> None:
    await store.operators.add_credential(TOKEN, "ada")
    assert await store.operators.revoke_credential("t1", "bob")
    assert not await store.operators.revoke_credential("t1", "bob")
    assert not await store.operators.revoke_credential("none", "bob")
    found = await store.operators.credential("t1")
    assert found is not None
    assert not found.is_live(store.now())


async def test_what_ended_long_ago_is_forgotten(world: World, store: Store) -> None:
    await store.operators.add_credential(TOKEN, "ada")
    await store.operators.revoke_credential("t1", "ada")
    world.clock.advance(KEPT_SECONDS + 1)
    await store.operators.add_credential(replace(TOKEN, id="t2", name="other"), "ada")
    assert [each.id for each in await store.operators.credentials()] == ["t2"]


async def test_each_change_is_audited_and_tells_no_hash(world: World, store: Store) -> None:
    await store.operators.add_credential(TOKEN, "ada")
    await store.operators.revoke_credential("t1", "bob")
    await store.operators.record_acts([Audit(actor="token:ci", act="refused")])
    acts = await store.operators.audits(None, 10)
    assert [(act.actor, act.act) for act in acts] == [
        ("token:ci", "refused"),
        ("bob", "revoke"),
        ("ada", "create"),
    ]
    assert b"hash" not in acts[-1].details
