"""The operators' part of a store that is made of several, one module for each subject."""

from __future__ import annotations

from stepward.store.partitions.operators.agents_and_limits import PartitionedAgents
from stepward.store.partitions.operators.alerts import PartitionedAlerts
from stepward.store.partitions.operators.audit import PartitionedAudit
from stepward.store.partitions.operators.batches import PartitionedBatches
from stepward.store.partitions.operators.credentials import PartitionedCredentials
from stepward.store.partitions.operators.dead_letters import PartitionedDeadLetters
from stepward.store.partitions.operators.schedules import PartitionedSchedules
from stepward.store.partitions.operators.tasks_and_figures import PartitionedFigures
from stepward.store.partitions.operators.webhooks import PartitionedWebhooks


class PartitionedOperators(
    PartitionedAlerts,
    PartitionedWebhooks,
    PartitionedDeadLetters,
    PartitionedAgents,
    PartitionedCredentials,
    PartitionedAudit,
    PartitionedSchedules,
    PartitionedBatches,
    PartitionedFigures,
):
    """Implements ``OperatorStore`` over partitions."""
