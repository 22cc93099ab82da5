"""Authentication of a request by an API token or by a session cookie."""

from __future__ import annotations

import asyncio

from stepward.client import session_of
from stepward.http.access.access_audit import AccessAudit
from stepward.http.access.api_tokens import TokenSecret, read_secret
from stepward.http.access.incoming_request import IncomingRequest
from stepward.http.access.principals import Principal, SignIn, TaskScope
from stepward.http.access.rate_limits import AccessLimit
from stepward.http.exception_handlers import HttpRefusal
from stepward.http.shared_client import ClientSource
from stepward.model.credentials import Credential, CredentialKind

COOKIE = "stepward_session"
BY_TOKEN = "token:"  # noqa: S105  no password
"""Prefix of ``created_by`` for a session that was begun with a token; the token's id follows."""
FAILURES = 10
"""Most wrong tokens of one address in a burst; then one every six seconds."""
FAILURE_RATE = 1 / 6
REQUESTS = 400
"""Most requests of one principal in a burst, and per second after it."""
REQUEST_RATE = 200.0
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="stepward"'}


class Credentials:
    """Looks up the credential of every request in the store, so that a revocation applies at once."""

    def __init__(self, source: ClientSource, audit: AccessAudit) -> None:
        self._source = source
        self._audit = audit
        self._failures = AccessLimit(_seconds, rate=FAILURE_RATE, burst=FAILURES)
        self._requests = AccessLimit(_seconds, rate=REQUEST_RATE, burst=REQUESTS)

    async def principal(self, incoming: IncomingRequest) -> Principal | None:
        """The principal of the request's credential; None without one. Raises HttpRefusal for a credential that is
        not valid."""
        header = incoming.header("authorization")
        found = await self._of_session(incoming) if header is None else await self._of_token(incoming, header)
        if found is not None:
            self._check_rate(found.credential)
        return found

    async def is_live(self, principal: Principal) -> bool:
        """Whether the principal's credential is still valid; streams check it repeatedly."""
        if principal.sign_in is SignIn.LOCAL:
            return True
        store = session_of(await self._source.client()).store
        found = await store.operators.credential(principal.credential)
        return found is not None and await self._is_worth(found)

    def check_failures(self, address: str) -> None:
        """Raises HttpRefusal (429) if the address has sent too many wrong tokens."""
        if wait := self._failures.wait_seconds(address):
            raise HttpRefusal(
                429,
                "expected fewer wrong tokens from this address; wait, and send a right one",
                headers={"Retry-After": str(int(wait) + 1)},
            )

    async def failed(self, incoming: IncomingRequest, reason: str) -> None:
        """Counts and audits a failed authentication."""
        self._failures.take(incoming.address)
        await self._audit.refused(
            "unknown", reason=reason, method=incoming.method, path=incoming.path, address=incoming.address
        )

    async def _of_token(self, incoming: IncomingRequest, header: str) -> Principal:
        scheme, _, text = header.partition(" ")
        return principal_of(await self.token_of(incoming, text.strip() if scheme.lower() == "bearer" else ""), csrf="")

    async def token_of(self, incoming: IncomingRequest, text: str) -> Credential:
        """The live token with that text. Raises HttpRefusal, also while the address has sent too many wrong tokens."""
        self.check_failures(incoming.address)
        secret = read_secret(text)
        found = None if secret is None else await self._live(secret, CredentialKind.TOKEN)
        if found is None:
            await self.failed(incoming, "token")
            raise HttpRefusal(401, "Authorization: expected a token that is known, live and whole", headers=CHALLENGE)
        return found

    async def _of_session(self, incoming: IncomingRequest) -> Principal | None:
        secret = read_secret(incoming.cookie(COOKIE) or "")
        found = None if secret is None else await self._live(secret, CredentialKind.SESSION)
        return None if found is None or secret is None else principal_of(found, csrf=secret.csrf)

    async def _live(self, secret: TokenSecret, kind: CredentialKind) -> Credential | None:
        store = session_of(await self._source.client()).store
        found = await store.operators.credential(secret.id)
        if found is None or found.kind is not kind or not secret.opens(found):
            return None
        return found if await self._is_worth(found) else None

    async def _is_worth(self, found: Credential) -> bool:
        """Whether the credential is live and, for a session, the token that it was begun with."""
        store = session_of(await self._source.client()).store
        if not found.is_live(store.now()):
            return False
        if found.kind is not CredentialKind.SESSION or not found.created_by.startswith(BY_TOKEN):
            return True
        token = await store.operators.credential(found.created_by.removeprefix(BY_TOKEN))
        return token is not None and token.is_live(store.now())

    def _check_rate(self, credential: str) -> None:
        if wait := self._requests.take(credential):
            raise HttpRefusal(
                429,
                f"expected at most {REQUEST_RATE:g} requests a second, found more; wait",
                headers={"Retry-After": str(int(wait) + 1)},
            )


def principal_of(credential: Credential, *, csrf: str) -> Principal:
    """The principal that holds the credential."""
    is_token = credential.kind is CredentialKind.TOKEN
    return Principal(
        name=f"token:{credential.name}" if is_token else credential.name,
        role=credential.role,
        payloads=credential.payloads,
        scope=TaskScope(tuple(credential.workflows), tuple(sorted(credential.labels.items()))),
        sign_in=SignIn.TOKEN if is_token else SignIn.SESSION,
        credential=credential.id,
        csrf=csrf,
    )


def _seconds() -> float:
    return asyncio.get_running_loop().time()
