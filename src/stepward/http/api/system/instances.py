"""``/api/v1/instances``: the live actors, and those that died recently."""

from __future__ import annotations

from litestar import get, post
from litestar.params import FromPath

from stepward.http.access.permissions import Permission
from stepward.http.api.act_reasons import Reason
from stepward.http.api.resources import InstanceResource, resource
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal


@get("/instances", permission=Permission.READ_ALL)
async def list_instances(client: RequestClient) -> list[InstanceResource]:
    """List the live actors, and those that died within the last hour."""
    return [resource(InstanceResource, instance) for instance in await client.unscoped.instances()]


@post("/instances/{instance:str}/drain", permission=Permission.OPERATE, status_code=204)
async def drain_instance(client: RequestClient, instance: FromPath[str], reason: Reason = None) -> None:
    """Have the process of an instance end in good order: it finishes what runs and gives its tasks back."""
    if not await client.unscoped.drain_instance(instance):
        raise HttpRefusal(409, f"instance {instance[:100]}: expected one that does not drain, found it asked already")
    await client.give_reason("drain", instance, reason)
