"""The state store as each actor sees it: verbs are transitions, each names the state it leaves and the claim it holds.

Whatever a verb cannot change because somebody was faster it leaves alone and says so. All instants are seconds of
the store's clock (``Store.now``). Verbs raise StoreUnavailable when nothing was changed and CommitUnknown when
nobody can know.
"""

from stepward.store.contract.client import ClientStore, Directive, Doubt, Later, Tally
from stepward.store.contract.host import HostStore
from stepward.store.contract.messages import MessageStore, StoredMessage
from stepward.store.contract.operators import OperatorStore, TaskFilter
from stepward.store.contract.pruning import AuditedAct, OldRecords, PruningStore
from stepward.store.contract.retention import Outlived, Purged, RetentionStore, SignalSeen
from stepward.store.contract.scheduler import (
    Least,
    SchedulerStore,
    StepTransaction,
    Submitted,
    Transaction,
    Unheld,
    UnheldStep,
    WatchedPlace,
)
from stepward.store.contract.store import Identity, Store
from stepward.store.contract.supervisor import Decision, Due, ExpiredStep, ExpiredTask, SupervisorStore
from stepward.store.contract.transactions import Borrowed, WaitForHook
from stepward.store.contract.values.change import (
    OVERTAKEN,
    TRIM_ROWS,
    Change,
    Committed,
    Deliver,
    Dispatch,
    Finish,
    Post,
    StepMove,
    TaskMove,
    Telling,
    Trim,
    Watch,
)
from stepward.store.contract.values.completion import Completion, CompletionStore, Refusal, RefusalReason
from stepward.store.contract.values.server import Bloat, Hold, Server, ServerHost, Standby

__all__ = [
    "OVERTAKEN",
    "TRIM_ROWS",
    "AuditedAct",
    "Bloat",
    "Borrowed",
    "Change",
    "ClientStore",
    "Committed",
    "Completion",
    "CompletionStore",
    "Decision",
    "Deliver",
    "Directive",
    "Dispatch",
    "Doubt",
    "Due",
    "ExpiredStep",
    "ExpiredTask",
    "Finish",
    "Hold",
    "HostStore",
    "Identity",
    "Later",
    "Least",
    "MessageStore",
    "OldRecords",
    "OperatorStore",
    "Outlived",
    "Post",
    "PruningStore",
    "Purged",
    "Refusal",
    "RefusalReason",
    "RetentionStore",
    "SchedulerStore",
    "Server",
    "ServerHost",
    "SignalSeen",
    "Standby",
    "StepMove",
    "StepTransaction",
    "Store",
    "StoredMessage",
    "Submitted",
    "SupervisorStore",
    "Tally",
    "TaskFilter",
    "TaskMove",
    "Telling",
    "Transaction",
    "Trim",
    "Unheld",
    "UnheldStep",
    "WaitForHook",
    "Watch",
    "WatchedPlace",
]
