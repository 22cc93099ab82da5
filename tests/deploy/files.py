"""The deployment files, and what several of their tests look up."""

from __future__ import annotations

from pathlib import Path

import click

import stepward
from stepward.cli.main import cli

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
ORDERS = ROOT / "examples/shop"
CONTAINERFILES = [DEPLOY / "Containerfile", ORDERS / "Containerfile"]
COMPOSE = ORDERS / "compose.yaml"
VERSION = stepward.__version__


def misuse_of_stepward(arguments: list[str]) -> str | None:
    """The error of `stepward ARGUMENTS…`, as the command line itself reports it."""
    command = cli.get_command(click.Context(cli), arguments[0]) if arguments else None
    if command is None:
        return f"stepward has no command {arguments[:1]}"
    try:
        command.make_context(arguments[0], arguments[1:])
    except click.ClickException as error:
        return f"stepward {arguments[0]}: {error.format_message()}"
    return None
