"""``/api/v1/webhooks``: where status events are posted to, and how each receiver fares."""

from __future__ import annotations

from litestar import get, post
from litestar.params import FromPath

from stepward.http.access.permissions import Permission
from stepward.http.api.act_reasons import Reason
from stepward.http.api.resources import WebhookResource, resource
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal


@get("/webhooks", permission=Permission.READ_ALL)
async def list_webhooks(client: RequestClient) -> list[WebhookResource]:
    """List the webhooks that get status events, and how each fares."""
    return [resource(WebhookResource, webhook, state=webhook.state) for webhook in await client.unscoped.webhooks()]


@post("/webhooks/{name:str}/enable", permission=Permission.OPERATE, status_code=204)
async def enable_webhook(client: RequestClient, name: FromPath[str], reason: Reason = None) -> None:
    """Have a disabled webhook get events again, first those that wait."""
    if not await client.unscoped.enable_webhook(name):
        raise HttpRefusal(409, f"webhook {name[:100]}: expected a disabled one, found none such")
    await client.give_reason("enable", name, reason)


@post("/webhooks/{name:str}/disable", permission=Permission.OPERATE, status_code=204)
async def disable_webhook(client: RequestClient, name: FromPath[str], reason: Reason = None) -> None:
    """Have a webhook get nothing until it is enabled; its events wait for seven days each."""
    if not await client.unscoped.disable_webhook(name):
        raise HttpRefusal(409, f"webhook {name[:100]}: expected an enabled one, found none such")
    await client.give_reason("disable", name, reason)
