"""``/api/v1/alerts``: conditions for operators, and the sinks that they are delivered to."""

from __future__ import annotations

from typing import Annotated

from litestar import get, post
from litestar.params import Body, FromPath, FromQuery, QueryParameter
from msgspec import Struct

from stepward.http.access.permissions import Permission
from stepward.http.api.act_reasons import Reason
from stepward.http.api.instants import instant_or_duration
from stepward.http.api.resources import AlertResource, ReceiptResource, SilenceResource, SinkResource, resource
from stepward.http.api.system.row_numbers import Number, row_number
from stepward.http.api.tasks.task_reads import LIMIT, ListLimit
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal

AlertTask = Annotated[str | None, QueryParameter(description="Only alerts of the task with this id.", max_length=2000)]


class SinkTest(Struct, frozen=True):
    """The number of the test's alert, whose receipts show what became of it."""

    number: int


class SilenceRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The alerts that no sink is to get, and until when."""

    kind: str
    """The kind of the alerts, such as task_error."""
    until: str | float
    """An instant (2030-01-31T12:00:00Z), or a duration from now (2h, seconds); at most 30 days from now."""
    workflow: str | None = None
    """The workflow that the alerts are about; null: of all."""
    note: str | None = None
    """The reason, shown beside it."""


class UnsilenceRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A silence, by its kind and workflow."""

    kind: str
    workflow: str | None = None


@get("/alerts", permission=Permission.READ)
async def list_alerts(
    client: RequestClient, open_only: FromQuery[bool] = True, limit: ListLimit = LIMIT, task: AlertTask = None
) -> list[AlertResource]:
    """List alerts, newest first."""
    found = await client.alerts(limit=limit, open_only=open_only, id=task)
    return [resource(AlertResource, alert) for alert in found]


@post("/alerts/{number:int}/acknowledge", permission=Permission.ACT, status_code=204)
async def acknowledge_alert(client: RequestClient, number: FromPath[Number], reason: Reason = None) -> None:
    """Acknowledge an alert."""
    if not await client.acknowledge(row_number(number)):
        raise HttpRefusal(404, f"alert {number}: expected an open one, found none such; look at the alerts")
    await client.give_reason("acknowledge", number, reason)


@get("/alerts/sinks", permission=Permission.READ_ALL)
async def list_sinks(client: RequestClient) -> list[SinkResource]:
    """List the sinks of the Supervisor that leads."""
    found = await client.unscoped.alert_sinks.reported()
    return [resource(SinkResource, sink) for sink in found]


@post("/alerts/sinks/{name:str}/test", permission=Permission.OPERATE, status_code=202)
async def send_sink_test(client: RequestClient, name: FromPath[str], reason: Reason = None) -> SinkTest:
    """Have the leading Supervisor send a test to one sink."""
    number = await client.unscoped.alert_sinks.send_test(name)
    await client.give_reason("test", name, reason)
    return SinkTest(number)


@get("/alerts/silences", permission=Permission.READ_ALL)
async def list_silences(client: RequestClient) -> list[SilenceResource]:
    """List the kinds of alerts that no sink gets, and until when."""
    return [resource(SilenceResource, silence) for silence in await client.unscoped.alert_sinks.silences()]


@post("/alerts/silences", permission=Permission.OPERATE, status_code=204)
async def silence_alerts(client: RequestClient, data: Annotated[SilenceRequest, Body()]) -> None:
    """Have no sink get alerts of a kind until a time; what is open then is sent."""
    until = instant_or_duration(data.until, "until") or 0.0
    await client.unscoped.alert_sinks.silence(data.kind, until, workflow=data.workflow, note=data.note)


@post("/alerts/silences/end", permission=Permission.OPERATE, status_code=204)
async def unsilence_alerts(
    client: RequestClient, data: Annotated[UnsilenceRequest, Body()], reason: Reason = None
) -> None:
    """End a silence before its time: the sinks get what is still open."""
    if not await client.unscoped.alert_sinks.unsilence(data.kind, data.workflow):
        raise HttpRefusal(409, f"silence {data.kind[:100]}: expected one that lasts, found none such")
    await client.give_reason("unsilence", data.kind, reason)


@get("/alerts/{number:int}/receipts", permission=Permission.READ_ALL)
async def list_receipts(client: RequestClient, number: FromPath[Number]) -> list[ReceiptResource]:
    """List what each sink has taken of an alert, and why it refused last."""
    found = await client.unscoped.alert_sinks.receipts(row_number(number))
    return [resource(ReceiptResource, receipt) for receipt in found]
