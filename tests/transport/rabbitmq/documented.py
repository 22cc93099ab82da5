"""The users of a RabbitMQ server with the permissions that docs/deployment.md gives them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from servers import rabbitmq

PAGE = Path(__file__).parents[3] / "docs" / "deployment.md"
OF_PARTITIONS = PAGE.with_name("partitions.md")
PARTITIONED = "partitioned"
"""The virtual host of an application over several stores."""
SEVERAL_KINDS = (r"^stepward\.shop\..*", r"^(stepward\.shop\..*|amq\.default)$", r"^stepward\.shop\..*")
"""For a process that runs more than one kind."""


def documented(page: Path = PAGE) -> dict[str, tuple[str, str, str]]:
    """By user, what it may configure, write and read."""
    found = re.findall(r"rabbitmqctl set_permissions -p shop (\w+) '(.*?)' '(.*?)' '(.*?)'", page.read_text())
    assert len(found) == (4 if page is PAGE else 3)
    return {user: (configure, write, read) for user, configure, write, read in found}


def documented_topics(page: Path = PAGE) -> list[tuple[str, str, str, str]]:
    """The user, the exchange, and the routing keys that it may write and read."""
    found = re.findall(r"rabbitmqctl set_topic_permissions -p shop (\w+) (\S+) '(.*?)' '(.*?)'", page.read_text())
    assert len(found) == (1 if page is PAGE else 2)
    return [(user, exchange, write, read) for user, exchange, write, read in found]


def definitions() -> str:
    """Those users, each with its name as the password; in a virtual host of its own they have those of partitions."""
    rights = {"guest": (".*", ".*", ".*"), "shop": SEVERAL_KINDS, **documented()}
    hosts = {"/": rights, PARTITIONED: rights | documented(OF_PARTITIONS)}
    topics = {"/": documented_topics(), PARTITIONED: documented_topics(OF_PARTITIONS)}
    return json.dumps(
        {
            "users": [{"name": user, "password_hash": rabbitmq.password_hash(user), "tags": ""} for user in rights],
            "vhosts": [{"name": host} for host in hosts],
            "permissions": [
                {"user": user, "vhost": host, "configure": configure, "write": write, "read": read}
                for host, own in hosts.items()
                for user, (configure, write, read) in own.items()
            ],
            "topic_permissions": [
                {"user": user, "vhost": host, "exchange": exchange, "write": write, "read": read}
                for host, own_topics in topics.items()
                for user, exchange, write, read in own_topics
            ],
        }
    )
