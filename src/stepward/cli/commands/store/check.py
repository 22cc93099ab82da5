"""``check``: the settings, the store, the running instances, and where they differ."""

from __future__ import annotations

import asyncio

import click
from msgspec import Struct, structs, to_builtins
from rich.console import Console
from rich.text import Text

from stepward.app import App
from stepward.cli.check_findings import code_fit, postgres_server, version_diff
from stepward.cli.commands.system.instances import INSTANCE_COLUMNS, instance_row
from stepward.cli.exit_codes import DONE, FAILED, Silent, code_of
from stepward.cli.input.operator_store import json_option, operator_client, settings_for, store_option
from stepward.cli.input.targets import load_app
from stepward.cli.output.json_output import plain, print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table, screen
from stepward.client import session_of
from stepward.client.agent_status import APART_SECONDS, is_apart, is_late
from stepward.errors import StoreError
from stepward.model.records import Instance
from stepward.observers.declared_sinks import sinks_of
from stepward.settings import Settings
from stepward.store.address import shown
from stepward.store.contract import Identity, Server
from stepward.store.partitions.single_or_partitioned import identify_any, missing_in
from stepward.store.store_at_address import inspect
from stepward.views.printable import clean
from stepward.views.reasons import system_hindrances

SETTING_COLUMNS = (
    Column(name="SETTING", least=12),
    Column(name="VALUE", least=16, middle=True),
    Column(name="SOURCE", least=8),
)


class Findings(Struct, kw_only=True):
    """The findings of a check; ``code`` is the resulting exit code."""

    settings: Settings
    identity: Identity | None = None
    server: Server | None = None
    instances: list[Instance] = []
    problems: list[str] = []
    warnings: list[str] = []
    versions: list[str] = []
    """Lines about tasks of older versions of APP's workflows that have not ended."""
    now: float = 0.0
    code: int = DONE


@click.command("check", epilog="Keys under --json: settings, store, server, instances, problems, warnings, versions.")
@click.argument("target", metavar="[APP]", required=False)
@json_option
@store_option
def check(target: str | None, as_json: bool, store: str | None) -> None:
    """Check settings, store, server and instances; exit 1 when something is wrong.

    Open alerts, silent instances and live tasks that no instance serves are wrong too; warnings leave the exit code 0.
    With APP its workflows are compared with what the store has registered, live tasks are replayed with its code, and
    older versions whose tasks have all ended are named.
    """
    app = load_app(target) if target is not None else None
    settings = settings_for(store) if app is None else app.settings
    if app is not None and store is not None:
        settings = settings.replaced({"store": store})
    sinks_of(settings)
    findings = asyncio.run(_look(settings, app))
    if as_json:
        print_json(_fields(findings))
    else:
        _print(screen(), findings)
    if findings.code != DONE:
        raise Silent(findings.code)


async def _look(settings: Settings, app: App | None) -> Findings:
    try:
        identity = identify_any(settings.stores)
        if app is not None and app.name != identity.app:
            wrong = f"store {shown(settings.store)}: expected the app {app.name!r}, found the store of {identity.app!r}"
            return Findings(settings=settings, identity=identity, problems=[wrong], code=FAILED)
        return await _compare(settings, identity, app)
    except StoreError as error:
        return Findings(settings=settings, problems=[str(error)], code=code_of(error))


