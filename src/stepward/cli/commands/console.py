"""``console``: the HTTP API and the web console of a store."""

from __future__ import annotations

import click

from stepward.cli.input.operator_store import settings_for
from stepward.cli.input.targets import app_or_store
from stepward.cli.processes.logs import log_to_stderr

PORT = 8321


@click.command("console")
@click.argument("target", metavar="[APP_OR_STORE]", required=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="The port to listen on.")
def console(target: str | None, host: str, port: int) -> None:
    """Serve the HTTP API and the web console.

    On 127.0.0.1 whoever reaches it is an admin: it is for the host of the operator.
    """
    app = app_or_store(target or settings_for(None).store)
    served = app.asgi(local_admin=True)
    # Only now is it known that the extra is installed.
    from stepward.http.serving import ListenAddress, check_address, serve  # noqa: PLC0415  an extra's

    address = ListenAddress(host=host, port=port)
    check_address(address)
    log_to_stderr(app.settings.log_level)
    click.echo(f"Stepward's console: {address}/ (Ctrl-C ends it)", err=True)
    serve(served, address)
