"""Tampering with the audit of each store: what was changed, removed or cut off is found, and its place is named."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from stepward.cli.commands.system.audit_verification import verified
from stepward.errors import Refused, StepwardError
from stepward.model.records import Audit
from stepward.store.contract import AuditHead, Change, Store
from stepward.store.rules.audit.audit_chain import FIRST_HASH, audit_values, linked
from stepward.store.rules.audit.audit_verification import head_of
from stepward.supervisor.archives.folder_archive import FolderArchive
from stepward.supervisor.retention import pruning
from tests.store.conformance.world import World, scheduler

ACTS = 6


async def acted(store: Store, *acts: str) -> list[int]:
    """The numbers of all acts, after these."""
    audits = [Audit(actor="ada", act=act, details=b'{"note":"x"}') for act in acts]
    await store.scheduler.commit("s1", [Change(task="x", audits=audits)], None)
    return [act.audit.number for act in await store.operators.acts(0)]


async def audited(world: World) -> tuple[Store, list[int]]:
    """A store and the numbers of its acts."""
    store = await world.open()
    await scheduler(store)
    return store, await acted(store, *(f"act-{number}" for number in range(ACTS)))


async def tamper(world: World, store: Store, change: str, *values: object) -> None:
    """Change the table of the audit past the store."""
    table = world.place.steps.removesuffix("step") + "audit"
    async with store.client.transaction() as transaction:
        await transaction.execute(change.format(audit=table), values)


async def head(store: Store) -> AuditHead:
    found = await store.operators.audit_head()
    assert found is not None
    return head_of(str(found))


async def complaint(store: Store, *anchors: AuditHead, archive: Path | None = None) -> str:
    with pytest.raises(StepwardError) as caught:
        await verified(store.operators, anchors, archive)
    return str(caught.value)


async def archived(world: World, store: Store, folder: Path) -> None:
    """Move all acts so far into an archive."""
    folder.mkdir(exist_ok=True)
    world.clock.advance(100)
    archive = FolderArchive(folder, "test")
    prune = store.operators.prune_as
    _ = [n async for n in pruning(store.operators, archive, store.now(), lambda found: prune(found, "ada"))]


async def test_an_act_that_was_edited_is_named(world: World) -> None:
    store, numbers = await audited(world)
    assert await verified(store.operators, [], None) == f"The audit is whole: {ACTS} acts."
    await tamper(world, store, "update {audit} set actor = 'eve' where number = $1", numbers[2])
    assert f"found 1 that do not: number {numbers[2]} was changed" in await complaint(store)


async def test_acts_that_were_removed_from_the_middle_are_named_by_their_neighbours(world: World) -> None:
    store, numbers = await audited(world)
    await tamper(world, store, "delete from {audit} where number in ($1, $2)", numbers[2], numbers[3])
    assert f"or acts between {numbers[1]} and it were removed" in await complaint(store)


async def test_acts_that_were_removed_from_the_beginning_are_named(world: World) -> None:
    store, numbers = await audited(world)
    await tamper(world, store, "delete from {audit} where number <= $1", numbers[1])
    assert f"number {numbers[2]} was changed, or acts between 0 and it were removed" in await complaint(store)


async def test_an_act_whose_hash_was_recomputed_breaks_the_next_one(world: World) -> None:
    store, numbers = await audited(world)
    acts = await store.operators.acts(0)
    forged = Audit(**{name: getattr(acts[2].audit, name) for name in Audit.__struct_fields__} | {"actor": "eve"})
    digest = linked(acts[1].hash, audit_values(forged, forged.at))
    change = "update {audit} set actor = 'eve', hash = $1 where number = $2"
    await tamper(world, store, change, digest, numbers[2])
    assert f"number {numbers[3]} was changed, or {numbers[2]} before it" in await complaint(store)


async def test_the_newest_acts_that_were_removed_show_by_a_head_that_was_noted(world: World) -> None:
    store, numbers = await audited(world)
    noted = await head(store)
    await acted(store, "later")
    assert (await verified(store.operators, [noted], None)).startswith("The audit is whole")
    await tamper(world, store, "delete from {audit} where number >= $1", numbers[-2])
    assert (await verified(store.operators, [], None)).startswith("The audit is whole")
    found = await complaint(store, noted)
    assert f"found those of number {numbers[-1]} missing" in found
    assert f"the newest act {numbers[-3]}: acts were removed from the end" in found


async def test_an_emptied_audit_shows_by_a_head_that_was_noted(world: World) -> None:
    store, _ = await audited(world)
    noted = await head(store)
    await tamper(world, store, "delete from {audit}")
    assert "no act at all" in await complaint(store, noted)


async def test_a_chain_that_was_rewritten_shows_by_a_head_that_was_noted(world: World) -> None:
    store, numbers = await audited(world)
    noted = await head(store)
    before = FIRST_HASH
    for act in await store.operators.acts(0):
        audit = Audit(**{name: getattr(act.audit, name) for name in Audit.__struct_fields__} | {"actor": "eve"})
        before = linked(before, audit_values(audit, audit.at))
        change = "update {audit} set actor = 'eve', hash = $1 where number = $2"
        await tamper(world, store, change, before, audit.number)
    assert (await verified(store.operators, [], None)).startswith("The audit is whole")
    assert f"those of number {numbers[-1]} missing or with another hash" in await complaint(store, noted)


async def test_noted_heads_and_the_archive_hold_after_archiving(world: World, tmp_path: Path) -> None:
    store, numbers = await audited(world)
    noted = await head(store)
    await archived(world, store, tmp_path / "old")
    await acted(store, "later")
    await archived(world, store, tmp_path / "old")
    (pruned, *_) = await store.operators.acts(0)
    whole = await verified(store.operators, [noted], tmp_path / "old")
    before = pruned.audit.number - 1
    assert whole == f"The audit is whole: 1 acts, and those up to number {before} in the archive, {ACTS + 2}."
    forged = AuditHead(before, bytes(32))
    assert f"those of number {before} missing" in await complaint(store, forged)
    assert numbers[-1] < before


async def test_a_head_in_the_archive_shows_that_the_newest_acts_were_removed(world: World, tmp_path: Path) -> None:
    store, _ = await audited(world)
    await archived(world, store, tmp_path / "old")
    await acted(store, "recent")
    world.clock.advance(100)
    recent = await acted(store, "new")
    records = await store.operators.old_records(store.now() - 50)
    await FolderArchive(tmp_path / "old", "test").keep_records(records)
    assert await verified(store.operators, [], tmp_path / "old")
    await tamper(world, store, "delete from {audit} where number = $1", recent[-1])
    assert (await verified(store.operators, [], None)).startswith("The audit is whole")
    assert f"those of number {recent[-1]} missing" in await complaint(store, archive=tmp_path / "old")


async def test_archived_acts_that_were_changed_or_removed_are_named(world: World, tmp_path: Path) -> None:
    store, numbers = await audited(world)
    folder = tmp_path / "old"
    await archived(world, store, folder)
    (path,) = folder.glob("records/*/*.jsonl.gz")
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join([*lines[:1], *lines[2:]])))
    found = await complaint(store, archive=folder)
    assert found.startswith(f"archive {folder}: expected each act to follow")
    assert f"number {numbers[2]} was changed, or acts between {numbers[0]} and it were removed" in found
    path.write_bytes(gzip.compress(b"".join(lines).replace(b'"ada"', b'"eve"', 1)))
    assert f"number {numbers[0]} was changed" in await complaint(store, archive=folder)
    path.unlink()
    assert f"found those of number {numbers[-1]} missing" in await complaint(store, archive=folder)
    path.write_bytes(b"not an archive")
    assert "expected a file as retention wrote it" in await complaint(store, archive=folder)


@pytest.mark.parametrize(
    "text", ["", "1", "1:", "x:" + "0" * 64, "1:" + "0" * 63, "1:" + "g" * 64, "9" * 99 + ":" + "0" * 64]
)
def test_a_head_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="head: expected NUMBER:HASH"):
        head_of(text)
