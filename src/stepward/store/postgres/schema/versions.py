"""The schema's owner and version, and its numbered, forward-only migrations."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import NamedTuple

from stepward.store.contract import Identity
from stepward.store.postgres.engine.connecting.connector import LONGEST, PREFIX
from stepward.store.postgres.engine.connection import Connection
from stepward.store.postgres.engine.query_catalogue import quoted
from stepward.store.schema_versions import check_app, check_version, read_migrations

MARKS = {"-- beside": True, "-- transaction": False}
"""Lines of a migration that begin another part of it: indexes that are made beside the work, or one transaction."""
MARK = re.compile(f"^({'|'.join(MARKS)})$", re.MULTILINE)
CONCURRENTLY = re.compile(r"\b(create) index concurrently ")
INDEX = re.compile(r"create index concurrently (\w+)\b")
MILLISECONDS = 1000
PART_DONE = """insert into {schema}.meta (key, value) values ('schema_part', '{number}')
    on conflict (key) do update set value = excluded.value"""
VERSION_DONE = """update {schema}.meta set value = '{number}' where key = 'schema_version';
delete from {schema}.meta where key = 'schema_part'"""
LOCK_BY_HAND = 1.2
"""Seconds that a transaction waits for a lock which an operator runs: where it fails it changes nothing."""


class SchemaState(NamedTuple):
    """How far a store's tables are: their version, and how many parts of the next one are done."""

    version: int
    parts: int


NOTHING = SchemaState(0, 0)


class MigrationPart(NamedTuple):
    """What of a migration is done at once: a transaction, or indexes that are made outside of one."""

    version: int
    place: int
    text: str
    is_beside: bool
    is_last: bool

    @property
    def before(self) -> SchemaState:
        """Where a store stands that this part is the next for."""
        return SchemaState(self.version - 1, self.place - 1)

    def body(self, schema: str) -> str:
        """Its statements."""
        return self.text.replace("{schema}", quoted(schema))

    def indexes(self, schema: str) -> list[tuple[str, str]]:
        """The indexes that it makes beside the work: their names and their statements."""
        statements = [each.strip() for each in self.body(schema).split(";\n")]
        return [(match[1], each) for each in statements if (match := INDEX.match(each))]

    def note(self, schema: str) -> str:
        """The statements that note that it is done."""
        note, number = (VERSION_DONE, self.version) if self.is_last else (PART_DONE, self.place)
        return note.replace("{schema}", quoted(schema)).replace("{number}", str(number))

    def script(self, schema: str) -> str:
        """What an operator runs who does it by hand."""
        if not self.is_beside:
            return f"begin;\n{self.bounds(LOCK_BY_HAND)};\n{self.whole(schema)};\ncommit;"
        return f"{self.body(schema)};\nbegin;\n{self.whole(schema)};\ncommit;"

    def bounds(self, seconds: float) -> str:
        """The statements that keep its transaction from waiting longer for a lock, and from being broken off."""
        return f"set local lock_timeout = {int(seconds * MILLISECONDS)};\nset local statement_timeout = 0"

    def whole(self, schema: str) -> str:
        """The statements of its transaction, with the note."""
        return self.note(schema) if self.is_beside else f"{self.body(schema)};\n{self.note(schema)}"


def schema_of(app: str) -> str:
    """The schema that goes by the application's name; a name too long keeps its beginning, and a hash of it all."""
    name = f"{PREFIX}{app}"
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - 9]}_{sha256(app.encode()).hexdigest()[:8]}"


async def is_current(connection: Connection, app: str, place: str) -> bool:
    """Whether no migration is missing; refuses the store of another application or a newer program."""
    return await stands_at(connection, app, place) == SchemaState(newest(), 0)


async def stands_at(connection: Connection, app: str, place: str) -> SchemaState:
    """Where the store stands; refuses the store of another application or a newer program."""
    found = await identity(connection, place)
    if found is None:
        return NOTHING
    check_app(found.app, app, place, "schema or app")
    return await schema_state(connection, found)


async def schema_state(connection: Connection, found: Identity) -> SchemaState:
    """Where a store stands that has been identified."""
    ((parts,),) = await connection.rows("schema.parts_done")
    return SchemaState(found.schema_version, int(parts))


async def identity(connection: Connection, place: str) -> Identity | None:
    """The identity of the store in the schema; None if it holds none. Raises StoreUnusable for that of a newer
    program."""
    if await connection.row("schema.find_meta", connection.schema) is None:
        return None
    meta = dict(map(tuple, await connection.rows("schema.read_meta")))
    version = check_version(meta.get("schema_version", ""), newest(), place)
    return Identity(meta.get("app", ""), version, newest(), meta.get("store_id"))


def migrations() -> list[tuple[int, str]]:
    """The numbered migrations in order."""
    return read_migrations("postgres")


def newest() -> int:
    """The newest schema that this program knows."""
    return migrations()[-1][0]


def new(schema: str) -> str:
    """All migrations for a store that does not exist yet: its indexes need not be made beside any work."""
    texts = [part.body(schema) for part in parts_after(NOTHING)]
    return ";\n".join(CONCURRENTLY.sub(r"\1 index ", text) for text in texts)


def parts_after(stands: SchemaState) -> list[MigrationPart]:
    """The migration parts that a store in that state lacks."""
    found = []
    for version, text in migrations():
        texts = _divided(text)
        found += [
            MigrationPart(version, place, body, is_beside=is_beside, is_last=place == len(texts))
            for place, (is_beside, body) in enumerate(texts, 1)
        ]
    return [part for part in found if part.before >= stands]


def _divided(text: str) -> list[tuple[bool, str]]:
    """The parts of a migration's text, which begins with a transaction; comments are left out."""
    found, is_beside = list[tuple[bool, str]](), False
    for piece in MARK.split(text):
        if piece in MARKS:
            is_beside = MARKS[piece]
        elif body := "\n".join(line for line in piece.splitlines() if line and not line.startswith("--")):
            found.append((is_beside, body.removesuffix(";")))
    return found


def create_schema(name: str) -> str:
    """The statement that makes the schema."""
    return f"create schema {quoted(name)}"


def drop_index(name: str, index: str) -> str:
    """The statement that removes an index beside the work."""
    return f"drop index concurrently {quoted(name)}.{quoted(index)}"
