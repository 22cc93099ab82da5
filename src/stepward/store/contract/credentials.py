"""The part of the store that keeps who may act over HTTP, and the audit of what they did there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stepward.model.credentials import Credential
from stepward.model.records import Audit


class CredentialStore(Protocol):
    """Tokens and sessions."""

    async def add_credential(self, credential: Credential, actor: str) -> bool:
        """Keep a token or a session; False if a live token of that name is there. Its instants are of now on.

        Those that ended a month ago are forgotten.
        """
        ...

    async def credential(self, id: str) -> Credential | None:
        """The token or session of that id, whether it is live or not."""
        ...

    async def credentials(self) -> list[Credential]:
        """All that are kept, by kind, name and age."""
        ...

    async def revoke_credential(self, id: str, actor: str) -> bool:
        """Make it worth nothing from now on; False if there is none of that id that is live."""
        ...

    async def record_acts(self, acts: Sequence[Audit]) -> None:
        """Append acts to the audit."""
        ...
