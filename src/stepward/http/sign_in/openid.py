"""Login at an OpenID provider: the authorization code flow with PKCE, with Authlib and joserfc."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri, prepare_token_request
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.discovery import OpenIDProviderMetadata, get_well_known_url
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from msgspec import Struct

from stepward.errors import SettingsError
from stepward.http.access.access_rules import LOOPBACK_NAMES
from stepward.http.exception_handlers import HttpRefusal
from stepward.model.credentials import AccessRole

ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
"""Accepted signature algorithms of ID tokens: never ``none``, and none with a shared secret."""
LOGIN_SECONDS = 600.0
"""Seconds that a login at the provider may take."""
MOST_LOGINS = 1_000
ANSWER_BYTES = 256 * 1024
TIMEOUT_SECONDS = 10.0
LEEWAY_SECONDS = 60
LONGEST_NAME = 150


class OpenIdSettings(Struct, frozen=True, kw_only=True):
    """The OpenID provider, and the roles of those who sign in there."""

    issuer: str
    client_id: str
    client_secret: str | None
    claim: str
    """The claim whose values stand for roles."""
    roles: Mapping[str, tuple[AccessRole, bool]]
    """By a value of the claim: the role, and whether payloads are shown."""

    def check(self) -> None:
        """Raises SettingsError for an issuer without https, or without any role."""
        place = urlsplit(self.issuer)
        is_local = place.scheme == "http" and place.hostname in {name.strip("[]") for name in LOOPBACK_NAMES}
        if not (place.scheme == "https" and place.hostname) and not is_local:
            raise SettingsError(f"--oidc-issuer: expected an https:// address, found {self.issuer[:100]!r}; correct it")
        if not self.roles:
            raise SettingsError("--oidc-role: expected at least one VALUE=ROLE, found none; no one could sign in")


class SignedIn(Struct, frozen=True):
    """A person who has signed in at the provider."""

    name: str
    role: AccessRole
    payloads: bool


class PendingLogin(Struct, frozen=True):
    """A login that has begun."""

    nonce: str
    verifier: str
    browser: str
    """The cookie value of the browser that began the login."""
    ends_at: float


class OpenIdProvider:
    """One provider, as its metadata describes it."""

    def __init__(self, settings: OpenIdSettings, redirect_uri: str) -> None:
        settings.check()
        self._settings = settings
        self._redirect_uri = redirect_uri
        self._metadata: Mapping[str, Any] | None = None
        self._pending: OrderedDict[str, PendingLogin] = OrderedDict()

    async def begin(self) -> tuple[str, str]:
        """The provider's address to redirect the browser to, and the value of the login cookie."""
        metadata = await self._described()
        state, nonce, verifier, browser = (secrets.token_urlsafe(32) for _ in range(4))
        self._pending[state] = PendingLogin(nonce, verifier, browser, _now() + LOGIN_SECONDS)
        if len(self._pending) > MOST_LOGINS:
            self._pending.popitem(last=False)
        address = prepare_grant_uri(
            metadata["authorization_endpoint"],
            self._settings.client_id,
            "code",
            redirect_uri=self._redirect_uri,
            scope="openid email profile",
            state=state,
            nonce=nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
        )
        return str(address), browser

    async def finish(self, query: str, browser: str | None) -> SignedIn:
        """The person who signed in. Raises HttpRefusal for anything but the answer to a login that this browser
        began."""
        given = {name: values[0] for name, values in parse_qs(query, max_num_fields=20).items()}
        pending = self._pending.pop(given.get("state", ""), None)
        if pending is None or _now() > pending.ends_at or not hmac.compare_digest(pending.browser, browser or ""):
            raise HttpRefusal(401, "login: expected one that this browser began just now, found none; begin again")
        if "code" not in given:
            raise HttpRefusal(401, f"login: expected the provider's code, found {given.get('error', 'none')[:60]!r}")
        token = await self._id_token(given["code"], pending.verifier)
        return self._signed_in(await self._claims(token, pending.nonce))

    def _signed_in(self, claims: Mapping[str, Any]) -> SignedIn:
        found = claims.get(self._settings.claim)
        values = [found] if isinstance(found, str) else found if isinstance(found, list) else []
        granted = [self._settings.roles[value] for value in values if value in self._settings.roles]
        if not granted:
            raise HttpRefusal(403, f"login: expected a {self._settings.claim} that stands for a role, found none")
        role = max((role for role, _ in granted), key=list(AccessRole).index)
        is_known = claims.get("email") and claims.get("email_verified") is True
        name = str(claims["email"] if is_known else claims["sub"])[:LONGEST_NAME]
        return SignedIn(f"user:{name}", role, any(payloads for _, payloads in granted))

    async def _id_token(self, code: str, verifier: str) -> str:
        body = prepare_token_request(
            "authorization_code",
            redirect_uri=self._redirect_uri,
            code=code,
            code_verifier=verifier,
            client_id=self._settings.client_id,
        )
        secret = self._settings.client_secret
        auth = None if secret is None else httpx.BasicAuth(self._settings.client_id, secret)
        endpoint = (await self._described())["token_endpoint"]
        found = await _json("POST", endpoint, content=body, auth=auth)
        token = found.get("id_token")
        if not isinstance(token, str):
            raise HttpRefusal(401, "login: expected an ID token of the provider, found none")
        return token

    async def _claims(self, token: str, nonce: str) -> Mapping[str, Any]:
        """The claims of an ID token that was issued to this console for this login."""
        metadata = await self._described()
        try:
            keys = KeySet.import_key_set(await _json("GET", metadata["jwks_uri"]))  # type: ignore[arg-type]
            claims = jwt.decode(token, keys, algorithms=ALGORITHMS).claims
            jwt.JWTClaimsRegistry(
                leeway=LEEWAY_SECONDS,
                iss={"essential": True, "value": metadata["issuer"]},
                aud={"essential": True, "value": self._settings.client_id},
                sub={"essential": True},
                exp={"essential": True},
                nonce={"essential": True, "value": nonce},
            ).validate(claims)
        except (JoseError, ValueError) as error:
            raise HttpRefusal(401, f"login: expected an ID token that fits, found {type(error).__name__}") from None
        if claims.get("azp", self._settings.client_id) != self._settings.client_id:
            raise HttpRefusal(401, "login: expected an ID token that was made for this console, found another")
        return claims

    async def _described(self) -> Mapping[str, Any]:
        if self._metadata is None:
            issuer = self._settings.issuer.rstrip("/")
            found = OpenIDProviderMetadata(await _json("GET", get_well_known_url(issuer, external=True)))
            if str(found.get("issuer", "")).rstrip("/") != issuer:
                raise HttpRefusal(502, f"login: expected the provider {issuer}, found one of another name")
            self._metadata = found
        return self._metadata


async def _json(method: str, address: str, **more: Any) -> dict[str, Any]:
    """The JSON object of an answer. Redirects are not followed. Raises HttpRefusal."""
    headers = {"Accept": "application/json"}
    if method == "POST":
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as client:
            answer = await client.request(method, address, headers=headers, **more)
        found = answer.json() if answer.is_success and len(answer.content) <= ANSWER_BYTES else None
    except (httpx.HTTPError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise HttpRefusal(502, "login: expected an answer of the OpenID provider, found none that can be used")
    return found


def _now() -> float:
    return asyncio.get_running_loop().time()
