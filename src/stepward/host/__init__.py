"""The host of actors: starts them, keeps their leases, replaces what was fenced, ends them in good order."""

from stepward.host.host import Host
from stepward.host.parts import Parts, Roles
from stepward.host.process import tune_process

__all__ = ["Host", "Parts", "Roles", "tune_process"]
