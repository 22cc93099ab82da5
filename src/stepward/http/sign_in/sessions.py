"""Sessions of browsers: a credential in the store, and a cookie that scripts cannot read and other sites do not
send."""

from __future__ import annotations

from litestar.datastructures import Cookie
from msgspec.structs import replace

from stepward.client import Client, session_of
from stepward.http.access.api_tokens import TokenSecret, fresh_secret
from stepward.http.access.authentication import COOKIE
from stepward.http.sign_in.openid import SignedIn
from stepward.model.credentials import Credential, CredentialKind

SESSION_SECONDS = 8 * 3600.0


async def begin_by_token(client: Client, token: Credential) -> TokenSecret:
    """Begins a session with the token's permissions, which ends when the token does."""
    return await _begin(client, replace(token, name=f"token:{token.name}", created_by=f"token:{token.id}"))


async def begin_by_provider(client: Client, person: SignedIn) -> TokenSecret:
    """Begins a session of a person who signed in at the provider."""
    credential = Credential(
        id="",
        kind=CredentialKind.SESSION,
        name=person.name,
        secret_hash=b"",
        role=person.role,
        payloads=person.payloads,
        created_by="openid",
    )
    return await _begin(client, credential)


def session_cookie(secret: TokenSecret, base: str, *, secure: bool) -> Cookie:
    """The cookie of a session."""
    return Cookie(
        key=COOKIE,
        value=secret.text,
        path=base or "/",
        max_age=int(SESSION_SECONDS),
        secure=secure,
        httponly=True,
        samesite="strict",
    )


async def _begin(client: Client, credential: Credential) -> TokenSecret:
    secret, store = fresh_secret(), session_of(client).store
    ends = [store.now() + SESSION_SECONDS, *([] if credential.expires_at is None else [credential.expires_at])]
    session = replace(
        credential,
        id=secret.id,
        kind=CredentialKind.SESSION,
        secret_hash=secret.hash,
        expires_at=min(ends),
        revoked_at=None,
    )
    await store.operators.add_credential(session, session.name)
    return secret
