"""The layouts of docs/deployment.md, followed word for word with the rights and settings that it prints."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from servers import postgres
from tests.deploy import guide
from tests.deploy.host import Host, survive_a_death, try_it
from tests.deploy.layouts import OPERATOR, OWNER, WEB, begun, beside, listen, over_nats, over_rabbitmq, through_a_pooler
from tests.deploy.without_passwords import (
    over_nats_with_credentials,
    over_nats_with_nkeys,
    over_rabbitmq_with_certificates,
)

pytestmark = pytest.mark.servers


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path)
    yield host
    host.close()


@pytest.fixture
def version() -> str:
    return max(postgres.versions())


@pytest.fixture
def server(version: str) -> Iterator[postgres.Server]:
    with postgres.running(postgres.versions()[version]) as server:
        yield server


def test_sqlite_in_one_process(host: Host) -> None:
    [_, _, run] = guide.commands(guide.blocks("console", guide.section("SQLite: one host, a local disk"))[0])
    host.run(run.arguments, {})
    try_it(host)
    assert (host.state / "stepward.db").stat().st_mode & 0o077 == 0


@pytest.mark.faults
def test_sqlite_with_a_unit_for_each_kind(host: Host) -> None:
    host.install({"shop.env": "APP=shop:app\n"})
    scheduler, *_ = begun(host)
    try_it(host)
    survive_a_death(host, scheduler, "stepward-scheduler")


@pytest.mark.faults
@pytest.mark.parametrize("version", sorted(postgres.versions()))
def test_postgresql_with_a_login_for_each_process(server: postgres.Server, tmp_path: Path) -> None:
    with beside(server, tmp_path) as host:
        begun(host)
        try_it(host, WEB, OPERATOR)


def test_a_right_that_the_page_leaves_out_is_named(server: postgres.Server, tmp_path: Path) -> None:
    missing = r"expected the rights of scheduler .*: insert, select, update on task;"
    with (
        beside(server, tmp_path, lacking="stepward_shop.task, ") as host,
        pytest.raises(AssertionError, match=missing),
    ):
        host.start("stepward-scheduler")


@pytest.mark.faults
def test_through_a_pooler_with_a_login_for_each_process(server: postgres.Server, tmp_path: Path) -> None:
    with through_a_pooler(server, tmp_path) as host:
        scheduler, *_ = begun(host)
        try_it(host, WEB, OPERATOR)
        listen(host, "STEPWARD_STORE")
        survive_a_death(host, scheduler, "stepward-scheduler", WEB, OPERATOR)


@pytest.mark.faults
def test_on_postgresql_another_scheduler_goes_on_with_its_login(server: postgres.Server, tmp_path: Path) -> None:
    with beside(server, tmp_path) as host:
        scheduler, *_ = begun(host)
        listen(host, "STEPWARD_STORE")
        survive_a_death(host, scheduler, "stepward-scheduler", WEB, OPERATOR)


@pytest.mark.faults
@pytest.mark.parametrize(
    "over",
    [
        over_nats,
        over_nats_with_nkeys,
        over_nats_with_credentials,
        over_rabbitmq,
        over_rabbitmq_with_certificates,
    ],
)
def test_postgresql_and_a_broker_with_a_login_for_each_process(
    server: postgres.Server, tmp_path: Path, over: Callable[[postgres.Server, Path], AbstractContextManager[Host]]
) -> None:
    with over(server, tmp_path) as host:
        scheduler, *_ = begun(host)
        try_it(host, WEB, OPERATOR)
        listen(host, "STEPWARD_TRANSPORT")
        survive_a_death(host, scheduler, "stepward-scheduler", WEB, OPERATOR)
        assert host.ask("alerts", file=OPERATOR).stdout == "No open alerts.\n"


@pytest.mark.faults
def test_postgresql_in_one_process_with_one_login(server: postgres.Server, tmp_path: Path) -> None:
    with beside(server, tmp_path) as host:
        owner = host.settings(OWNER)
        host.install({"shop.env": "".join(f"{name}={value}\n" for name, value in owner.items())})
        process = host.start("stepward")
        try_it(host, OWNER, OWNER)
        survive_a_death(host, process, "stepward", OWNER, OWNER)


@pytest.mark.faults
def test_the_timer_in_place_of_a_supervisor(server: postgres.Server, tmp_path: Path) -> None:
    with beside(server, tmp_path) as host:
        units = [unit for unit in guide.units(guide.section(guide.RIGHTS)) if unit != "stepward-supervisor"]
        scheduler, *_ = [host.start(unit) for unit in units]
        with timer(host) as codes:
            try_it(host, WEB, OPERATOR)
            survive_a_death(host, scheduler, "stepward-scheduler", WEB, OPERATOR)
    assert set(codes) == {0}


@contextmanager
def timer(host: Host) -> Iterator[list[int]]:
    """Starts the timer's unit again a second after its end, in place of 30; the exit codes."""
    codes: list[int] = []
    over = threading.Event()

    def passes() -> None:
        while not over.wait(1):
            codes.append(host.start_once("stepward-supervise-once").returncode)

    thread = threading.Thread(target=passes)
    thread.start()
    try:
        yield codes
    finally:
        over.set()
        thread.join()


@pytest.mark.faults
@pytest.mark.parametrize(
    ("over", "lacking"),
    [
        (over_nats, '"$JS.API.CONSUMER.MSG.NEXT.STEPWARD_shop.agents_payments"'),
        (over_rabbitmq, r"agents\.payments|"),
    ],
)
def test_a_permission_that_the_page_leaves_out_is_an_alert(
    server: postgres.Server,
    tmp_path: Path,
    over: Callable[[postgres.Server, Path, str], AbstractContextManager[Host]],
    lacking: str,
) -> None:
    with over(server, tmp_path, lacking) as host:
        begun(host)
        host.ask("submit", "shop:app", "fulfil", '"order-1"', "--id", "order-1", file=WEB)
        while "queue_refused" not in (told := host.ask("alerts", "--json", file=OPERATOR).stdout):
            assert "order-1" in host.ask("tasks", file=OPERATOR).stdout
    assert "agents.payments" in told
