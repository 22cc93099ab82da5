"""The applications' door: submit tasks, follow them, and act on them."""

from stepward.client.agents import AgentStatus
from stepward.client.client import Client
from stepward.client.events import StatusEvent
from stepward.client.handle import UNSET, TaskHandle, TaskStatus
from stepward.client.preparation import Options, Preparation
from stepward.client.queues import Queues
from stepward.client.repairing import RepairPreview
from stepward.client.trying import refusal, would_work
from stepward.client.waiting import Endings
from stepward.client.within import Prepared

__all__ = [
    "UNSET",
    "AgentStatus",
    "Client",
    "Endings",
    "Options",
    "Preparation",
    "Prepared",
    "Queues",
    "RepairPreview",
    "StatusEvent",
    "TaskHandle",
    "TaskStatus",
    "refusal",
    "would_work",
]