async def _compare(settings: Settings, identity: Identity, app: App | None) -> Findings:
    found = inspect(settings.store) if len(settings.stores) == 1 else None
    async with operator_client(settings) as client:
        instances, now = await client.instances(), session_of(client).store.now()
        at_work = [each for each in instances if each.alive and not is_late(each, now)]
        tasks = await system_hindrances.live_tasks(client)
        problems = [
            *system_hindrances.silent_instances(instances, now),
            *system_hindrances.unserved_workflows(tasks, at_work),
            *system_hindrances.unserved_agents(await client.agents()),
            *system_hindrances.open_alerts(await client.alerts(system_hindrances.MOST), now),
            *version_diff.between_schedulers(at_work),
            *(f"{name}: {why}" for name, why in missing_in(session_of(client).store).items()),
        ]
        if app is not None:
            problems += version_diff.from_registered(
                app.registry.records(), await session_of(client).store.client.workflows()
            )
            problems += await code_fit.misfits(client, app.registry, tasks)
        if found is not None:
            problems += postgres_server.problems(found, settings)
        return Findings(
            settings=settings,
            identity=identity,
            server=found,
            instances=instances,
            problems=problems,
            warnings=[
                *system_hindrances.missing_supervisor(tasks, at_work),
                *system_hindrances.late_leases(instances, now),
                *([] if found is None else postgres_server.warnings(found, settings, instances)),
                *_stuck(at_work),
                *_apart(at_work),
            ],
            versions=[] if app is None else await code_fit.versions(client, app.registry),
            now=now,
            code=FAILED if problems else DONE,
        )


def _stuck(instances: list[Instance]) -> list[str]:
    """Live instances with slots lost to code that does not stop."""
    return [
        f"instance {each.id} (process {each.pid} on {each.host}): expected every call of {health.agent} to stop at its "
        f"complete-by, found {health.stuck} of {health.capacity} that do not; look at their code, and end the process"
        for each in instances
        for health in each.health
        if health.stuck
    ]


def _apart(instances: list[Instance]) -> list[str]:
    """Hosts of live instances whose wall clock differs from the store's: times in their logs and displays are off
    by that."""
    hosts = {each.host: each.ahead for each in instances if is_apart(each) and each.ahead is not None}
    return [
        f"host {host}: expected a wall clock within {APART_SECONDS:g} s of the store's, found it {abs(ahead):,.1f} s "
        f"{'ahead' if ahead > 0 else 'behind'}; tasks follow the store's, but its logs do not: set it by NTP"
        for host, ahead in sorted(hosts.items())
    ]


def _fields(findings: Findings) -> dict[str, object]:
    identity = findings.identity
    return {
        "settings": [described._asdict() for described in findings.settings.describe()],
        "store": None if identity is None else structs.asdict(identity),
        "server": None if findings.server is None else to_builtins(findings.server),
        "instances": [plain(instance) for instance in findings.instances],
        "problems": findings.problems,
        "warnings": findings.warnings,
        "versions": findings.versions,
    }


def _print(console: Console, findings: Findings) -> None:
    rows = [
        [Cell(name), Cell(value), Cell(source, "dim" if source == "default" else "cyan")]
        for name, value, source in findings.settings.describe()
    ]
    print_table(SETTING_COLUMNS, rows, "")
    if findings.identity is not None:
        who = findings.identity
        version = f"schema version {who.schema_version} of {who.newest_version}"
        ident = "" if who.id is None else f", identity {clean(who.id)}"
        console.print(Text(f"\nStore of {clean(who.app)}, {version}{ident}", style="bold"))
        if findings.server is not None:
            postgres_server.print_server(console, findings.server)
        live = [instance_row(each, findings.now) for each in findings.instances if each.alive]
        print_table(INSTANCE_COLUMNS, live, "No instance is alive.", title="Live instances")
    console.print()
    for version in findings.versions:
        console.print(Text(f"· {clean(version)}"))
    for warning in findings.warnings:
        console.print(Text(f"! {clean(warning)}", style="yellow"))
    for problem in findings.problems:
        console.print(Text(f"✗ {clean(problem)}", style="red"))
    console.print(_last_line(len(findings.problems), len(findings.warnings)))


def _last_line(problems: int, warnings: int) -> Text:
    counted = f"{warnings} warning{'' if warnings == 1 else 's'}"
    if problems:
        more = f", and {counted}" if warnings else ""
        return Text(f"✗ {problems} {'thing is' if problems == 1 else 'things are'} wrong{more}.", style="red")
    return Text(f"! {counted}; nothing else is wrong.", "yellow") if warnings else Text("✓ Nothing is wrong.", "green")
