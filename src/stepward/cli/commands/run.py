"""``run``, ``scheduler``, ``agent``, ``submission``, ``supervisor``: actors at work until a signal ends them."""

from __future__ import annotations

import asyncio

import click

from stepward.app import App
from stepward.cli.exit_codes import Silent, code_of
from stepward.cli.input.operator_store import settings_for
from stepward.cli.input.targets import app_or_store, load_app
from stepward.cli.processes.group import MOST_PROCESSES, serve_group
from stepward.cli.processes.logs import log_to_stderr
from stepward.cli.processes.parent_link import ParentLink
from stepward.cli.processes.reloading import serve_reloading
from stepward.cli.processes.serving import EVERY_ACTOR, Actors, serve, serve_tethered
from stepward.errors import DeclarationError, SettingsError, StepwardError
from stepward.supervisor.pass_report import PassReport

app_argument = click.argument("target", metavar="APP")
metrics_option = click.option(
    "--metrics", metavar="HOST:PORT", help="Serve /metrics, /livez and /readyz there; a port alone is on 127.0.0.1."
)
partition_option = click.option(
    "--partition",
    "partitions",
    metavar="NAME",
    multiple=True,
    help="Of several stores serve this one (p1, p2, …); may be repeated. By default all.",
)


@click.command("run")
@app_argument
@click.option(
    "--processes",
    type=click.IntRange(1, MOST_PROCESSES),
    metavar="N",
    help=f"In N child processes, 1 to {MOST_PROCESSES}; one that dies is restarted.",
)
@click.option("--reload", is_flag=True, help="Restart when a Python file of this folder changes, for development.")
@click.option("--child", type=(int, int), hidden=True)
@metrics_option
@partition_option
def run(
    target: str,
    processes: int | None,
    reload: bool,
    child: tuple[int, int] | None,
    metrics: str | None,
    partitions: tuple[str, ...],
) -> None:
    """Run every actor of APP, in this process or in N others; the metrics of process N have port PORT + N - 1."""
    actors = EVERY_ACTOR._replace(partitions=partitions or True)
    if child is not None:
        _run_tethered(target, ParentLink(*child), metrics, actors)
    elif reload:
        if processes is not None:
            raise click.UsageError("run: expected --reload or --processes, found both; leave out one of them")
        metered = [] if metrics is None else ["--metrics", metrics]
        serve_reloading(target, [*metered, *(word for name in partitions for word in ("--partition", name))])
    elif processes is not None:
        serve_group(_measured(load_app(target), metrics), target, processes, actors)
    else:
        serve(_measured(load_app(target), metrics), actors)


@click.command("scheduler")
@app_argument
@metrics_option
@partition_option
def scheduler(target: str, metrics: str | None, partitions: tuple[str, ...]) -> None:
    """Run a Scheduler of APP alone."""
    app = _measured(load_app(target), metrics)
    if app.agents:
        _need_queues(app, "a Scheduler in a process of its own")
    serve(app, Actors(scheduler=True, partitions=partitions or True))


@click.command("agent")
@app_argument
@click.option("--only", multiple=True, metavar="NAME", help="Run this Agent only; may be repeated.")
@metrics_option
@partition_option
def agent(target: str, only: tuple[str, ...], metrics: str | None, partitions: tuple[str, ...]) -> None:
    """Run the Agents of APP alone."""
    app = _measured(load_app(target), metrics)
    _need_queues(app, "Agents in a process of their own")
    serve(app, Actors(agents=only or True, partitions=partitions or True))


@click.command("submission")
@app_argument
@metrics_option
@partition_option
def submission(target: str, metrics: str | None, partitions: tuple[str, ...]) -> None:
    """Run the submissions of APP alone: messages from its queues, and rows of its outboxes, become tasks."""
    app = _measured(load_app(target), metrics)
    if not app.submissions and not app.outboxes:
        raise DeclarationError(
            f"APP {target}: expected an App with a submission, found {app.name} without any; "
            "declare one with app.submission(queue, accept=…), or an outbox with app.relay(address)"
        )
    serve(app, Actors(submission=True, partitions=partitions or True))


@click.command("supervisor")
@click.argument("target", metavar="APP_OR_STORE", required=False)
@click.option("--once", is_flag=True, help="Make one pass, and end (for cron).")
@metrics_option
@partition_option
def supervisor(target: str | None, once: bool, metrics: str | None, partitions: tuple[str, ...]) -> None:
    """Run a Supervisor alone; it needs no code of the application."""
    if once and partitions:
        raise click.UsageError(
            "supervisor: expected --once or --partition, found both; a pass goes over every partition"
        )
    app = _measured(app_or_store(target or settings_for(None).stores_text), metrics)
    if not once:
        serve(app, Actors(supervisor=True, partitions=partitions or True))
        return
    log_to_stderr(app.settings)
    click.echo(_line_of(asyncio.run(app.supervise_once())))


def _measured(app: App, metrics: str | None) -> App:
    """The application, with the address for its metrics that the command names."""
    if metrics is not None:
        app.settings = app.settings.replaced({"metrics": metrics})
    return app


def _run_tethered(target: str, tether: ParentLink, metrics: str | None, actors: Actors) -> None:
    """Run as a child of a process group, which reports errors once for all children."""
    try:
        app = _measured(load_app(target), metrics)
        if app.settings.metrics is not None:
            host, _, port = app.settings.metrics.rpartition(":")
            # Port 0 is any free one, for each process another.
            app = _measured(app, f"{host}:{int(port) + (tether.number - 1 if int(port) else 0)}")
        serve_tethered(app, actors, tether)
    except StepwardError as error:
        tether.failed(str(error))
        raise Silent(code_of(error)) from error


def _need_queues(app: App, who: str) -> None:
    if app.settings.transport == "local":
        raise SettingsError(
            f"transport: expected store for {who}, found local, whose queues no other process sees; "
            "set STEPWARD_TRANSPORT=store, or use `stepward run`"
        )


def _line_of(report: PassReport) -> str:
    """The report of a pass, in words."""
    if not report.led:
        return "Another Supervisor leads: nothing was done here."
    counts = {
        "instances fenced": report.fenced,
        "tasks freed": report.freed,
        "steps judged": report.judged,
        "tasks expired": report.expired_tasks,
        "alerts raised for unserved work": report.unserved,
        "alerts delivered": report.delivered,
        "alerts refused": report.refused,
        "tasks purged": report.purged,
    }
    done = [f"{count} {what}" for what, count in counts.items() if count]
    return f"One pass: {', '.join(done) or 'nothing was due'}."
