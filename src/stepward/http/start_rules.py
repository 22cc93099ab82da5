"""The conditions for starting the console: on loopback without more, elsewhere only with TLS and authentication."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from msgspec import Struct

from stepward.errors import SettingsError
from stepward.http.access.access_rules import AccessRules


class ListenAddress(Struct, frozen=True, kw_only=True):
    """The host and port that the server listens on."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this host can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


class StartPlan(Struct, frozen=True, kw_only=True):
    """The settings to start the console with."""

    address: ListenAddress
    certificate: str | None = None
    key: str | None = None
    proxy: str | None = None
    url: str | None = None
    has_provider: bool = False
    """Whether an OpenID provider is set up."""
    has_tokens: bool = False
    """Whether a live API token exists."""

    @property
    def shown(self) -> str:
        """The address at which browsers reach the console."""
        name = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
        scheme = "http" if self.certificate is None else "https"
        return self.url or f"{scheme}://{name}:{self.address.port}"


def access_rules(plan: StartPlan) -> AccessRules:
    """The access rules of a console with these settings. Raises SettingsError if other hosts could reach it without
    TLS or authentication."""
    if (plan.certificate is None) != (plan.key is None):
        raise SettingsError("console: expected --tls-cert and --tls-key together, found one of them; give both")
    is_alone = plan.address.is_loopback and plan.proxy is None and plan.certificate is None
    if is_alone and plan.url is None:
        return AccessRules(local_admin=not plan.has_provider)
    _check_encrypted(plan)
    if not (plan.has_provider or plan.has_tokens):
        raise SettingsError(
            "console: expected a way to prove who one is where others reach it, found no token and no OpenID provider; "
            "run: stepward token create --role admin NAME"
        )
    return AccessRules(proxy=plan.proxy, url=plan.url)


def _check_encrypted(plan: StartPlan) -> None:
    if plan.certificate is None and plan.proxy is None:
        raise SettingsError(
            "console: expected TLS (--tls-cert and --tls-key) or a proxy that ends it (--proxy and --url) to be "
            f"reached at {plan.shown[:200]}, found neither; give one, or listen on 127.0.0.1"
        )
    if plan.proxy is not None and plan.url is None:
        raise SettingsError("console: expected --url beside --proxy, found none; give the address that browsers use")
    if plan.url is not None and (urlsplit(plan.url).scheme != "https" or not urlsplit(plan.url).hostname):
        raise SettingsError(f"--url: expected an https:// address, found {plan.url[:100]!r}; correct it")
    if plan.proxy is not None:
        try:
            ipaddress.ip_network(plan.proxy, strict=False)
        except ValueError:
            raise SettingsError(
                f"--proxy: expected an address or a network such as 10.0.0.0/24, found {plan.proxy[:60]!r}; correct it"
            ) from None
