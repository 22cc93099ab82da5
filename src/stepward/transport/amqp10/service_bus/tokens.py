"""Tokens for Azure Service Bus: signed with the key of a policy, or given to an identity by Microsoft Entra."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from importlib.util import find_spec
from typing import Any, Protocol
from urllib.parse import quote_plus

from msgspec import Struct

from stepward.clock import Clock
from stepward.errors import SettingsError, TransportError

SAS_KIND, JWT_KIND = "servicebus.windows.net:sastoken", "jwt"
SAS_SECONDS = 3600
SCOPE = "https://servicebus.azure.net/.default"


class AccessToken(Struct, frozen=True):
    """A token; ``expires_at`` is in seconds since 1970."""

    text: str
    kind: str
    expires_at: float


class TokenSource(Protocol):
    """The port of tokens."""

    async def token(self, audience: str) -> AccessToken:
        """A token for the address of an entity. Raises TransportError."""
        ...


class SasKey:
    """The key of a policy of shared access."""

    def __init__(self, policy: str, key: str, clock: Clock) -> None:
        self._policy = policy
        self._key = key
        self._clock = clock

    async def token(self, audience: str) -> AccessToken:
        expires_at = int(self._clock.wall()) + SAS_SECONDS
        return AccessToken(signature(audience, self._policy, self._key, expires_at), SAS_KIND, expires_at)


class EntraIdentity:
    """The identity of this process at Microsoft Entra, as azure-identity finds it: environment, workload, managed."""

    def __init__(self) -> None:
        if find_spec("azure") is None or find_spec("azure.identity") is None:
            raise SettingsError(
                "transport: expected azure-identity for an sb:// address without a key, found it missing; "
                "install stepward[servicebus]"
            )
        self._credential: Any = None
        self._asking: asyncio.Task[Any] | None = None

    async def token(self, audience: str) -> AccessToken:
        from azure.core.exceptions import AzureError  # noqa: PLC0415  an extra's

        try:
            found = await asyncio.shield(self._asked())
        except (AzureError, ValueError) as error:
            said = " ".join(str(error).split())[:300] or type(error).__name__
            raise TransportError(
                f"expected a token of Microsoft Entra for Azure Service Bus, found: {said}; give this process "
                "an identity, or POLICY:KEY in the address"
            ) from None
        return AccessToken(found.token, JWT_KIND, float(found.expires_on))

    def _asked(self) -> asyncio.Task[Any]:
        """The answer to the question that is under way, which goes on when a caller gives up.

        A thread for each try of a connection would take up all those in which names of hosts are looked up.
        """
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(asyncio.to_thread(self._get))
            self._asking.add_done_callback(lambda asking: asking.cancelled() or asking.exception())
        return self._asking

    def _get(self) -> Any:
        from azure.identity import DefaultAzureCredential  # noqa: PLC0415  an extra's

        if self._credential is None:
            self._credential = DefaultAzureCredential()
        return self._credential.get_token(SCOPE)


def signature(audience: str, policy: str, key: str, expires_at: int) -> str:
    """The token of shared access for an address, signed with the key."""
    where = quote_plus(audience)
    digest = hmac.new(key.encode(), f"{where}\n{expires_at}".encode(), hashlib.sha256).digest()
    signed = quote_plus(base64.b64encode(digest))
    return f"SharedAccessSignature sr={where}&sig={signed}&se={expires_at}&skn={quote_plus(policy)}"
