"""Routes and actions as channels and operations of AsyncAPI."""

from __future__ import annotations

from typing import Any

from stepward.transport.asyncapi.queue_descriptions import ACTS, ROUTES, Route, RouteAct

JsonObject = dict[str, Any]

NATS, RABBITMQ = "nats", "rabbitmq"
AMQP = "0.3.0"
PARAMETERS = {
    "app": "The name of the application, as in its `App`.",
    "agent": "The name of the Agent.",
    "instance": "The requesting Scheduler: `replyto` is `replies.` and this.",
    "queue": "The name of the submission queue, as in `app.submission`. At NATS `=` stands for each dot in it.",
    "name": "The front end's choice: `replyto` is `replies.`, the application, a dot and this. At NATS `=` stands "
    "for each dot in it.",
}


def servers() -> JsonObject:
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
    }


def channels() -> JsonObject:
    """Each kind of queue at each broker."""
    found: JsonObject = {}
    for route in ROUTES:
        found[f"{NATS}.{route.key}"] = _channel(route, NATS) | _jetstream(route)
        found[f"{RABBITMQ}.{route.key}"] = _channel(route, RABBITMQ) | _amqp(route)
    return found


def operations() -> JsonObject:
    """The actions of an Agent or a front end at each broker."""
    return {f"{broker}.{act.key}": _operation(act, broker) for act in ACTS for broker in (NATS, RABBITMQ)}


def _channel(route: Route, broker: str) -> JsonObject:
    address = route.subject if broker == NATS else route.queue
    messages = route.messages if broker == NATS else (*route.messages, *route.of_rabbitmq)
    return {
        "address": address,
        "title": route.title,
        "description": route.text,
        "servers": [{"$ref": f"#/servers/{broker}"}],
        "parameters": {name: {"description": text} for name, text in PARAMETERS.items() if f"{{{name}}}" in address},
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
    }


def _jetstream(route: Route) -> JsonObject:
    if route.stream is None:
        return {}
    consumer = {"durable_name": route.consumer, "filter_subject": route.subject, "ack_policy": "explicit"}
    shared = {"consumer": consumer} if route.consumer is not None else {}
    return {"x-jetstream": {"stream": route.stream, "retention": route.retention, **shared}}


def _amqp(route: Route) -> JsonObject:
    if route.stream is None:
        exchange = {"name": route.queue, "type": "fanout", "durable": True}
        return {"bindings": {"amqp": {"is": "routingKey", "exchange": exchange, "bindingVersion": AMQP}}}
    queue = {"name": route.queue, "durable": True, "exclusive": False, "autoDelete": False}
    return {
        "bindings": {"amqp": {"is": "queue", "queue": queue, "bindingVersion": AMQP}},
        "x-arguments": dict(route.arguments),
    }


def _operation(act: RouteAct, broker: str) -> JsonObject:
    channel = f"#/channels/{broker}.{act.route}"
    operation: JsonObject = {
        "action": act.action,
        "channel": {"$ref": channel},
        "summary": act.text,
        "messages": [{"$ref": f"{channel}/messages/{name}"} for name in act.messages],
    }
    if broker == NATS or act.route == "told":
        return operation
    manner: JsonObject = {"ack": True} if act.action == "receive" else {"deliveryMode": 2, "mandatory": True}
    return operation | {"bindings": {"amqp": {**manner, "bindingVersion": AMQP}}}
