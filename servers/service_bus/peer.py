"""One connection of the double: links to entities, tokens at ``$cbs``, requests at ``$management``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from proton import (
    Array,
    Collector,
    Condition,
    Connection,
    Data,
    Delivery,
    Endpoint,
    Event,
    Message,
    Transport,
    symbol,
    timestamp,
)

from servers.service_bus.entities import Entity, StoredMessage
from servers.service_bus.namespace import Namespace

SESSION_FILTER = symbol("com.microsoft:session-filter")
TICKS_AT_1970, TICKS = 621_355_968_000_000_000, 10_000_000
LAPSE_SECONDS = 0.05


class Peer(asyncio.Protocol):
    """What the namespace does for one client."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._loop = asyncio.get_running_loop()
        self._collector = Collector()
        self._connection = Connection()
        self._connection.collect(self._collector)
        self._transport = Transport(Transport.SERVER)
        self._transport.sasl().allowed_mechs("ANONYMOUS")
        self._transport.bind(self._connection)
        self._claims: dict[str, frozenset[str]] = {}
        self._takers: dict[Any, tuple[Entity, str | None]] = {}
        self._answers: dict[str, Any] = {}
        self._socket: asyncio.Transport | None = None
        self._ticking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast("asyncio.Transport", transport)
        self._namespace.peers.add(self)
        self._tick()

    def data_received(self, data: bytes) -> None:
        while data:
            room = max(self._transport.capacity(), 0)
            if not room:
                break
            self._transport.push(data[:room])
            data = data[room:]
            self._pump()
        self.work()

    def connection_lost(self, exc: Exception | None) -> None:
        self._namespace.peers.discard(self)
        if self._ticking is not None:
            self._ticking.cancel()
        for link in tuple(self._takers):
            self._leave(link)

    def cut(self) -> None:
        """End the connection as a fault would."""
        if self._socket is not None:
            self._socket.abort()

    def work(self) -> None:
        """Deliver what can be delivered, and send what there is."""
        self._pump()
        for link, (entity, session) in tuple(self._takers.items()):
            while link.credit > 0 and (message := entity.take(session)) is not None:
                self._deliver(link, entity, message)
        while self._socket is not None and (pending := self._transport.pending()) > 0:
            self._socket.write(bytes(self._transport.peek(pending) or b""))
            self._transport.pop(pending)

    def _tick(self) -> None:
        for entity in self._namespace.entities.values():
            entity.lapse()
        self._transport.tick(self._loop.time())
        self.work()
        self._ticking = self._loop.call_later(LAPSE_SECONDS, self._tick)

    def _pump(self) -> None:
        while (event := self._collector.peek()) is not None:
            handler = HANDLERS.get(event.type)
            if handler is not None:
                handler(self, event)
            self._collector.pop()

    def _welcome(self, _: Event) -> None:
        self._connection.container = "double"
        self._connection.open()

    def _attach(self, event: Event) -> None:
        link = event.link
        if not link.state & Endpoint.LOCAL_UNINIT:
            return
        address = link.remote_source.address if link.is_sender else link.remote_target.address
        name, _, node = address.partition("/$")
        if address == "$cbs" or node == "management":
            self._accept(link)
            if link.is_sender:
                self._answers[link.remote_target.address] = link
            else:
                link.flow(1000)
            return
        entity = self._namespace.entity(name)
        right = "Listen" if link.is_sender else "Send"
        if right not in self._claims.get(name, frozenset()):
            said = (
                f"Unauthorized access. '{right}' claim(s) are required to perform this operation. Resource: '{name}'."
            )
            self._refuse(link, "amqp:unauthorized-access", said)
        elif entity is None:
            self._refuse(link, "amqp:not-found", f"The messaging entity '{name}' could not be found.")
        elif link.is_sender:
            self._serve(link, entity)
        else:
            link.max_message_size = entity.most_bytes
            self._accept(link)
            link.flow(1000)

    def _serve(self, link: Any, entity: Entity) -> None:
        filters = link.remote_source.filter
        wanted = filters.get_object() if filters.next() else {}
        session = wanted.get(SESSION_FILTER)
        if entity.requires_session != (session is not None):
            self._refuse(
                link,
                "amqp:not-allowed",
                "It is not possible for an entity that requires sessions to create "
                "a non-sessionful message receiver, or the reverse.",
            )
            return
        if session is not None:
            until = entity.lock_session(session, link)
            if until is None:
                said = f"The requested session '{session}' cannot be accepted. It may be locked by another receiver."
                self._refuse(link, "com.microsoft:session-cannot-be-locked", said)
                return
            ticks = int(until * TICKS) + TICKS_AT_1970
            link.properties = {symbol("com.microsoft:locked-until-utc"): ticks}
        self._takers[link] = entity, session
        self._accept(link)

    def _accept(self, link: Any) -> None:
        link.source.copy(link.remote_source)
        link.target.copy(link.remote_target)
        link.open()

    def _refuse(self, link: Any, condition: str, said: str) -> None:
        link.open()
        link.condition = Condition(condition, said)
        link.close()

    def _deliver(self, link: Any, entity: Entity, stored: StoredMessage) -> None:
        message = Message()
        message.decode(stored.data)
        message.delivery_count = stored.deliveries
        message.annotations = {
            symbol("x-opt-sequence-number"): stored.number,
            symbol("x-opt-locked-until"): timestamp(int(stored.locked_until * 1000)),
        }
        assert stored.token is not None, "locked"
        delivery = link.delivery(stored.token.bytes_le)
        delivery.stored = entity, stored, stored.token
        link.stream(message.encode())
        link.advance()

    def _delivered(self, event: Event) -> None:
        delivery, link = event.delivery, event.link
        if link.is_sender:
            self._settled(delivery)
        elif delivery.readable and not delivery.partial:
            data = bytes(link.recv(delivery.pending) or b"")
            link.advance()
            self._received(link, delivery, data)
            link.flow(1)

    def _settled(self, delivery: Any) -> None:
        entity, stored, token = getattr(delivery, "stored", (None, None, None))
        state = delivery.remote_state
        if entity is not None and state:
            if state == Delivery.ACCEPTED:
                entity.complete(stored, token)
            elif state == Delivery.REJECTED:
                condition = delivery.remote.condition
                entity.reject(stored, token, condition.description if condition is not None else "")
            else:
                entity.unlock(stored, token)
        if delivery.settled:
            delivery.settle()

    def _received(self, link: Any, delivery: Any, data: bytes) -> None:
        address = link.remote_target.address
        message = Message()
        message.decode(data)
        name, _, node = address.partition("/$")
        entity = self._namespace.entity(name)
        if address == "$cbs" or node == "management":
            delivery.update(Delivery.ACCEPTED)
            delivery.settle()
            self._answer(message, name, entity)
            return
        assert entity is not None, "attached before"
        if len(data) > entity.most_bytes:
            delivery.local.condition = Condition(
                "amqp:link:message-size-exceeded", "The received message is too large."
            )
            delivery.update(Delivery.REJECTED)
        elif entity.requires_session and message.group_id is None:
            delivery.local.condition = Condition("amqp:not-allowed", "The SessionId was not set on a message.")
            delivery.update(Delivery.REJECTED)
        else:
            entity.put(data, message.group_id if entity.requires_session else None, message.ttl or None)
            delivery.update(Delivery.ACCEPTED)
        delivery.settle()

    def _answer(self, asked: Message, name: str, entity: Entity | None) -> None:
        link = self._answers.get(asked.reply_to)
        if link is None:
            return
        operation = asked.properties["operation"]
        if operation == "put-token":
            status, value = self._put_token(asked), None
            properties = {
                "status-code": status,
                "status-description": "Accepted" if status == 202 else "InvalidSignature",
            }
        else:
            answered = None if entity is None else OPERATIONS[operation](entity, asked.body)
            properties = {"statusCode": 410 if answered is None else 200, "statusDescription": "The lock is lost."}
            value = answered
        answer = Message(body=value, correlation_id=asked.id, properties=properties)
        link.delivery(link.delivery_tag())
        link.stream(answer.encode())
        link.advance()

    def _put_token(self, asked: Message) -> int:
        audience = str(asked.properties["name"])
        claims = self._namespace.claims(str(asked.properties["type"]), str(asked.body), audience)
        if claims is None:
            return 401
        self._claims[audience.split("/", 3)[3]] = claims
        return 202

    def _detached(self, event: Event) -> None:
        self._leave(event.link)
        event.link.close()

    def _ended(self, event: Event) -> None:
        for link in [each for each in self._takers if each.session == event.session]:
            self._leave(link)
        event.session.close()

    def _leave(self, link: Any) -> None:
        entity, session = self._takers.pop(link, (None, None))
        if entity is not None and session is not None:
            entity.free_session(session, link)


