"""``completion``: the script by which a shell completes commands, options, ids and names."""

from __future__ import annotations

import click
from click.shell_completion import add_completion_class, get_completion_class

from stepward.cli.input.bash_words import BashWords

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_STEPWARD_COMPLETE"

add_completion_class(BashWords)


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes commands, ids and names in SHELL: `eval "$(stepward completion bash)"`."""
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"completion: expected one of {', '.join(SHELLS)}, found {shell}")
    click.echo(found(context.find_root().command, {}, "stepward", VARIABLE).source())
