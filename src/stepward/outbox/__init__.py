"""The outbox: tasks requested in transactions of a database that is not the store, and carried over from there."""

from stepward.outbox.outbox import Outbox, SyncOutbox
from stepward.outbox.outbox_address import check_outbox
from stepward.outbox.process_relays import relaying
from stepward.outbox.relay import Relay
from stepward.outbox.tables import outbox_table

__all__ = ["Outbox", "Relay", "SyncOutbox", "check_outbox", "outbox_table", "relaying"]
