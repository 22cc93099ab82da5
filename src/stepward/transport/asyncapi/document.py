"""The AsyncAPI document: servers, channels, operations, messages and schemas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from stepward.model.messages.requests import Outcome
from stepward.transport.asyncapi.applications import STATUS, ErrorObject, Submission, application_schemas
from stepward.transport.asyncapi.queue_descriptions import ACTS, ROUTES, Route, RouteAct
from stepward.transport.asyncapi.schemas import PLACE, Schema, refer, schemas
from stepward.transport.wire.capacity_announcements import Capacity
from stepward.transport.wire.losses import Loss
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

NATS, RABBITMQ, AMQP10 = "nats", "rabbitmq", "amqp10"
AMQP = "0.3.0"
PARAMETERS = {
    "app": "The name of the application, as in its `App`.",
    "agent": "The name of the Agent.",
    "instance": "The requesting Scheduler: `replyto` is `replies.` and this.",
    "queue": "The name of the submission queue, as in `app.submission`. At NATS `=` stands for each dot in it.",
    "name": "The front end's choice: `replyto` is `replies.`, the application, a dot and this. At NATS `=` stands "
    "for each dot in it.",
}

Node = dict[str, Any]


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
        "servers": _servers(),
        "channels": _channels(),
        "operations": _operations(),
        "components": {"messages": _messages(), "schemas": _schemas()},
    }


def text() -> str:
    """The document as docs/asyncapi.json holds it."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def _servers() -> Node:
    """The brokers."""
    return {
        NATS: {
            "host": "{host}",
            "protocol": "nats",
            "description": "NATS 2.12.7 or newer, with JetStream.",
            "variables": {"host": {"default": "localhost:4222"}},
        },
        RABBITMQ: {
            "host": "{host}",
            "protocol": "amqp",
            "protocolVersion": "0.9.1",
            "description": "RabbitMQ 3.10 or newer.",
            "variables": {"host": {"default": "localhost:5672"}},
        },
        AMQP10: {
            "host": "{host}",
            "protocol": "amqp1",
            "protocolVersion": "1.0",
            "description": "RabbitMQ with its plugin for AMQP 1.0: a link's address is `/queue/` and the channel's, "
            "for broadcasts `/topic/` and the channel's. Apache ActiveMQ 5: it is the channel's, for broadcasts "
            "`topic://` and the channel's.",
            "variables": {"host": {"default": "localhost:5672"}},
        },
    }


def _channels() -> Node:
    """Each kind of queue at each broker."""
    found: Node = {}
    for route in ROUTES:
        found[f"{NATS}.{route.key}"] = _channel(route, NATS) | _jetstream(route)
        found[f"{RABBITMQ}.{route.key}"] = _channel(route, RABBITMQ) | _amqp(route)
        found[f"{AMQP10}.{route.key}"] = _channel(route, AMQP10)
    return found


def _operations() -> Node:
    """The actions of an Agent or a front end at each broker."""
    return {f"{broker}.{act.key}": _operation(act, broker) for act in ACTS for broker in (NATS, RABBITMQ, AMQP10)}


def _channel(route: Route, broker: str) -> Node:
    address = route.subject if broker == NATS else route.queue
    messages = (*route.messages, *route.of_rabbitmq) if broker == RABBITMQ else route.messages
    return {
        "address": address,
        "title": route.title,
        "description": route.text,
        "servers": [{"$ref": f"#/servers/{broker}"}],
        "parameters": {name: {"description": text} for name, text in PARAMETERS.items() if f"{{{name}}}" in address},
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
    }


def _jetstream(route: Route) -> Node:
    if route.stream is None:
        return {}
    consumer = {"durable_name": route.consumer, "filter_subject": route.subject, "ack_policy": "explicit"}
    shared = {"consumer": consumer} if route.consumer is not None else {}
    return {"x-jetstream": {"stream": route.stream, "retention": route.retention, **shared}}


def _amqp(route: Route) -> Node:
    if route.stream is None:
        exchange = {"name": route.queue, "type": "fanout", "durable": True}
        return {"bindings": {"amqp": {"is": "routingKey", "exchange": exchange, "bindingVersion": AMQP}}}
    queue = {"name": route.queue, "durable": True, "exclusive": False, "autoDelete": False}
    return {
        "bindings": {"amqp": {"is": "queue", "queue": queue, "bindingVersion": AMQP}},
        "x-arguments": dict(route.arguments),
    }


def _operation(act: RouteAct, broker: str) -> Node:
    channel = f"#/channels/{broker}.{act.route}"
    operation: Node = {
        "action": act.action,
        "channel": {"$ref": channel},
        "summary": act.text,
        "messages": [{"$ref": f"{channel}/messages/{name}"} for name in act.messages],
    }
    if broker != RABBITMQ or act.route == "told":
        return operation
    manner: Node = {"ack": True} if act.action == "receive" else {"deliveryMode": 2, "mandatory": True}
    return operation | {"bindings": {"amqp": {**manner, "bindingVersion": AMQP}}}


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
