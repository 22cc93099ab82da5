"""Submissions, response queues and dead letters from the terminal, with a broker as the transport."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from servers import nats, rabbitmq
from servers.ports import free_port
from tests.programs import program
from tests.tiers import sampled

from .conftest import Stepward, one_line
from .processes import Process, asked, done, looks, running

pytestmark = pytest.mark.servers

OFFICE = f"{Path(__file__).with_name('office.py')}:app"
REPLIES = "replies.office.web"


@pytest.fixture(params=sampled(("nats", "rabbitmq"), "nats"))
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a broker, which every command here gets from the environment."""
    if request.param == "rabbitmq":
        program("rabbitmq-server", "rabbitmq-server")
    with nats.running() if request.param == "nats" else rabbitmq.running() as server:
        monkeypatch.setenv("STEPWARD_TRANSPORT", server.address)
        yield server.address


@pytest.mark.faults
def test_an_order_from_the_terminal_to_its_last_event(tmp_path: Path, transport: str) -> None:
    with running(tmp_path, "submission", OFFICE), running(tmp_path, "scheduler", OFFICE):
        # A watcher is sure to see events of a queue only if that exists already.
        assert done(tmp_path, "post", OFFICE, "orders", '"tea"', "--id", "A-0", "--reply-to", REPLIES).returncode == 0
        following = Process(tmp_path, "events", OFFICE, REPLIES, "--json")
        told = []
        for number in range(1, 200):
            id = f"A-{number}"
            assert done(tmp_path, "post", OFFICE, "orders", '"tea"', "--id", id, "--reply-to", REPLIES).returncode == 0
            told.append(json.loads(following.read_until("{")[-1]))
            if told[-1]["subject"] != "A-0":
                break
        following.tell(signal.SIGINT)
        assert following.ended() == 130
        following.close()
    assert {event["type"] for event in told} <= {
        "stepward.request.received",
        "stepward.task.started",
        "stepward.task.completed",
    }


@pytest.mark.parametrize("address", ["amqp://127.0.0.1:1/", "nats://127.0.0.1:1"])
@pytest.mark.parametrize("args", [("run", OFFICE), ("post", OFFICE, "orders", '"tea"')], ids=["run", "post"])
def test_a_broker_that_is_not_there_is_one_line(tmp_path: Path, address: str, args: tuple[str, ...]) -> None:
    ended = done(tmp_path, *args, STEPWARD_TRANSPORT=address)
    assert ended.returncode == 3
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert ended.stderr.endswith("found: Connection refused; start it, or look at host, port and login\n")


def test_a_refused_order_lies_with_the_others_and_goes_back_where_it_came_from(tmp_path: Path, transport: str) -> None:
    with running(tmp_path, "submission", OFFICE), running(tmp_path, "scheduler", OFFICE):
        done(tmp_path, "post", OFFICE, "orders", '"nothing"', "--id", "bad")
        (first,) = _dead_letters(tmp_path, 1)
        assert first["queue"] == "submissions.office.orders"
        assert asked(tmp_path, "dead-letters", "put-back", str(first["number"])).returncode == 0
        (again,) = _dead_letters(tmp_path, 1, after=first["number"])
    assert again["reason"] == first["reason"]


@pytest.mark.parametrize("scheme", ["nats", "amqp"])
@pytest.mark.parametrize("words", [("post", "orders", '"tea"'), ("events", REPLIES)])
def test_a_broker_out_of_reach_is_one_line(
    empty: Path, stepward: Stepward, monkeypatch: pytest.MonkeyPatch, scheme: str, words: tuple[str, ...]
) -> None:
    port = free_port()
    monkeypatch.setenv("STEPWARD_TRANSPORT", f"{scheme}://user:canary@127.0.0.1:{port}")
    verb, *rest = words
    result = stepward(verb, OFFICE, *rest)
    assert f"at 127.0.0.1:{port} to answer" in one_line(result)
    assert "canary" not in one_line(result)
    assert result.exit_code == 3


def _dead_letters(folder: Path, count: int, after: int = 0) -> list[dict[str, Any]]:
    """The dead letters with higher numbers, once there are so many."""
    for _ in looks():
        listed = json.loads(asked(folder, "dead-letters", "--json").stdout)
        found = [letter for letter in listed if letter["number"] > after]
        if len(found) >= count:
            return found
    raise AssertionError("expected a dead letter, found none")
