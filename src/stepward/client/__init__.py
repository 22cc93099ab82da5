"""The applications' door: submit tasks, follow them, and act on them."""

from stepward.client.agent_status import AgentStatus
from stepward.client.alert_sinks import AlertSinks
from stepward.client.batches.batches import Batches
from stepward.client.batches.preview import BatchPreview
from stepward.client.client import Client, client_on, session_of
from stepward.client.dry_run import refusal, would_work
from stepward.client.handle import TaskHandle
from stepward.client.limits import LimitStatus
from stepward.client.live.live_values import UNSET
from stepward.client.queues.events import StatusEvent, StatusEvents
from stepward.client.queues.queues import Queues
from stepward.client.repairs import RepairPreview
from stepward.client.session import ClientSession
from stepward.client.submitting.in_transaction import Prepared
from stepward.client.submitting.known_options import Options
from stepward.client.submitting.submissions import Preparation
from stepward.client.task_pages import Page
from stepward.client.task_status import StepRecord, TaskStatus
from stepward.client.waiting.task_endings import Endings

__all__ = [
    "UNSET",
    "AgentStatus",
    "AlertSinks",
    "BatchPreview",
    "Batches",
    "Client",
    "ClientSession",
    "Endings",
    "LimitStatus",
    "Options",
    "Page",
    "Preparation",
    "Prepared",
    "Queues",
    "RepairPreview",
    "StatusEvent",
    "StatusEvents",
    "StepRecord",
    "TaskHandle",
    "TaskStatus",
    "client_on",
    "refusal",
    "session_of",
    "would_work",
]
