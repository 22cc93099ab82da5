"""The AsyncAPI document as a whole, its messages and their schemas."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct

from stepward.model.messages.requests import Outcome
from stepward.transport.asyncapi.application_messages import STATUS, ErrorObject, Submission, application_schemas
from stepward.transport.asyncapi.channels import Node, channels, operations, servers
from stepward.transport.asyncapi.schemas import PLACE, Schema, refer, schemas
from stepward.transport.wire.capacity_announcements import Capacity
from stepward.transport.wire.loss_broadcasts import Loss
from stepward.transport.wire.wire_events import BATCH, SINGLE, ProgressEvent, ReplyEvent, RequestEvent, Revocation

VERSION = "2.0.0"
"""The version of the wire: the first number changes when speakers of an older one are no longer understood."""
ALONE = (Revocation, Capacity, Loss, Submission)
"""Messages that are never batched."""
ABOUT = """\
The messages between the processes of a Stepward application over NATS, RabbitMQ or AMQP 1.0, for Agents and front \
ends in any language. Every message is a CloudEvent 1.0 in JSON, or a batch of them. Receiving and sending are meant \
from the side of an Agent or a front end. Readers must accept and ignore unknown attributes. \
docs/wire.md says the same in words, with examples."""


def document() -> Node:
    """The document as plain values."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Stepward",
            "version": VERSION,
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": SINGLE,
        "servers": servers(),
        "channels": channels(),
        "operations": operations(),
        "components": {"messages": _messages(), "schemas": _schemas()},
    }


def text() -> str:
    """The document as docs/asyncapi.json holds it."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def _messages() -> Node:
    return {
        "Requests": _batch("Requests", "Requests to one Agent for attempts of steps.", ["RequestEvent"]),
        "Replies": _batch("Replies", "Outcomes of attempts, and progress of others.", ["ReplyEvent", "ProgressEvent"]),
        "StatusEvents": _batch("StatusEvents", "Status events of tasks, in order for each task.", STATUS),
        **{kind.__name__: _alone(kind) for kind in ALONE},
    }


def _batch(name: str, summary: str, kinds: Sequence[str]) -> Node:
    known = [{"$ref": PLACE.format(name=kind)} for kind in kinds]
    items = known[0] if len(known) == 1 else {"oneOf": known}
    return {"name": name, "summary": summary, "contentType": BATCH, "payload": {"type": "array", "items": items}}


def _alone(kind: type[Struct]) -> Node:
    return {"name": kind.__name__, "contentType": SINGLE, "payload": refer(kind)}


def _schemas() -> dict[str, Schema]:
    found = schemas([RequestEvent, ReplyEvent, ProgressEvent, Revocation, Capacity, Loss]) | application_schemas()
    found["ReplyEvent"] |= {
        "if": {"properties": {"outcome": {"enum": [Outcome.FAILED, Outcome.GAVE_UP]}}},
        "then": {"properties": {"data": refer(ErrorObject)}},
    }
    return found
