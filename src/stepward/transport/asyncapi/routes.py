"""The queues of an application, and the names of each at either broker."""

from __future__ import annotations

from msgspec import Struct

from stepward.transport.rabbitmq.application import declarations
from stepward.transport.rabbitmq.requests import queues


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


ASKED = tuple(queues.ARGUMENTS.items())
POSTED = tuple(declarations.POSTED.items())
TOLD = tuple(declarations.TOLD.items())

ROUTES = (
    Route(
        key="requests",
        title="Requests to an Agent",
        text="All instances of an Agent take from one queue. A request belongs to who took it for a lease; one that is "
        "not acknowledged by then is given to another. Schedulers ask for no more than the Agent has room for.",
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
        text="Each Scheduler instance takes from a queue of its own; who takes over from a dead one adopts its queue. "
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
        title="What every process hears",
        text="Nobody keeps these: whoever listens at the moment hears them.",
        messages=("Revocation", "Capacity"),
        of_rabbitmq=("Loss",),
        subject="stepward.{app}.told",
        queue="stepward.{app}.told",
    ),
    Route(
        key="submissions",
        title="What is to be done",
        text="A front end posts; a submission process makes a task of each message, once, whatever dies on the way.",
        messages=("Submission",),
        subject="stepward.{app}.submissions.{queue}",
        stream="STEPWARD_{app}+submissions",
        consumer="submissions_{queue}",
        queue="stepward.{app}.submissions.{queue}",
        arguments=POSTED,
    ),
    Route(
        key="responses",
        title="What became of it",
        text="The private response queue that a submission named in `replyto`: each event at least once, in order for "
        "each task, read by one reader at a time.",
        messages=("StatusEvents",),
        subject="stepward.{app}.responses.{name}",
        stream="STEPWARD_{app}+responses",
        retention="limits",
        queue="stepward.{app}.responses.{name}",
        arguments=TOLD,
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
        text="Take what there is room for; drop what is past its `expirytime`, silently; acknowledge a broker message "
        "once the replies to all that is in it are confirmed by the broker, or dropped.",
    ),
    RouteAct(
        key="reply",
        action="send",
        route="replies",
        messages=("Replies",),
        text="Answer each request before its `expirytime`, to the queue in its `replyto`; past it say nothing. Repeat "
        "`store` and `proof` as they are: an answer without them is refused.",
    ),
    RouteAct(
        key="hearRevocations",
        action="receive",
        route="told",
        messages=("Revocation",),
        text="Stop working on that step, and say nothing: nobody waits for it any more.",
    ),
    RouteAct(
        key="announce",
        action="send",
        route="told",
        messages=("Capacity",),
        text="Tell every third of a lease that the Agent is there, and for how many requests it has room.",
    ),
    RouteAct(
        key="post",
        action="send",
        route="submissions",
        messages=("Submission",),
        text="Post what is to be done; posted again under the same id it is done once.",
    ),
    RouteAct(
        key="follow",
        action="receive",
        route="responses",
        messages=("StatusEvents",),
        text="Hear what becomes of it. An event may come twice, under the same id and sequence.",
    ),
)
