"""The part of the store for credentials over HTTP, and for the audit of their use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stepward.model.credentials import Credential
from stepward.model.records import Audit


class CredentialStore(Protocol):
    """The verbs on tokens and sessions."""

    async def add_credential(self, credential: Credential, actor: str) -> bool:
        """Inserts a token or a session with instants relative to now; False if a live token has that name.

        Credentials that ended more than a month ago are deleted.
        """
        ...

    async def credential(self, id: str) -> Credential | None:
        """The token or session with that id, live or not; None if it does not exist."""
        ...

    async def credentials(self) -> list[Credential]:
        """All tokens and sessions, by kind, name and age."""
        ...

    async def revoke_credential(self, id: str, actor: str) -> bool:
        """Revokes a credential; False if no live one has that id."""
        ...

    async def record_acts(self, acts: Sequence[Audit]) -> None:
        """Append acts to the audit."""
        ...
