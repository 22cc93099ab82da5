"""Principals: who asks, with which role, and which tasks exist for it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from stepward.http.access.permissions import ALL_TASKS, GRANTS, Permission
from stepward.model.credentials import AccessRole


class SignIn(StrEnum):
    """How a principal proved who it is."""

    LOCAL = "local"
    """It reached a console that serves this host alone."""
    TOKEN = "token"  # noqa: S105  no password
    """It sent an API token."""
    SESSION = "session"
    """Its browser sent the cookie of a session."""


class TaskScope(Struct, frozen=True):
    """Which tasks exist for a principal; of a task out of scope it is told what it is told of an unknown id."""

    workflows: tuple[str, ...] = ()
    """One of these; empty: any."""
    labels: tuple[tuple[str, str], ...] = ()
    """All of these; empty: any."""

    @property
    def is_everything(self) -> bool:
        """Whether every task is in it."""
        return not (self.workflows or self.labels)

    def has(self, workflow: str, labels: Mapping[str, str]) -> bool:
        """Whether a task of that workflow with those labels is in it."""
        if self.workflows and workflow not in self.workflows:
            return False
        return all(labels.get(name) == value for name, value in self.labels)


EVERYTHING = TaskScope()


class Principal(Struct, frozen=True, kw_only=True):
    """Who asks."""

    name: str
    """The actor in the audit: ``local``, ``token:NAME``, ``user:NAME``."""
    role: AccessRole
    payloads: bool = False
    """Whether it is shown inputs, outputs, errors and messages."""
    scope: TaskScope = EVERYTHING
    sign_in: SignIn
    credential: str = ""
    """The id of its token or session; empty for ``local``."""
    csrf: str = ""
    """Of a session: what its pages send with each act, in a form field ``csrf_token`` or the header X-CSRF-Token."""

    def may(self, permission: Permission) -> bool:
        """Whether it has that permission."""
        if permission in ALL_TASKS and not self.scope.is_everything:
            return False
        return permission in GRANTS[self.role]


LOCAL = Principal(name="local", role=AccessRole.ADMIN, payloads=True, sign_in=SignIn.LOCAL)
"""Whoever reaches a console that serves this host alone."""
