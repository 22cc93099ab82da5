"""``/api/v1/audit``: the acts of people and programs."""

from __future__ import annotations

from litestar import get

from stepward.http.access.permissions import Permission
from stepward.http.api.resources import AuditResource, resource
from stepward.http.api.tasks.task_reads import LIMIT, ListLimit
from stepward.http.dependencies import RequestClient


@get("/audit", permission=Permission.READ_ALL)
async def list_audit(client: RequestClient, limit: ListLimit = LIMIT) -> list[AuditResource]:
    """List the audit of all tasks, newest first."""
    return [resource(AuditResource, act) for act in await client.all_audits(limit)]
