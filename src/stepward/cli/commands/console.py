"""``console``: the HTTP API and the web console of a store."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from stepward.app import App
from stepward.cli.exit_codes import FAILED, Silent, complain
from stepward.cli.input.operator_store import operator_client_of, settings_for
from stepward.cli.input.targets import app_or_store
from stepward.cli.processes.logs import log_to_stderr
from stepward.client import session_of
from stepward.errors import SettingsError
from stepward.http.start_rules import ListenAddress, StartPlan, access_rules
from stepward.model.credentials import AccessRole
from stepward.mounting import check_extra, mounted

if TYPE_CHECKING:
    from stepward.http.sign_in.openid import OpenIdProvider

PORT = 8321
SECRET = "STEPWARD_OPENID_SECRET"  # noqa: S105  the name of a variable
WITH_PAYLOADS = "+payloads"


@click.command("console")
@click.argument("target", metavar="[APP_OR_STORE]", required=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="The port to listen on.")
@click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False), help="The certificate chain, as PEM.")
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="Its private key, as PEM.")
@click.option("--proxy", metavar="ADDRESS", help="The address or network of a proxy that ends TLS.")
@click.option("--url", metavar="URL", help="The https address at which browsers reach it.")
@click.option(
    "--oidc-issuer", metavar="URL", help=f"An OpenID provider to sign in at; its client's secret is ${SECRET}."
)
@click.option("--oidc-client-id", metavar="ID", help="The id of the client at the provider.")
@click.option(
    "--oidc-claim", metavar="NAME", default="groups", show_default=True, help="The claim whose values stand for roles."
)
@click.option("--oidc-role", "oidc_roles", metavar="V=ROLE", multiple=True, help="The role that a value stands for.")
def console(
    target: str | None,
    host: str,
    port: int,
    tls_cert: str | None,
    tls_key: str | None,
    proxy: str | None,
    url: str | None,
    oidc_issuer: str | None,
    oidc_client_id: str | None,
    oidc_claim: str,
    oidc_roles: tuple[str, ...],
) -> None:
    """Serve the HTTP API and the web console.

    On 127.0.0.1 every user of this host has the role admin; on any other address it needs TLS, or a proxy that ends it,
    and tokens or an OpenID provider. ROLE may end in +payloads: inputs, outputs and errors are shown.
    """
    check_extra("console")
    app = app_or_store(target or settings_for(None).stores_text)
    address = ListenAddress(host=host, port=port)
    plan = StartPlan(
        address=address,
        certificate=tls_cert,
        key=tls_key,
        proxy=proxy,
        url=url,
        has_provider=oidc_issuer is not None,
        has_tokens=asyncio.run(_has_tokens(app)),
    )
    rules = replace(access_rules(plan), two_person=app.settings.two_person)
    provider = _provider(plan, oidc_issuer, oidc_client_id, oidc_claim, oidc_roles)
    _serve(app, plan, mounted(lambda: operator_client_of(app), rules, provider, app.settings.hooks))


def _serve(app: App, plan: StartPlan, application: object) -> None:
    from stepward.http.uvicorn_server import serve  # noqa: PLC0415  an extra's

    log_to_stderr(app.settings)
    click.echo(f"Stepward's console: {plan.shown}/ (Ctrl-C ends it)", err=True)
    if not serve(application, plan):  # type: ignore[arg-type]
        complain(f"console: expected to listen on {plan.shown}, found it taken or not ours; choose another --port")
        raise Silent(FAILED)


async def _has_tokens(app: App) -> bool:
    async with operator_client_of(app) as client:
        store = session_of(client).store
        return any(each.is_live(store.now()) for each in await store.operators.credentials())


def _provider(
    plan: StartPlan, issuer: str | None, client_id: str | None, claim: str, roles: tuple[str, ...]
) -> OpenIdProvider | None:
    if issuer is None:
        return None
    if client_id is None:
        raise SettingsError("console: expected --oidc-client-id beside --oidc-issuer, found none; give it")
    from stepward.http.sign_in.openid import OpenIdProvider, OpenIdSettings  # noqa: PLC0415  an extra's

    settings = OpenIdSettings(
        issuer=issuer,
        client_id=client_id,
        client_secret=os.environ.get(SECRET),
        claim=claim,
        roles=dict(_role(each) for each in roles),
    )
    return OpenIdProvider(settings, f"{plan.shown}/login/callback")


def _role(text: str) -> tuple[str, tuple[AccessRole, bool]]:
    value, equals, role = text.rpartition("=")
    name = role.removesuffix(WITH_PAYLOADS)
    if not (value and equals) or name not in list(AccessRole):
        known = ", ".join(AccessRole)
        raise SettingsError(f"--oidc-role: expected VALUE=ROLE with one of {known}, found {text[:60]!r}; correct it")
    return value, (AccessRole(name), role.endswith(WITH_PAYLOADS))
