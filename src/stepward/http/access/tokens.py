"""The text of API tokens and session cookies: an id by which it is found, and a secret that nobody keeps."""

from __future__ import annotations

import hmac
import re
import secrets
from hashlib import sha256

from stepward.model.credentials import Credential

PREFIX = "stepward_"
SECRET_BYTES = 32
TEXT = re.compile(rf"{PREFIX}([0-9a-f]{{16}})_([A-Za-z0-9_-]{{43}})")


class Secret:
    """A token as its holder has it; it does not show itself in logs."""

    def __init__(self, id: str, secret: str) -> None:
        self.id = id
        self._secret = secret

    def __repr__(self) -> str:
        return f"<token {self.id}>"

    @property
    def text(self) -> str:
        """What is shown once, and sent with each request."""
        return f"{PREFIX}{self.id}_{self._secret}"

    @property
    def hash(self) -> bytes:
        """What the store keeps of it."""
        return sha256(self._secret.encode()).digest()

    @property
    def csrf(self) -> str:
        """What only pages that were sent to this session know."""
        return hmac.new(self._secret.encode(), b"csrf", "sha256").hexdigest()

    def opens(self, credential: Credential) -> bool:
        """Whether it is that credential's; the time that it takes says nothing of how much of it is right."""
        return hmac.compare_digest(self.hash, credential.secret_hash)


def fresh_secret() -> Secret:
    """A new one."""
    return Secret(secrets.token_hex(8), secrets.token_urlsafe(SECRET_BYTES))


def read_secret(text: str) -> Secret | None:
    """The one that a text is; None if it is none."""
    found = TEXT.fullmatch(text)
    return None if found is None else Secret(found[1], found[2])
