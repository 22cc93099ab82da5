"""Messages to submission queues, as applications and hooks post them."""

from __future__ import annotations

from typing import Any

import msgspec

from stepward.model.messages.cloudevents import CloudEvent, encode_event, instant
from stepward.model.messages.requests import submission_queue
from stepward.model.tracing.submission_span import current_traceparent
from stepward.payload import encode
from stepward.transport.queues.contract import AppQueues

TYPE = "stepward.submission"


async def put_message(
    queues: AppQueues,
    app: str,
    queue: str,
    data: Any,
    *,
    id: str,
    at: float,
    limit: int,
    replyto: str | None = None,
    store_id: str | None = None,
) -> None:
    """Puts a message into a submission queue; it is durable then. ``limit`` is in bytes. Raises Refused,
    TransportError."""
    event = CloudEvent(
        id=id,
        source=f"/stepward/{app}",
        type=TYPE,
        time=instant(at),
        replyto=replyto,
        datacontenttype="application/json",
        store=store_id,
        traceparent=current_traceparent(),
        data=msgspec.Raw(encode(data, f"message {id}", limit=limit)),
        specversion="1.0",
    )
    await queues.put(submission_queue(app, queue), [(encode_event(event), None)])
