"""No part of the permissions at RabbitMQ in docs/deployment.md is more than its login needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from servers import postgres
from tests.cli.processes import Process
from tests.deploy import guide
from tests.deploy.host import Host
from tests.deploy.judge import PLUGIN, SETTINGS, Judge, judging, narrower, rights
from tests.deploy.layouts import OPERATOR, WEB, over_rabbitmq
from tests.deploy.test_rights_used import live, unexplained

RARE = {
    "payments": {r"topic write agents\.payments": "gives back what came with other requests, and was not begun"},
    "web": {r"configure letters\..+": "an event that cannot be read"},
}
READ_BY_AN_AGENT = r"' '^stepward\.shop\.(agents\.payments|"


@pytest.mark.parametrize(
    ("pattern", "alternatives"),
    [
        ("^a$", {"^a$": "(?!)"}),
        ("^(a|b)$", {"a": "^(b)$", "b": "^(a)$"}),
        ("^a(b)?$", {"(b)?": "^a$"}),
        ("^(a(b)?|c)$", {"a(b)?": "^(c)$", "c": "^(a(b)?)$", "(b)?": "^(a|c)$"}),
    ],
)
def test_a_pattern_is_narrowed_by_each_alternative(pattern: str, alternatives: dict[str, str]) -> None:
    assert dict(narrower(pattern)) == alternatives


@pytest.mark.faults
def test_each_permission_at_rabbitmq_is_used(tmp_path: Path) -> None:
    judge = Judge(rights(guide.GUIDE))
    with (
        judging(judge) as port,
        postgres.running() as server,
        over_rabbitmq(server, tmp_path, settings=SETTINGS.format(port=port), plugins=[PLUGIN]) as host,
    ):
        live(host, "STEPWARD_TRANSPORT")
        watch(host, judge)
    assert unexplained(unused(judge, guide.GUIDE), RARE) == {}
    assert READ_BY_AN_AGENT in guide.GUIDE
    wider = guide.GUIDE.replace(READ_BY_AN_AGENT, rf"{READ_BY_AN_AGENT}agents\.mail|")
    assert unexplained(unused(judge, wider), RARE) == {"payments": [r"read agents\.mail"]}


def watch(host: Host, judge: Judge) -> None:
    """Look at the front end's events without taking them, as far as the server knows of it."""
    watcher = Process(host.state, "events", "shop:app", "replies.shop.web", **host.settings(WEB))
    try:
        while not any(name.startswith("amq.gen") for name in judge.asked.get(("web", "read"), ())):
            host.ask("instances", file=OPERATOR)
    finally:
        watcher.close()


def unused(judge: Judge, page: str) -> dict[str, list[str]]:
    """By login, the alternatives without which nothing that was allowed would have been refused."""
    left: dict[str, list[str]] = {}
    for user, what, pattern in rights(page):
        asked = judge.asked.get((user, what), set())
        for alternative, rest in narrower(pattern):
            if all(re.search(rest, name) for name in asked):
                left.setdefault(user, []).append(f"{what} {alternative}")
    return left
