"""The host of actors: starts them, renews their leases, replaces fenced ones, and ends them in good order."""

from stepward.host.assembly import Parts, Roles
from stepward.host.garbage_collection import tune_process
from stepward.host.host import Host
from stepward.host.partition_place import PartitionPlace, place_of

__all__ = ["Host", "PartitionPlace", "Parts", "Roles", "place_of", "tune_process"]
