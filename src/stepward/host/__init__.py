"""The host of actors: starts them, keeps their leases, replaces what was fenced, ends them in good order."""

from stepward.host.host import Host
from stepward.host.parts import Parts, Roles

__all__ = ["Host", "Parts", "Roles"]
