"""The users of a RabbitMQ server with the permissions that docs/deployment.md gives them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from servers import rabbitmq

PAGE = Path(__file__).parents[3] / "docs" / "deployment.md"
SEVERAL_KINDS = (r"^stepward\.shop\..*", r"^(stepward\.shop\..*|amq\.default)$", r"^stepward\.shop\..*")
"""For a process that runs more than one kind."""


def documented() -> dict[str, tuple[str, str, str]]:
    """By user, what it may configure, write and read."""
    found = re.findall(r"rabbitmqctl set_permissions -p shop (\w+) '(.*?)' '(.*?)' '(.*?)'", PAGE.read_text())
    assert len(found) == 4
    return {user: (configure, write, read) for user, configure, write, read in found}


def documented_topics() -> list[tuple[str, str, str, str]]:
    """The user, the exchange, and the routing keys that it may write and read."""
    found = re.findall(r"rabbitmqctl set_topic_permissions -p shop (\w+) (\S+) '(.*?)' '(.*?)'", PAGE.read_text())
    assert len(found) == 1
    return [(user, exchange, write, read) for user, exchange, write, read in found]


def definitions() -> str:
    """Those users, each with its name as the password."""
    rights = {"guest": (".*", ".*", ".*"), "shop": SEVERAL_KINDS, **documented()}
    users = [{"name": user, "password_hash": rabbitmq.password_hash(user), "tags": ""} for user in rights]
    permissions = [
        {"user": user, "vhost": "/", "configure": configure, "write": write, "read": read}
        for user, (configure, write, read) in rights.items()
    ]
    topics = [
        {"user": user, "vhost": "/", "exchange": exchange, "write": write, "read": read}
        for user, exchange, write, read in documented_topics()
    ]
    return json.dumps(
        {"users": users, "vhosts": [{"name": "/"}], "permissions": permissions, "topic_permissions": topics}
    )
