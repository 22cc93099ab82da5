"""The channels of the AsyncAPI document: the queues of an application at each broker, and the operations on them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from stepward.transport.rabbitmq.application import declarations
from stepward.transport.rabbitmq.requests_and_replies import queue_declarations

NATS, RABBITMQ, AMQP10 = "nats", "rabbitmq", "amqp10"
AMQP = "0.3.0"
PARAMETERS = {
    "app": "The name of the application, as in its `App`. Beside several stores each partition has requests, replies "
    "and broadcasts of its own: their application is `shop.p2`, and in names of streams `shop+p2`.",
    "agent": "The name of the Agent.",
    "instance": "The requesting Scheduler: `replyto` is `replies.` and this.",
    "queue": "The name of the submission queue, as in `app.submission`. At NATS `=` stands for each dot in it. Beside "
    "several stores `p2.orders` is the part of the partition `p2`, which its submission processes fill and empty.",
    "name": "The front end's choice: `replyto` is `replies.`, the application, a dot and this. At NATS `=` stands "
    "for each dot in it.",
}

Node = dict[str, Any]


class Route(Struct, frozen=True, kw_only=True):
    """One kind of queue."""

    key: str
    title: str
    text: str
    messages: tuple[str, ...]
    of_rabbitmq: tuple[str, ...] = ()
    """Messages that exist at one broker only: NATS clients detect a stream's losses by themselves."""
    subject: str
    """At NATS."""
    stream: str | None = None
    """The JetStream that stores it; None: it is not stored."""
    consumer: str | None = None
    """The durable consumer that all processes share; None: each reader has one of its own."""
    retention: str = "workqueue"
    queue: str
    """At RabbitMQ: the queue, or the exchange if it is not stored."""
    arguments: tuple[tuple[str, object], ...] = ()
    """The arguments of the queue's declaration there."""


ASKED = tuple(queue_declarations.ARGUMENTS.items())
POSTED = tuple(declarations.POSTED.items())
RESPONSE_ARGUMENTS = tuple(declarations.RESPONSE_ARGUMENTS.items())

ROUTES = (
    Route(
        key="requests",
        title="Requests to an Agent",
        text="All instances of an Agent take from one queue. A taken request is leased; one that is not "
        "acknowledged by then is given to another instance. Schedulers request no more than the Agent has room for.",
        messages=("Requests",),
        subject="stepward.{app}.queue.agents.{agent}",
        stream="STEPWARD_{app}",
        consumer="agents_{agent}",
        queue="stepward.{app}.agents.{agent}",
        arguments=ASKED,
    ),
    Route(
        key="replies",
        title="Replies to a Scheduler",
        text="Each Scheduler instance has a queue of its own; the successor of a dead instance adopts its queue. "
        "At RabbitMQ the exchange `stepward.{app}.queues` reaches it, too, with `replyto` as routing key.",
        messages=("Replies",),
        subject="stepward.{app}.queue.replies.{instance}",
        stream="STEPWARD_{app}",
        consumer="replies_{instance}",
        queue="stepward.{app}.replies.{instance}",
        arguments=ASKED,
    ),
    Route(
        key="told",
        title="Broadcasts to all processes",
        text="Not stored: the processes that listen at the moment receive them.",
        messages=("Revocation", "Capacity"),
        of_rabbitmq=("Loss",),
        subject="stepward.{app}.told",
        queue="stepward.{app}.told",
    ),
    Route(
        key="submissions",
        title="Submissions",
        text="A front end posts; a submission process makes one task of each message, also after crashes.",
        messages=("Submission",),
        subject="stepward.{app}.submissions.{queue}",
        stream="STEPWARD_{app}+submissions",
        consumer="submissions_{queue}",
        queue="stepward.{app}.submissions.{queue}",
        arguments=POSTED,
    ),
    Route(
        key="responses",
        title="Status events",
        text="The private response queue that a submission named in `replyto`: each event at least once, in order for "
        "each task, read by one reader at a time.",
        messages=("StatusEvents",),
        subject="stepward.{app}.responses.{name}",
        stream="STEPWARD_{app}+responses",
        retention="limits",
        queue="stepward.{app}.responses.{name}",
        arguments=RESPONSE_ARGUMENTS,
    ),
)


class RouteAct(Struct, frozen=True, kw_only=True):
    """The actions of an Agent or a front end on a kind of queue."""

    key: str
    action: str
    route: str
    messages: tuple[str, ...]
    text: str


ACTS = (
    RouteAct(
        key="takeRequests",
        action="receive",
        route="requests",
        messages=("Requests",),
        text="Take as many requests as there is room for; drop requests past their `expirytime` silently; acknowledge "
        "a broker message once the replies to all its requests are confirmed by the broker, or the requests dropped.",
    ),
    RouteAct(
        key="reply",
        action="send",
        route="replies",
        messages=("Replies",),
        text="Answer each request before its `expirytime`, to the queue in its `replyto`; past it send nothing. Repeat "
        "`store` and `proof` unchanged: an answer without them is refused.",
    ),
    RouteAct(
        key="hearRevocations",
        action="receive",
        route="told",
        messages=("Revocation",),
        text="Stop working on that step, and reply `gave_up` once nothing of it runs: its result is no longer needed.",
    ),
    RouteAct(
        key="announce",
        action="send",
        route="told",
        messages=("Capacity",),
        text="Announce every third of a lease that the Agent is alive, and for how many requests it has room.",
    ),
    RouteAct(
        key="post",
        action="send",
        route="submissions",
        messages=("Submission",),
        text="Post a submission; posted again under the same id it makes one task.",
    ),
    RouteAct(
        key="follow",
        action="receive",
        route="responses",
        messages=("StatusEvents",),
        text="Receive the task's events. An event may come twice, under the same id and sequence.",
    ),
)


def servers() -> Node:
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


def channels() -> Node:
    """Each kind of queue at each broker."""
    found: Node = {}
    for route in ROUTES:
        found[f"{NATS}.{route.key}"] = _channel(route, NATS) | _jetstream(route)
        found[f"{RABBITMQ}.{route.key}"] = _channel(route, RABBITMQ) | _amqp(route)
        found[f"{AMQP10}.{route.key}"] = _channel(route, AMQP10)
    return found


def operations() -> Node:
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
