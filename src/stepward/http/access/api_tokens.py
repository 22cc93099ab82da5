"""The text of API tokens and session cookies: a public id, by which they are found, and a secret that is not stored."""

from __future__ import annotations

import hmac
import re
import secrets
from hashlib import sha256

from stepward.model.credentials import Credential

PREFIX = "stepward_"
SECRET_BYTES = 32
TEXT = re.compile(rf"{PREFIX}([0-9a-f]{{16}})_([A-Za-z0-9_-]{{43}})")


class TokenSecret:
    """The text of a token or session in parts; its ``repr`` leaves the secret out."""

    def __init__(self, id: str, secret: str) -> None:
        self.id = id
        self._secret = secret

    def __repr__(self) -> str:
        return f"<token {self.id}>"

    @property
    def text(self) -> str:
        """The whole text, which is shown once and sent with each request."""
        return f"{PREFIX}{self.id}_{self._secret}"

    @property
    def hash(self) -> bytes:
        """The SHA-256 of the secret, which the store keeps."""
        return sha256(self._secret.encode()).digest()

    @property
    def csrf(self) -> str:
        """The CSRF token of a session, derived from its secret."""
        return hmac.new(self._secret.encode(), b"csrf", "sha256").hexdigest()

    def opens(self, credential: Credential) -> bool:
        """Whether the secret is that of the credential, compared in constant time."""
        return hmac.compare_digest(self.hash, credential.secret_hash)


def fresh_secret() -> TokenSecret:
    """A new random id and secret."""
    return TokenSecret(secrets.token_hex(8), secrets.token_urlsafe(SECRET_BYTES))


def read_secret(text: str) -> TokenSecret | None:
    """The parts of a token's or session's text; None if the text has another form."""
    found = TEXT.fullmatch(text)
    return None if found is None else TokenSecret(found[1], found[2])
