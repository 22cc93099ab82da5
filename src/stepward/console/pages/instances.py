"""The page of instances."""

from __future__ import annotations

from litestar import get

from stepward.client.agent_status import is_apart, is_silent
from stepward.console.page_frame import PageRequest, PageResponse, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient


@get("/instances", permission=Permission.READ_ALL)
async def instances_page(request: PageRequest, client: RequestClient, console: SharedConsole) -> PageResponse:
    """The live instances, and those that died recently."""
    now = client.now()
    overview = await console.overview(client)
    found = sorted(
        await client.unscoped.instances(), key=lambda instance: (not instance.alive, instance.role, instance.id)
    )
    rows = [
        {
            "instance": instance,
            "silent": is_silent(instance, now),
            "drains": instance.alive and instance.drain_at is not None,
            "state": "alive" if instance.alive else "ended" if instance.ended else "dead",
            "leads": instance.id == overview.leader,
            "apart": is_apart(instance),
        }
        for instance in found
    ]
    return await console.page(request, client, "instances.html", {"rows": rows})
