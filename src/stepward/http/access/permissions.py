"""Roles and their permissions; every route declares one permission."""

from __future__ import annotations

from enum import StrEnum

from stepward.model.credentials import AccessRole


class Permission(StrEnum):
    """What a route requires of a principal."""

    PUBLIC = "public"
    """No sign-in. The route's path is matched exactly."""
    SIGNED_IN = "signed_in"
    """Any principal."""
    READ = "read"
    """Reads tasks within the principal's scope, and what belongs to them."""
    READ_ALL = "read_all"
    """Reads what belongs to no task: instances, Agents, dead letters. Not available with a scope."""
    SUBMIT = "submit"
    """Submits tasks within the scope."""
    ACT = "act"
    """Directives, signals and completions of tasks within the scope."""
    OPERATE = "operate"
    """Acts on what belongs to no task: Agents, schedules, dead letters put back. Not available with a scope."""
    ADMINISTER = "administer"
    """Acts that cannot be undone, and the access of other principals. Not available with a scope."""


ALL_TASKS = frozenset({Permission.READ_ALL, Permission.OPERATE, Permission.ADMINISTER})
"""Permissions that a principal with a scope never has."""

_VIEWER = frozenset({Permission.PUBLIC, Permission.SIGNED_IN, Permission.READ, Permission.READ_ALL})
_OPERATOR = _VIEWER | {Permission.SUBMIT, Permission.ACT, Permission.OPERATE}

GRANTS: dict[AccessRole, frozenset[Permission]] = {
    AccessRole.VIEWER: _VIEWER,
    AccessRole.OPERATOR: _OPERATOR,
    AccessRole.ADMIN: _OPERATOR | {Permission.ADMINISTER},
}
"""The permissions of each role."""
