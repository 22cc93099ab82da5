"""The command ``stepward``, and the sections of its help."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import click

from stepward.cli.commands.console import console
from stepward.cli.commands.contract_kit import contract_kit
from stepward.cli.commands.init import init
from stepward.cli.commands.mcp import mcp
from stepward.cli.commands.replay import replay
from stepward.cli.commands.run import agent, run, scheduler, submission, supervisor
from stepward.cli.commands.shell_completion import completion
from stepward.cli.commands.store.check import check
from stepward.cli.commands.store.grant import grant
from stepward.cli.commands.store.keys import key_uses
from stepward.cli.commands.store.migrate import migrate
from stepward.cli.commands.store.partitions import partitions
from stepward.cli.commands.store.purge import purge
from stepward.cli.commands.store.version import version
from stepward.cli.commands.system.agents import agents
from stepward.cli.commands.system.alerts import alerts
from stepward.cli.commands.system.api_tokens import token
from stepward.cli.commands.system.audit import audit
from stepward.cli.commands.system.dead_letters import dead_letters
from stepward.cli.commands.system.instances import drain, instances
from stepward.cli.commands.system.limit import limit
from stepward.cli.commands.system.queues import events, post
from stepward.cli.commands.system.schedules import schedules
from stepward.cli.commands.system.webhooks import webhooks
from stepward.cli.commands.tasks.batch import batch
from stepward.cli.commands.tasks.complete import complete, fail
from stepward.cli.commands.tasks.delete import delete
from stepward.cli.commands.tasks.directives import cancel, mark_done, resubmit, resume, suspend, undo
from stepward.cli.commands.tasks.fork import fork
from stepward.cli.commands.tasks.history import history
from stepward.cli.commands.tasks.show import show
from stepward.cli.commands.tasks.steps import steps
from stepward.cli.commands.tasks.submit import signal, submit, update
from stepward.cli.commands.tasks.task_list import tasks
from stepward.cli.exit_codes import DONE, exit_code
from stepward.cli.input.passwords import warning
from stepward.cli.processes.bounded_exit import bound_end

SECTIONS: dict[str, tuple[click.Command, ...]] = {
    "Run": (init, run, scheduler, agent, submission, supervisor, console, mcp),
    "Give": (submit, post, signal, update, complete, fail),
    "Look": (
        *(tasks, show, steps, history, events, alerts, dead_letters, webhooks),
        *(instances, agents, limit, schedules, audit),
    ),
    "Act": (resubmit, undo, cancel, suspend, resume, mark_done, fork, batch, drain),
    "Keep": (
        *(check, replay, contract_kit, token, grant, key_uses, purge, delete),
        *(migrate, partitions, version, completion),
    ),
}


class Commands(click.Group):
    """The commands in sections; every error is one line on stderr and an exit code."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        run_command = super().main
        extra["standalone_mode"] = False
        sys.exit(exit_code(lambda: run_command(*args, **extra)))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by section."""
        longest = max(len(command.name or "") for section in SECTIONS.values() for command in section)
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [((each.name or "").ljust(longest), each.get_short_help_str(100)) for each in commands]
                )


@click.group(
    "stepward", cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="stepward", message="stepward %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Durable tasks: a Scheduler runs their steps through Agents, a Supervisor has what fails repeated or undone.

    APP is module:attribute or path.py:attribute. Exit codes: 0 done, 1 the command failed,
    2 wrong usage or settings, 3 the store or the broker cannot be reached.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _section in SECTIONS.values():
    for _command in _section:
        cli.add_command(_command)


def main() -> NoReturn:
    """Run the command line as a process of its own."""
    if said := warning(sys.argv[1:]):
        click.echo(said, err=True)
    try:
        cli.main(prog_name="stepward")
    except SystemExit as end:
        bound_end(end.code if isinstance(end.code, int) else DONE)
        raise
