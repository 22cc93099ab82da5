"""``manage.py stepward run``, ``manage.py stepward tasks`` …: the command line, on the project's App and its store."""

from __future__ import annotations

import os
from typing import Any, NoReturn

import click
from django.core.management.base import BaseCommand

from stepward.cli.main import cli
from stepward.integrations.django.client import stepward_app

TARGET = "stepward.integrations.django.target:app"


class Command(BaseCommand):
    """Passes its arguments on; a command that takes APP gets the project's."""

    help = "Runs a command of Stepward for the App that STEPWARD_APP names: manage.py stepward run"

    def run_from_argv(self, argv: list[str]) -> NoReturn:
        """Run the command of those words, which may have options of Stepward's own."""
        os.environ["STEPWARD_STORE"] = stepward_app().settings.stores_text
        cli.main(args=with_target(argv[2:]), prog_name="manage.py stepward")

    def handle(self, *args: Any, **options: Any) -> NoReturn:
        """Run the command of those words, for ``call_command("stepward", …)``."""
        self.run_from_argv(["manage.py", "stepward", *args])


def with_target(words: list[str]) -> list[str]:
    """The words with the project's App where the command takes one."""
    command = cli.commands.get(words[0]) if words else None
    if command is None or not _takes_target(command):
        return words
    return [words[0], TARGET, *words[1:]]


def _takes_target(command: click.Command) -> bool:
    return any(isinstance(each, click.Argument) and each.name == "target" for each in command.params)
