"""The scheme of a broker's address: hosts of Azure Service Bus are named by ``sb://`` alone."""

from __future__ import annotations

from collections.abc import Iterable

from stepward.errors import SettingsError

SERVICE_BUS = ".servicebus.windows.net"


def check_not_service_bus(hosts: Iterable[str | None]) -> None:
    """Raise SettingsError for a host of Azure Service Bus, which another scheme of addresses names."""
    found = next((host for host in hosts if host is not None and host.endswith(SERVICE_BUS)), None)
    if found is not None:
        raise SettingsError(
            f"transport: expected sb:// for the namespace {found[:100]} of Azure Service Bus, found another scheme; "
            f"write sb://POLICY:KEY@{found[:100]}, or sb://{found[:100]} for an identity of Microsoft Entra"
        )
