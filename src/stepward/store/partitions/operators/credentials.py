"""Credentials over partitions."""

from __future__ import annotations

from stepward.model.credentials import Credential
from stepward.store.partitions.operators.operator_verbs import SubjectVerbs


class PartitionedCredentials(SubjectVerbs):
    """Every store that can be reached has every credential."""

    async def add_credential(self, credential: Credential, actor: str) -> bool:
        """Every store that can be reached has every credential, so that signing in needs no store in particular."""
        found = await self._partitions.write_reachable(lambda store: store.operators.add_credential(credential, actor))
        return all(found)

    async def credential(self, id: str) -> Credential | None:
        found = await self._partitions.read_each(lambda store: store.operators.credential(id))
        known = [credential for _, credential in found if credential is not None]
        return min(known, key=lambda each: each.is_live(self.now()), default=None)

    async def credentials(self) -> list[Credential]:
        found = await self._partitions.read_each(lambda store: store.operators.credentials())
        known: dict[str, Credential] = {}
        for credential in (credential for _, credentials in found for credential in credentials):
            if credential.id not in known or not credential.is_live(self.now()):
                known[credential.id] = credential
        return list(known.values())

    async def revoke_credential(self, id: str, actor: str) -> bool:
        return any(await self._partitions.write_each(lambda store: store.operators.revoke_credential(id, actor)))
