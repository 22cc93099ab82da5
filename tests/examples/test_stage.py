"""What STORE=… and TRANSPORT=… say, and who works there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.shop.crew import crew_of
from examples.shop.processes.crews import Crew
from examples.shop.processes.stage import DemoStage, stage_of
from examples.shop.processes.stores import StoreKind
from servers.keeper import programs
from servers.keeper.programs import ProgramMissing, check_programs
from servers.keeper.transports import TransportKind
from showcase.plots import plot_of

SQLITE, POSTGRESQL = StoreKind.SQLITE, StoreKind.POSTGRESQL
LOCAL, STORE, NATS, RABBITMQ, AMQP10, ACTIVEMQ = TransportKind
STAGES = [DemoStage(store, transport) for store in StoreKind for transport in TransportKind]
AGENTS = {"stock", "payment", "parcel", "mail"}


@pytest.mark.parametrize(
    ("store", "transport", "expected"),
    [
        ("", "", DemoStage(SQLITE, STORE)),
        ("postgresql", "", DemoStage(POSTGRESQL, STORE)),
        ("", "local", DemoStage(SQLITE, LOCAL)),
        ("", "nats", DemoStage(POSTGRESQL, NATS)),
        ("", "rabbitmq", DemoStage(POSTGRESQL, RABBITMQ)),
        ("", "amqp10", DemoStage(POSTGRESQL, AMQP10)),
        ("", "activemq", DemoStage(POSTGRESQL, ACTIVEMQ)),
        ("sqlite", "nats", DemoStage(SQLITE, NATS)),
    ],
)
def test_missing_options_follow_from_the_given_ones(store: str, transport: str, expected: DemoStage) -> None:
    assert stage_of(store, transport) == expected


def test_only_what_stands_on_servers_goes_with_them() -> None:
    assert [stage for stage in STAGES if not stage.has_servers] == [DemoStage(SQLITE, LOCAL), DemoStage(SQLITE, STORE)]


@pytest.mark.parametrize(("store", "transport"), [("mysql", ""), ("", "kafka"), ("mysql", "nats"), ("SQLITE", "")])
def test_an_unknown_option_is_one_error_line(store: str, transport: str) -> None:
    with pytest.raises(
        ValueError, match=r"^(store|transport): expected [^\n]*, found '\w+'; say [A-Z]+=\w+, or nothing$"
    ):
        stage_of(store, transport)


@pytest.mark.parametrize("stage", STAGES, ids=str)
@pytest.mark.parametrize("crew_at", [lambda stage: plot_of(stage).crew, crew_of], ids=["demo", "shop"])
def test_every_agent_is_served_everywhere(stage: DemoStage, crew_at: Callable[[DemoStage], Crew]) -> None:
    members = list(crew_at(stage).members())
    assert len({member.name for member in members}) == len(members)
    served = {agent for member in members if member.arguments[0] == "agents" for agent in member.arguments[2:]}
    has_all = any(member.arguments[0] == "together" for member in members)
    assert (served, has_all) == ((set(), True) if stage.transport is LOCAL else (AGENTS, False))


@pytest.mark.parametrize("transport", [NATS, RABBITMQ])
def test_over_a_broker_each_agent_has_processes_of_its_own(transport: TransportKind) -> None:
    served = plot_of(DemoStage(POSTGRESQL, transport)).crew.agents
    assert sorted(map(tuple, served)) == [("mail",), ("parcel",), ("payment",), ("payment",), ("stock",)]


@pytest.mark.parametrize("transport", TransportKind)
def test_a_plot_names_its_workers_and_servers(transport: TransportKind) -> None:
    plot = plot_of(DemoStage(POSTGRESQL, transport))
    assert re.fullmatch(r"the storefront, .* four Schedulers.* Agents, two Supervisors and a bookkeeper", plot.company)
    assert len(plot.servers) == (2 if transport.is_broker else 1)


@pytest.mark.parametrize("transport", [NATS, RABBITMQ])
def test_a_missing_broker_is_reported_with_the_package_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, transport: TransportKind
) -> None:
    monkeypatch.setitem(programs.PLACES, transport, tmp_path / "none")
    with pytest.raises(
        ProgramMissing, match=rf"^transport: expected {transport.brand}’s server at .*/none, found none; install"
    ):
        check_programs(transport)


@pytest.mark.parametrize("transport", [LOCAL, STORE])
def test_without_a_broker_no_program_is_needed(transport: TransportKind) -> None:
    check_programs(transport)
