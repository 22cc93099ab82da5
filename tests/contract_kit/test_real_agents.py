"""Agents as processes pass the contract kit over real brokers, and wrong ones fail the check of what they break."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from servers import nats, rabbitmq
from stepward import App
from stepward.cli.main import cli
from tests.contract_kit import python_agent
from tests.contract_kit.small_agent import WRONG
from tests.node_agent.package import AGENT, built
from tests.programs import client_of_amqp10, program
from tests.tiers import sampled
from tests.transport.brokers import SERVERS, new_app

pytestmark = [pytest.mark.servers, pytest.mark.timeout(600)]

SMALL = (sys.executable, "-m", "tests.contract_kit.small_process")
PYTHON = (sys.executable, "-m", "stepward", "agent", f"{python_agent.__file__}:app")
ROOT = Path(__file__).parents[2]
BROKERS = {"nats": "nats", "rabbitmq": "rabbitmq", "amqp10": "amqp10 at rabbitmq"}
SOME = ("--only", "answers", "--only", "announces", "--only", "batch")
END_SECONDS = 30
WITH_BROKER = (
    "announces-rarely",
    "performs-expired",
    "never-cuts",
    "answers-late",
    "forgets-revocations",
    "answers-returned",
    "begins-all-of-a-batch",
    "takes-all",
    "keeps-no-lease",
    "acknowledges-first",
    "drops-its-work-at-the-end",
    "takes-on-at-the-end",
    "sends-any-size",
    "dies-of-bad-bodies",
)
"""Wrong in what a real broker has a part in."""


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an application, for the kit and the Agent."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("CONTRACT_APP", name := new_app())
    return name


def outcome(broker: str, app: str, command: Sequence[str], *options: str) -> dict[str, str]:
    """The checks that did not pass, each with its state and what was found."""
    if broker == "amqp10":
        client_of_amqp10()
    address: str = getattr(SERVERS, broker)()
    return checked(address, app, "--capacity", "3", *options, "--", *command)


def checked(address: str, app: str, *options: str) -> dict[str, str]:
    """The same at the broker of an address."""
    given = ("--broker", address, "--app", app, "--lease", "1s", "--json", *options)
    result = CliRunner().invoke(cli, ["contract-kit", *given])
    assert result.exit_code in {0, 1}, result.stderr
    found = {each["check"]: f"{each['state']} {each['found'] or ''}".strip() for each in json.loads(result.stdout)}
    assert len(found) > 1, found
    return {check: state for check, state in found.items() if state != "passed"}


@pytest.mark.parametrize("broker", sampled(BROKERS), ids=BROKERS.values())
def test_a_small_agent_passes(broker: str, app: str) -> None:
    assert outcome(broker, app, SMALL) == {}


@pytest.mark.parametrize("broker", sampled(("nats", "rabbitmq"), "nats"))
def test_an_agent_in_node_passes(broker: str, app: str) -> None:
    built()
    assert outcome(broker, app, (program("node", "nodejs"), str(AGENT))) == {}


@pytest.mark.faults
@pytest.mark.parametrize("broker", ["nats", "rabbitmq"])
def test_an_agent_in_node_serves_one_partition(broker: str, app: str, monkeypatch: pytest.MonkeyPatch) -> None:
    built()
    monkeypatch.setenv("CONTRACT_APP", partition := f"{app}.p2")
    assert outcome(broker, partition, (program("node", "nodejs"), str(AGENT)), *SOME) == {}


@pytest.mark.parametrize("broker", sampled(BROKERS), ids=BROKERS.values())
def test_an_agent_in_python_passes(broker: str, app: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = f"sqlite:///{tmp_path}/contract.db"
    monkeypatch.setenv("STEPWARD_STORE", store)
    asyncio.run(_make_store(store, app))
    assert outcome(broker, app, PYTHON, "--store", store) == {"announces": "skipped", "announces-end": "skipped"}


@pytest.mark.faults
@pytest.mark.parametrize("broker", ["nats", "rabbitmq"])
def test_an_agent_in_node_serves_again_after_its_broker_was_killed(
    broker: str, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built()
    with nats.running() if broker == "nats" else rabbitmq.running() as server:
        monkeypatch.setenv("STEPWARD_TRANSPORT", server.address)
        monkeypatch.setenv("STEPWARD_LEASE", "1s")
        agent = subprocess.Popen([program("node", "nodejs"), str(AGENT)])
        try:
            assert checked(server.address, app, *SOME) == {}
            server.kill()
            server.start()
            assert checked(server.address, app, *SOME) == {}
            agent.terminate()
            assert agent.wait(END_SECONDS) == 0
        finally:
            agent.kill()
            agent.wait()


@pytest.mark.faults
@pytest.mark.parametrize("wrong", WITH_BROKER)
def test_a_wrong_agent_fails_the_check_of_what_it_breaks_and_no_other(wrong: str, app: str) -> None:
    assert outcome("nats", app, (*SMALL, wrong)).keys() == {WRONG[wrong]}


async def _make_store(address: str, app: str) -> None:
    async with App(app, store=address).client():
        pass
