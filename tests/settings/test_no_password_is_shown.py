"""No password is shown: not in errors, settings, headers of processes or names of targets, whatever it is made of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from stepward import App, StepwardError
from stepward.cli.input.operator_store import command_line
from stepward.cli.input.passwords import warning
from stepward.cli.input.targets import app_or_store
from stepward.cli.processes.serving import EVERY_ACTOR, header
from stepward.outbox import check_outbox
from stepward.settings import Settings
from stepward.store.address import postgres_place, shown, sqlite_path
from stepward.transport.rabbitmq.address import rabbit_address
from tests.cli.processes import done

PASSWORDS = ["canary", "12/canary", "12?canary", "12#canary", "canary@12", "12@canary", "a:canary", "can/ary?x@y",
             "canary?p=q"]  # fmt: skip
STORES = ["postgresql://ada:{}@host/shop", "postgres://ada:{}@host:5432/shop", "postgresql://host/shop?password={}"]
BROKERS = ["nats://ada:{}@host", "amqp://ada:{}@host/vhost", "nats://ada:{}@one,two?replicas=3"]
OTHERS = ["mysql://ada:{}@host/shop", "sqlite://ada:{}@host/shop/", "postgresql:/ada:{}@host/shop", "ada:{}@host"]


def told(use: Callable[[], object]) -> str:
    try:
        return str(use())
    except StepwardError as error:
        return str(error)


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("address", STORES + OTHERS)
def test_a_stores_address_is_shown_without_its_password(address: str, password: str) -> None:
    given = address.format(password)
    uses: list[Callable[[], object]] = [
        lambda: postgres_place(given).shown if given.startswith("postgres") else "",
        lambda: shown(given) if given.startswith(("postgres://", "postgresql://")) else "",
        lambda: sqlite_path(given),
        lambda: Settings(store=given).describe(),
        lambda: check_outbox(given),
        lambda: repr(Settings(store=given)),
    ]
    for use in uses:
        assert "canary" not in told(use)
        assert "ary?x" not in told(use)


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("target", ["postgresql:/ada:{}@host/shop", "ada:{}@host:app", "mysql://ada:{}@host/shop"])
def test_an_invalid_target_is_shown_without_its_password(target: str, password: str) -> None:
    with pytest.raises(StepwardError) as raised:
        app_or_store(target.format(password))
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("address", BROKERS)
def test_a_brokers_address_is_shown_without_its_password(
    address: str, password: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = address.format(password)
    if given.startswith("amqp"):
        assert "canary" not in told(lambda: rabbit_address(given).shown)
    assert "canary" not in told(lambda: Settings(transport=given).describe())
    try:
        app = App("shop", store=f"sqlite:///{tmp_path}/shop.db", transport=given)
    except StepwardError as error:
        assert "canary" not in str(error)
    else:
        header(app, EVERY_ACTOR, {})
        shown_there = capsys.readouterr().out
        assert "transport" in shown_there
        assert "canary" not in shown_there


def test_no_password_is_shown_when_the_broker_is_unavailable(tmp_path: Path) -> None:
    app = App("shop", store=f"sqlite:///{tmp_path}/shop.db", transport="nats://ada:canary@127.0.0.1:9")

    async def run() -> None:
        async with app.running():
            pass

    with pytest.raises(StepwardError) as raised:
        asyncio.run(run())
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("address", STORES + BROKERS)
def test_a_password_on_a_command_line_is_warned_of(address: str, password: str) -> None:
    given = address.format(password)
    for arguments in (["tasks", "--store", given], ["tasks", f"--store={given}"], ["supervisor", given]):
        said = warning(arguments)
        assert said is not None
        assert "canary" not in said


@pytest.mark.parametrize(
    "argument",
    ["postgresql://ada@host:5432/shop", "postgresql://host:5432/shop", "sqlite:////var/a:b@c.db", "shop.py:app",
     "a:b@c", "nats://one:4222,two:4222", '{"mail": "ada@host"}', "postgresql://ada@[::1]:5432/shop"],
)  # fmt: skip
def test_a_command_line_without_a_password_is_not_warned_of(argument: str) -> None:
    assert warning(["tasks", argument]) is None


@pytest.mark.parametrize("address", [*STORES, "postgresql://ada@host/shop"])
def test_advice_repeats_no_password(address: str) -> None:
    given = address.format("canary")
    with click.Context(click.Command("show"), info_name="show") as context:
        context.params["store"] = given
        advised = command_line("resubmit", "A-7")
    if "canary" in given:
        assert advised == 'stepward resubmit A-7 --store "$STEPWARD_STORE"'
    else:
        assert advised == f"stepward resubmit A-7 --store {given}"


def test_a_process_warns_of_a_password_at_its_start(tmp_path: Path) -> None:
    result = done(tmp_path, "tasks", "--store", "postgresql://ada:canary@127.0.0.1:9/shop")
    first, *_ = result.stderr.splitlines()
    assert first.startswith("stepward: expected no password on the command line, where ps shows it")
    assert "canary" not in result.stdout + result.stderr
