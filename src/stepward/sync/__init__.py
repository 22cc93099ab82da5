"""The blocking facade: one async core, driven from a thread of its own."""

from stepward.sync.alert_sinks import SyncAlertSinks
from stepward.sync.batches import SyncBatches
from stepward.sync.client import SyncClient
from stepward.sync.handle import SyncTaskHandle
from stepward.sync.queues import SyncEvents, SyncQueues
from stepward.sync.transaction import SyncTransaction

__all__ = [
    "SyncAlertSinks",
    "SyncBatches",
    "SyncClient",
    "SyncEvents",
    "SyncQueues",
    "SyncTaskHandle",
    "SyncTransaction",
]
