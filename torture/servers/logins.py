"""The logins at a broker under torture: the documented one of one Agent, and one who may do everything."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from servers.rabbitmq import password_hash

DOCS = Path(__file__).parents[2] / "docs"
PAGE, AMQP10_PAGE = DOCS / "deployment.md", DOCS / "amqp10.md"
APPLICATION, NARROW, ALL = "torture", "visits", "trusted"
"""The application, the Agent whose login is narrow, and the login of all other processes, which has every right."""
PASSWORDS = {NARROW: "SECRET-2", ALL: "SECRET-ALL"}


def with_login(address: str, user: str, prefix: str) -> str:
    """An address with a login, and a prefix if there is one."""
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{user}:{PASSWORDS[user]}@{rest}" + (f"?prefix={prefix}" if prefix else "")


def nats_users() -> str:
    """The documented users of a NATS server, under our names, and the one who may do everything."""
    found = re.search(r"```\n(authorization \{.*?\n\})\n```", PAGE.read_text(), re.DOTALL)
    assert found is not None, "expected a block of authorization in the page"
    free = f"users: [\n    {{ user: {ALL}, password: {PASSWORDS[ALL]} }}"
    return renamed(found[1]).replace("users: [", free, 1)


def rabbitmq_definitions(page: Path = PAGE) -> str:
    """The users of a RabbitMQ server that the page documents, under our names, and the one who may do everything."""
    text = renamed(page.read_text())
    rights = re.findall(r"rabbitmqctl set_permissions (?:-p \w+ )?(\w+) '(.*?)' '(.*?)' '(.*?)'", text)
    narrow = {user: tuple(rest) for user, *rest in rights if user == NARROW}
    known: Mapping[str, tuple[str, ...]] = {ALL: (".*", ".*", ".*"), **narrow}
    users = [{"name": user, "password_hash": password_hash(PASSWORDS[user]), "tags": ""} for user in known]
    permissions = [
        {"user": user, "vhost": "/", "configure": configure, "write": write, "read": read}
        for user, (configure, write, read) in known.items()
    ]
    topics = re.findall(r"rabbitmqctl set_topic_permissions (?:-p \w+ )?(\w+) (\S+) '(.*?)' '(.*?)'", text)
    narrowed = [
        {"user": user, "vhost": "/", "exchange": exchange, "write": write, "read": read}
        for user, exchange, write, read in topics
        if user == NARROW
    ]
    known_to = {"vhosts": [{"name": "/"}], "permissions": permissions, "topic_permissions": narrowed}
    return json.dumps({"users": users, **known_to})


def renamed(text: str) -> str:
    """A page under our names."""
    for name, ours in (("shop", APPLICATION), ("payments", NARROW)):
        text = re.sub(rf"(?<![A-Za-z]){name}(?![A-Za-z])", ours, text)
    return text
