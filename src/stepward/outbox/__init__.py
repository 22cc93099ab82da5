"""The outbox: tasks asked for in the transactions of a database where the store is not, and carried over from there."""

from stepward.outbox.opening import check_outbox
from stepward.outbox.outbox import Outbox, SyncOutbox
from stepward.outbox.relay import Relay
from stepward.outbox.running import relaying
from stepward.outbox.tables import outbox_table

__all__ = ["Outbox", "Relay", "SyncOutbox", "check_outbox", "outbox_table", "relaying"]
