"""The host of actors: starts them, renews their leases, replaces fenced ones, and ends them in good order."""

from stepward.host.assembly import Parts, Roles
from stepward.host.host import Host
from stepward.host.process_setup import tune_process

__all__ = ["Host", "Parts", "Roles", "tune_process"]
