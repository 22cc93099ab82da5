"""Principals: the identity, role and task scope behind a request."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from stepward.http.access.permissions import ALL_TASKS, GRANTS, Permission
from stepward.model.credentials import AccessRole


class SignIn(StrEnum):
    """How a principal authenticated."""

    LOCAL = "local"
    """By a request to a console that listens on loopback only."""
    TOKEN = "token"  # noqa: S105  no password
    """By an API token."""
    SESSION = "session"
    """By the cookie of a session."""


class TaskScope(Struct, frozen=True):
    """The tasks that a principal may see; a task out of scope is answered like an unknown id."""

    workflows: tuple[str, ...] = ()
    """Names of workflows, any of which a task must run; empty: any workflow."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels, all of which a task must have; empty: any task."""

    @property
    def is_everything(self) -> bool:
        """Whether the scope holds every task."""
        return not (self.workflows or self.labels)

    def has(self, workflow: str, labels: Mapping[str, str]) -> bool:
        """Whether the scope holds a task of that workflow with those labels."""
        if self.workflows and workflow not in self.workflows:
            return False
        return all(labels.get(name) == value for name, value in self.labels)


EVERYTHING = TaskScope()


class Principal(Struct, frozen=True, kw_only=True):
    """The identity behind a request."""

    name: str
    """The actor in the audit: ``local``, ``token:NAME`` or ``user:NAME``."""
    role: AccessRole
    payloads: bool = False
    """Whether inputs, outputs, errors and messages are shown."""
    scope: TaskScope = EVERYTHING
    sign_in: SignIn
    credential: str = ""
    """The id of the token or session; empty for ``local``."""
    csrf: str = ""
    """The CSRF token of a session: its pages send it with each act, in a form field ``csrf_token`` or the header
    X-CSRF-Token."""

    def may(self, permission: Permission) -> bool:
        """Whether the principal has that permission."""
        if permission in ALL_TASKS and not self.scope.is_everything:
            return False
        return permission in GRANTS[self.role]


LOCAL = Principal(name="local", role=AccessRole.ADMIN, payloads=True, sign_in=SignIn.LOCAL)
"""The principal of requests to a console that listens on loopback only."""

ASSISTANT = Principal(name="assistant", role=AccessRole.VIEWER, sign_in=SignIn.LOCAL)
"""An assistant to whom the user of this process gave no token."""
