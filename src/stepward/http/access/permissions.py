"""Roles and what each may do; every route declares one permission."""

from __future__ import annotations

from enum import StrEnum

from stepward.model.credentials import AccessRole


class Permission(StrEnum):
    """What a route needs of whoever asks for it."""

    PUBLIC = "public"
    """Nothing: the route is for those who have not signed in yet. Its path is matched exactly."""
    SIGNED_IN = "signed_in"
    """Any principal."""
    READ = "read"
    """Tasks within the principal's scope, and what belongs to them."""
    READ_ALL = "read_all"
    """What belongs to no task: instances, Agents, dead letters. A principal with a scope does not have it."""
    SUBMIT = "submit"
    """New tasks within the scope."""
    ACT = "act"
    """Directives, signals and completions of tasks within the scope."""
    OPERATE = "operate"
    """Acts on what belongs to no task: Agents, schedules, dead letters put back. Not with a scope."""
    ADMINISTER = "administer"
    """What cannot be taken back, and the access of others. Not with a scope."""


ALL_TASKS = frozenset({Permission.READ_ALL, Permission.OPERATE, Permission.ADMINISTER})
"""Permissions that a principal with a scope never has."""

_VIEWER = frozenset({Permission.PUBLIC, Permission.SIGNED_IN, Permission.READ, Permission.READ_ALL})
_OPERATOR = _VIEWER | {Permission.SUBMIT, Permission.ACT, Permission.OPERATE}

GRANTS: dict[AccessRole, frozenset[Permission]] = {
    AccessRole.VIEWER: _VIEWER,
    AccessRole.OPERATOR: _OPERATOR,
    AccessRole.ADMIN: _OPERATOR | {Permission.ADMINISTER},
}
"""What each role may do."""
