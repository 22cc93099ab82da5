"""The verbs on tokens and sessions; each change is an act of the audit."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from stepward.model.credentials import Credential, CredentialKind
from stepward.model.records import Audit
from stepward.model.tasks.control_characters import without_nul
from stepward.store import rows
from stepward.store.rules.audit.audited_acts import credential_audit
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.connection import VerbConnection

KEPT_SECONDS = 30 * 86_400.0
"""Seconds for which a credential that has ended is kept."""


async def add(connection: VerbConnection, credential: Credential, actor: str, now: float) -> bool:
    """Inserts a credential, unless a live token has its name."""
    await connection.change("credentials.forget", now - KEPT_SECONDS)
    values = rows.credential_values(credential, now)
    if not await connection.change("credentials.add", *values, now):
        return False
    verb = "create" if credential.kind is CredentialKind.TOKEN else "sign_in"
    await alerts_and_audit.write_audits(connection, [credential_audit(actor, verb, credential)], now)
    return True


async def one(connection: VerbConnection, id: str) -> Credential | None:
    """The credential with that id."""
    row = await connection.row("credentials.one", id)
    return None if row is None else rows.credential(row)


async def listed(connection: VerbConnection) -> list[Credential]:
    """All credentials."""
    return [rows.credential(row) for row in await connection.rows("credentials.listed")]


async def revoke(connection: VerbConnection, id: str, actor: str, now: float) -> bool:
    """Revokes a credential."""
    found = await one(connection, id)
    if found is None or not await connection.change("credentials.revoke", id, now):
        return False
    verb = "revoke" if found.kind is CredentialKind.TOKEN else "sign_out"
    await alerts_and_audit.write_audits(connection, [credential_audit(actor, verb, found)], now)
    return True


async def record(connection: VerbConnection, acts: Sequence[Audit], now: float) -> None:
    """Appends acts to the audit."""
    kept = [msgspec.structs.replace(act, step=None if act.step is None else without_nul(act.step)) for act in acts]
    await alerts_and_audit.write_audits(connection, kept, now)
