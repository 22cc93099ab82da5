"""A whole run over a real broker: the service, the connection, the process of the Agent, the checks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from msgspec import Struct

from stepward.clock import Environment
from stepward.contract_kit.agent_process import AgentCommand
from stepward.contract_kit.bench import BenchOptions, ContractBench
from stepward.contract_kit.catalogue import ContractCheck
from stepward.contract_kit.check_sequence import CheckResult, check_contract
from stepward.contract_kit.checked_service import CheckedService
from stepward.contract_kit.http_service import serving
from stepward.contract_kit.observed_changes import Changes
from stepward.contract_kit.scheduler_role import SchedulerRole
from stepward.events import Observers
from stepward.model.messages.signing import KEY_BYTES, STORE_BYTES, Signer, StoreIdentity
from stepward.transport.open_broker import broker_at

STORE = "c" * 2 * STORE_BYTES
"""The store of the kit's requests: the same in every run, because a broker keeps the store of an application."""


class ContractRun(Struct, frozen=True, kw_only=True):
    """What a run checks, and over which broker."""

    broker: str
    app: str
    agent: str
    command: Sequence[str]
    """The program of the Agent with its arguments; empty for one that already runs."""
    options: BenchOptions
    checks: Sequence[ContractCheck]
    identity: StoreIdentity | None = None
    """Of the store that an Agent in Python uses; None for the kit's own."""
    now: Callable[[], float] | None = None
    """The clock by which the Agent judges deadlines; None for the host's."""


async def run_contract(
    run: ContractRun, environment: Environment, variables: Mapping[str, str]
) -> AsyncGenerator[CheckResult, None]:
    """The results as the checks end; ``variables`` are the Agent's environment, beside the kit's own.

    Raises SettingsError or TransportError.
    """
    now = run.now or environment.clock.wall
    identity = run.identity or StoreIdentity(STORE, environment.random.randbytes(KEY_BYTES))
    changes = Changes()
    service = CheckedService(now, changes)
    broker = broker_at(run.broker, app=run.app, now=now, environment=environment, observers=Observers())
    scheduler = SchedulerRole(
        broker,
        app=run.app,
        agent=run.agent,
        signer=Signer(identity),
        lease=run.options.lease,
        now=now,
        new_uid=environment.new_uid,
        changes=changes,
    )
    async with serving(service) as address:
        process = (
            AgentCommand(run.command, {**variables, **variables_of(run, identity, address)}) if run.command else None
        )
        try:
            await scheduler.open()
            async for result in check_contract(
                ContractBench(scheduler, service, process, changes, run.options), run.checks
            ):
                yield result
        finally:
            if process is not None:
                await process.kill()
            await scheduler.close()


def variables_of(run: ContractRun, identity: StoreIdentity, service: str) -> dict[str, str]:
    """The variables that configure the Agent."""
    return {
        "STEPWARD_TRANSPORT": run.broker,
        "STEPWARD_LEASE": f"{run.options.lease:g}s",
        "CONTRACT_APP": run.app,
        "CONTRACT_AGENT": run.agent,
        "CONTRACT_SERVICE": service,
        "CONTRACT_CAPACITY": str(run.options.capacity),
        "CONTRACT_STORE": identity.store,
    }
