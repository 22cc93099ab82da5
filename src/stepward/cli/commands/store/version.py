"""``version``: the versions of Stepward and of what it runs on."""

from __future__ import annotations

import platform

import apsw
import click

import stepward
from stepward.cli.input.operator_store import json_option
from stepward.cli.output.json_output import print_json


@click.command("version", epilog="Keys under --json: stepward, python, sqlite.")
@json_option
def version(as_json: bool) -> None:
    """Print the version of Stepward and of what it runs on."""
    versions = {
        "stepward": stepward.__version__,
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
    }
    if as_json:
        print_json(versions)
    else:
        click.echo(f"stepward {versions['stepward']} (Python {versions['python']}, SQLite {versions['sqlite']})")
