"""``contract-kit``: checks an Agent in any language against the contract of the wire."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing

import click
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from stepward.cli.exit_codes import FAILED, Silent
from stepward.cli.input.operator_store import json_option, operator_client, settings_for
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.terminal import screen
from stepward.client import session_of
from stepward.clock import Environment
from stepward.contract_kit.bench import MOST_CAPACITY, BenchOptions
from stepward.contract_kit.broker_run import ContractRun, run_contract
from stepward.contract_kit.catalogue import CHECKS, ContractCheck
from stepward.contract_kit.check_sequence import CheckResult, CheckState
from stepward.durations import seconds
from stepward.error_messages import nearest
from stepward.errors import Refused
from stepward.model.messages.signing import KEY_BYTES, STORE_BYTES, StoreIdentity
from stepward.views.printable import clean

SHORTEST_LEASE = 1.0
SIGNS = {CheckState.PASSED: ("✓", "green"), CheckState.FAILED: ("✗", "red"), CheckState.SKIPPED: ("–", "dim")}


@click.command("contract-kit", epilog=f"{keys(CheckResult)} Checks: {', '.join(check.name for check in CHECKS)}.")
@click.option("--broker", metavar="URL", help="The broker's address; by default that of STEPWARD_TRANSPORT.")
@click.option("--app", "app", default="contract", show_default=True, metavar="NAME", help="The application's name.")
@click.option("--agent", "agent", default="contract", show_default=True, metavar="NAME", help="The Agent's name.")
@click.option(
    "--capacity",
    type=click.IntRange(1, MOST_CAPACITY),
    default=4,
    show_default=True,
    metavar="N",
    help="The requests at once that the Agent is configured with; what it announces prevails.",
)
@click.option("--lease", default="2s", show_default=True, metavar="D", help="The lease of requests, 1 s or longer.")
@click.option("--only", multiple=True, metavar="CHECK", help="Make this check only; may be repeated.")
@click.option("--store", metavar="URL", help="The store of an Agent in Python, which reports its capacity there.")
@json_option
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND …]")
def contract_kit(
    broker: str | None,
    app: str,
    agent: str,
    capacity: int,
    lease: str,
    only: tuple[str, ...],
    store: str | None,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    """Check an Agent in any language against the contract, and exit with 1 when a check fails.

    The kit plays the Scheduler at the broker, and the remote service that the Agent calls. COMMAND is the program of
    the Agent, which the kit starts, kills and restarts; without it, an Agent that already runs is checked, and no
    check of its end is made. No other process of the application may run. See docs/agents-in-other-languages.md.
    """
    address = broker or os.environ.get("STEPWARD_TRANSPORT")
    if not address:
        raise Refused("--broker: expected the address of a broker, found none; give it, or set STEPWARD_TRANSPORT")
    options = BenchOptions(capacity=capacity, lease=_lease(lease), reports_to_store=store is not None)
    run = ContractRun(broker=address, app=app, agent=agent, command=command, options=options, checks=_chosen(only))
    results = asyncio.run(_run(run, store, None if as_json else screen()))
    if as_json:
        print_json([plain(result) for result in results])
    if any(result.state is CheckState.FAILED for result in results):
        raise Silent(FAILED)


async def _run(run: ContractRun, store: str | None, console: Console | None) -> list[CheckResult]:
    """The results; each is printed as it comes if there is a console."""
    environment = Environment()
    results: list[CheckResult] = []
    async with AsyncExitStack() as stack:
        if store is not None:
            run = await _of_store(run, store, environment, stack)
        found = await stack.enter_async_context(aclosing(run_contract(run, environment, os.environ)))
        async for result in found:
            results.append(result)
            if console is not None:
                _print(console, result)
    if console is not None:
        _print_sum(console, results)
    return results


async def _of_store(run: ContractRun, store: str, environment: Environment, stack: AsyncExitStack) -> ContractRun:
    """The run in the name of a store, by its clock."""
    client = await stack.enter_async_context(operator_client(settings_for(store)))
    host = session_of(client).store.host
    fresh = StoreIdentity.drawn(environment.random.randbytes(KEY_BYTES + STORE_BYTES))
    return replace(run, identity=await host.identity(fresh), now=host.now)


def _chosen(only: Sequence[str]) -> Sequence[ContractCheck]:
    known = {check.name: check for check in CHECKS}
    for name in only:
        if name not in known:
            advice = nearest(name, known) or "see stepward contract-kit --help"
            raise Refused(f"--only: expected the name of a check, found {clean(name)[:100]!r}; {advice}")
    return [check for check in CHECKS if not only or check.name in only]


def _lease(given: str) -> float:
    lease = seconds(given, "lease")
    if lease < SHORTEST_LEASE:
        raise Refused(f"--lease: expected {SHORTEST_LEASE:g} s or longer, found {given}; change it")
    return lease


def _print(console: Console, result: CheckResult) -> None:
    sign, style = SIGNS[result.state]
    console.print(Text(f"{sign} {result.check}: {_line(result)}", style=style), soft_wrap=True)


def _line(result: CheckResult) -> str:
    if result.state is CheckState.FAILED:
        return clean(f"expected {result.expected}, found {result.found}; {result.advice}")
    return clean(result.title if result.reason is None else f"skipped: {result.reason}")


def _print_sum(console: Console, results: Sequence[CheckResult]) -> None:
    failed = sum(result.state is CheckState.FAILED for result in results)
    passed = sum(result.state is CheckState.PASSED for result in results)
    said = f"{passed} passed, {failed} failed, {len(results) - passed - failed} skipped"
    console.print(Text(said, style="red" if failed else "green"))
