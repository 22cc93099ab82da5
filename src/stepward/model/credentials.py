"""API tokens and browser sessions as the store keeps them: never the secret, only its hash."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class AccessRole(StrEnum):
    """The permissions of a principal; whether payloads are shown is a separate flag."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


class CredentialKind(StrEnum):
    """How a principal proves its identity."""

    TOKEN = "token"  # noqa: S105  no password
    """An API token, made by an admin."""
    SESSION = "session"
    """A browser's session, made by signing in."""


class Credential(Struct, frozen=True, kw_only=True):
    """A token or a session."""

    id: str
    """The part of it that is no secret, by which it is found."""
    kind: CredentialKind
    name: str
    """Of a token, its own; of a session, the actor in the audit."""
    secret_hash: bytes
    """SHA-256 of the secret, which is 256 random bits: too many to be guessed from it."""
    role: AccessRole
    payloads: bool = False
    """Whether it is shown inputs, outputs, errors and messages."""
    workflows: list[str] = []
    """Its scope: tasks of one of these; empty: of any."""
    labels: dict[str, str] = {}
    """Its scope: tasks with all of these labels."""
    created_at: float = 0.0
    created_by: str = ""
    expires_at: float | None = None
    """None: it does not expire."""
    revoked_at: float | None = None

    def is_live(self, now: float) -> bool:
        """Whether it is worth anything at that instant."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)