def _renew_lock(entity: Entity, value: Any) -> dict[str, Any] | None:
    tokens = [UUID(str(token)) for token in value["lock-tokens"]]
    if not {each.token for each in entity.messages}.issuperset(tokens):
        return None
    ends = [entity.renew(token) for token in tokens]
    return {"expirations": Array(None, Data.TIMESTAMP, *(timestamp(int(end * 1000)) for end in ends if end))}


def _renew_session(entity: Entity, value: Any) -> dict[str, Any] | None:
    lock = entity.locks.get(value["session-id"])
    if lock is None:
        return None
    lock.until = time.time() + entity.lock_seconds
    return {"expiration": timestamp(int(lock.until * 1000))}


def _get_state(entity: Entity, value: Any) -> dict[str, Any]:
    return {"session-state": entity.states.get(value["session-id"])}


def _set_state(entity: Entity, value: Any) -> dict[str, Any]:
    entity.states[value["session-id"]] = bytes(value["session-state"])
    return {}


OPERATIONS: dict[str, Callable[[Entity, Any], dict[str, Any] | None]] = {
    "com.microsoft:renew-lock": _renew_lock,
    "com.microsoft:renew-session-lock": _renew_session,
    "com.microsoft:get-session-state": _get_state,
    "com.microsoft:set-session-state": _set_state,
}
HANDLERS: dict[Any, Callable[[Peer, Event], None]] = {
    Event.CONNECTION_REMOTE_OPEN: Peer._welcome,
    Event.SESSION_REMOTE_OPEN: lambda _, event: event.session.open(),
    Event.LINK_REMOTE_OPEN: Peer._attach,
    Event.DELIVERY: Peer._delivered,
    Event.LINK_REMOTE_CLOSE: Peer._detached,
    Event.SESSION_REMOTE_CLOSE: Peer._ended,
    Event.CONNECTION_REMOTE_CLOSE: lambda peer, _: peer._connection.close(),
}
