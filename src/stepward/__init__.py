"""Stepward: the Scheduler Agent Supervisor pattern, durable tasks that end whole.

An application submits tasks; a Scheduler runs their steps through Agents that wrap remote services; a Supervisor
has what failed or ran out of time repeated, undone or brought to an operator.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from stepward.agent.declaration import Agent
from stepward.app import App
from stepward.client import (
    UNSET,
    AgentStatus,
    AlertSinks,
    Batches,
    BatchPreview,
    Client,
    LimitStatus,
    Page,
    Queues,
    RepairPreview,
    StatusEvent,
    StatusEvents,
    StepRecord,
    TaskHandle,
    TaskStatus,
)
from stepward.encryption import Encryption
from stepward.errors import (
    AgentNotFound,
    BatchNotFound,
    CommitUnknown,
    CompletionRefused,
    IllegalTransition,
    InstanceNotFound,
    InvalidFilter,
    LeaseLapsed,
    NonDeterministic,
    Refused,
    ScheduleNotFound,
    SinkNotFound,
    StepFailed,
    StepwardError,
    StoreError,
    StoreUnavailable,
    TaskCancelled,
    TaskConflict,
    TaskFailed,
    TaskNotFound,
    TaskUndone,
    TransportError,
    Unacceptable,
    Unrecoverable,
    UpdateRejected,
    UpdateUnanswered,
    ValueNotFound,
)
from stepward.http.asgi import AsgiApplication
from stepward.large_payloads import LargePayloads
from stepward.model.agent_stats import AgentStats
from stepward.model.alerts.alert_routing import AlertReceipt, ReportedSink
from stepward.model.alerts.silences import AlertSilence
from stepward.model.current_step import CurrentStep, current_step
from stepward.model.messages.webhook_retries import Webhook
from stepward.model.records import Alert, Audit, DeadLetter, Instance
from stepward.model.schedule import Schedule
from stepward.model.states import StepState, TaskState
from stepward.model.tasks.key_rules import Collect, Debounce, Singleton, Throttle
from stepward.model.tasks.submit_options import SubmitOptions
from stepward.outbox import Outbox, SyncOutbox, outbox_table
from stepward.payload.secret_values import Secret
from stepward.policies import Backoff, CircuitBreaker, Limit, LongWait, Retry, Supervision
from stepward.store.contract import Batch, StepTransaction, TaskCount, Transaction
from stepward.submission import Accepted, Message
from stepward.sync import (
    SyncAlertSinks,
    SyncBatches,
    SyncClient,
    SyncEvents,
    SyncQueues,
    SyncTaskHandle,
    SyncTransaction,
)
from stepward.workflow.definition import step, workflow
from stepward.workflow.functions import (
    CurrentTask,
    continue_as_new,
    current_task,
    now,
    patched,
    random,
    set_attributes,
    side_effect,
    uuid4,
    wait_for,
    workflow_logger,
)
from stepward.workflow.live_values import ValueStream, publish, stream
from stepward.workflow.pipeline.pipeline import Pipeline
from stepward.workflow.pipeline.stages import From, Given, Stage
from stepward.workflow.waits.updates import Update, wait_for_update

if TYPE_CHECKING:
    # Type checkers see what __getattr__ imports when it is asked for.
    from stepward.agent.http.http_agent import HttpAgent as HttpAgent

__version__ = "0.1.0"

__all__ = [
    "UNSET",
    "Accepted",
    "Agent",
    "AgentNotFound",
    "AgentStats",
    "AgentStatus",
    "Alert",
    "AlertReceipt",
    "AlertSilence",
    "AlertSinks",
    "App",
    "AsgiApplication",
    "Audit",
    "Backoff",
    "Batch",
    "BatchNotFound",
    "BatchPreview",
    "Batches",
    "CircuitBreaker",
    "Client",
    "Collect",
    "CommitUnknown",
    "CompletionRefused",
    "CurrentStep",
    "CurrentTask",
    "DeadLetter",
    "Debounce",
    "Encryption",
    "From",
    "Given",
    "HttpAgent",
    "IllegalTransition",
    "Instance",
    "InstanceNotFound",
    "InvalidFilter",
    "LargePayloads",
    "LeaseLapsed",
    "Limit",
    "LimitStatus",
    "LongWait",
    "Message",
    "NonDeterministic",
    "Outbox",
    "Page",
    "Pipeline",
    "Queues",
    "Refused",
    "RepairPreview",
    "ReportedSink",
    "Retry",
    "Schedule",
    "ScheduleNotFound",
    "Secret",
    "Singleton",
    "SinkNotFound",
    "Stage",
    "StatusEvent",
    "StatusEvents",
    "StepFailed",
    "StepRecord",
    "StepState",
    "StepTransaction",
    "StepwardError",
    "StoreError",
    "StoreUnavailable",
    "SubmitOptions",
    "Supervision",
    "SyncAlertSinks",
    "SyncBatches",
    "SyncClient",
    "SyncEvents",
    "SyncOutbox",
    "SyncQueues",
    "SyncTaskHandle",
    "SyncTransaction",
    "TaskCancelled",
    "TaskConflict",
    "TaskCount",
    "TaskFailed",
    "TaskHandle",
    "TaskNotFound",
    "TaskState",
    "TaskStatus",
    "TaskUndone",
    "Throttle",
    "Transaction",
    "TransportError",
    "Unacceptable",
    "Unrecoverable",
    "Update",
    "UpdateRejected",
    "UpdateUnanswered",
    "ValueNotFound",
    "ValueStream",
    "Webhook",
    "__version__",
    "continue_as_new",
    "current_step",
    "current_task",
    "now",
    "outbox_table",
    "patched",
    "publish",
    "random",
    "set_attributes",
    "side_effect",
    "step",
    "stream",
    "uuid4",
    "wait_for",
    "wait_for_update",
    "workflow",
    "workflow_logger",
]
if find_spec("httpx") is None:
    # `from stepward import *` takes every name that is listed here.
    __all__.remove("HttpAgent")


def __getattr__(name: str) -> Any:
    """``HttpAgent`` needs an extra: it is imported when it is asked for."""
    if name == "HttpAgent":
        from stepward.agent.http.http_agent import HttpAgent  # noqa: PLC0415

        return HttpAgent
    raise AttributeError(f"module 'stepward' has no attribute {name!r}")
