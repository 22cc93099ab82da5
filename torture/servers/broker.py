"""The broker over which requests travel, with the documented login of one Agent, and one who may do everything."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import aio_pika
import nats as nats_client
from aiormq.exceptions import ChannelNotFoundEntity
from nats.js.errors import NotFoundError

from servers import nats, rabbitmq
from stepward.transport.broker.queue_names import BrokerNames

KINDS = ("nats", "rabbitmq")
PAGE = Path(__file__).parents[2] / "docs" / "deployment.md"
APPLICATION, NARROW, ALL = "torture", "visits", "trusted"
"""The application, the Agent whose login is narrow, and the login of all other processes, which has every right."""
PASSWORDS = {NARROW: "SECRET-2", ALL: "SECRET-ALL"}
SALT = b"salt"


class TorturedBroker(Protocol):
    """A broker with two logins."""

    kind: str

    def address(self, user: str = ALL, prefix: str = "") -> str:
        """What a client of that user connects to."""
        ...

    async def left(self, prefix: str = "") -> dict[str, int]:
        """How many messages are left in each queue of requests and submissions."""
        ...


class TorturedNats:
    kind = "nats"

    def __init__(self, node: nats.NatsNode) -> None:
        self._node = node

    def address(self, user: str = ALL, prefix: str = "") -> str:
        return _login(self._node.address, user, prefix)

    async def left(self, prefix: str = "") -> dict[str, int]:
        names = BrokerNames(APPLICATION, prefix)
        client = await nats_client.connect(self.address(ALL))
        found: dict[str, int] = {}
        try:
            for stream, subject in (
                (names.stream, f"{names.root}.queue.agents.>"),
                (f"{names.stream}+submissions", f"{names.root}.submissions.>"),
            ):
                try:
                    state = (await client.jetstream().stream_info(stream, subjects_filter=subject)).state
                except NotFoundError:
                    continue
                found.update(state.subjects or {})
        finally:
            await client.close()
        return found


class TorturedRabbit:
    kind = "rabbitmq"

    def __init__(self, server: rabbitmq.RabbitServer) -> None:
        self._server = server

    def address(self, user: str = ALL, prefix: str = "") -> str:
        return _login(self._server.address.replace("guest:guest@", ""), user, prefix)

    async def left(self, prefix: str = "") -> dict[str, int]:
        root = BrokerNames(APPLICATION, prefix).root
        connection = await aio_pika.connect(self.address(ALL))
        found: dict[str, int] = {}
        try:
            for queue in ("agents.service", f"agents.{NARROW}", "submissions.orders"):
                channel = await connection.channel()
                try:
                    declared = await channel.declare_queue(f"{root}.{queue}", passive=True)
                except ChannelNotFoundEntity:
                    continue
                if count := declared.declaration_result.message_count:
                    found[f"{root}.{queue}"] = count
        finally:
            await connection.close()
        return found


def chosen(seed: int) -> str:
    """The kind of broker that a seed stands for."""
    return random.Random(f"{seed}/transport").choice(KINDS)


@contextmanager
def brokering(kind: str) -> Iterator[TorturedBroker | None]:
    """A new broker of that kind, begun and gone with the block; for ``store`` none is needed."""
    if kind == "nats":
        with nats.running(users=_users()) as node:
            yield TorturedNats(node)
    elif kind == "rabbitmq":
        settings = "load_definitions = {folder}/definitions.json\n"
        with rabbitmq.running(settings=settings, files={"definitions.json": _definitions()}) as server:
            yield TorturedRabbit(server)
    else:
        yield None


def _login(address: str, user: str, prefix: str) -> str:
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{user}:{PASSWORDS[user]}@{rest}" + (f"?prefix={prefix}" if prefix else "")


def _users() -> str:
    """The documented users of a NATS server, under our names, and the one who may do everything."""
    found = re.search(r"```\n(authorization \{.*?\n\})\n```", PAGE.read_text(), re.DOTALL)
    assert found is not None, "expected a block of authorization in the page"
    free = f"users: [\n    {{ user: {ALL}, password: {PASSWORDS[ALL]} }}"
    return _renamed(found[1]).replace("users: [", free, 1)


def _definitions() -> str:
    """The documented users of a RabbitMQ server, under our names, and the one who may do everything."""
    rights = re.findall(
        r"rabbitmqctl set_permissions (?:-p \w+ )?(\w+) '(.*?)' '(.*?)' '(.*?)'", _renamed(PAGE.read_text())
    )
    narrow = {user: tuple(rest) for user, *rest in rights if user == NARROW}
    known: Mapping[str, tuple[str, ...]] = {ALL: (".*", ".*", ".*"), **narrow}
    users = [{"name": user, "password_hash": _hash(PASSWORDS[user]), "tags": ""} for user in known]
    permissions = [
        {"user": user, "vhost": "/", "configure": configure, "write": write, "read": read}
        for user, (configure, write, read) in known.items()
    ]
    topics = re.findall(
        r"rabbitmqctl set_topic_permissions (?:-p \w+ )?(\w+) (\S+) '(.*?)' '(.*?)'", _renamed(PAGE.read_text())
    )
    narrowed = [
        {"user": user, "vhost": "/", "exchange": exchange, "write": write, "read": read}
        for user, exchange, write, read in topics
        if user == NARROW
    ]
    known_to = {"vhosts": [{"name": "/"}], "permissions": permissions, "topic_permissions": narrowed}
    return json.dumps({"users": users, **known_to})


def _renamed(text: str) -> str:
    for name, ours in (("shop", APPLICATION), ("payments", NARROW)):
        text = re.sub(rf"(?<![A-Za-z]){name}(?![A-Za-z])", ours, text)
    return text


def _hash(password: str) -> str:
    return base64.b64encode(SALT + sha256(SALT + password.encode()).digest()).decode()
