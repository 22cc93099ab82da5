"""The state store as each actor sees it: verbs are transitions, each names the state it leaves and the claim it holds.

A verb leaves rows unchanged that another transaction has changed since they were read, and reports it. All instants are
seconds of the store's clock (``Store.now``). Verbs raise StoreUnavailable when nothing was changed and CommitUnknown
when the outcome of the commit is unknown.
"""

from stepward.store.contract.by_subject.archive_erasure import ArchiveErasureStore, ErasedTask
from stepward.store.contract.by_subject.batches import BatchPiece, BatchStore, BatchWork
from stepward.store.contract.by_subject.large_payload_objects import ObjectOwnerStore
from stepward.store.contract.by_subject.live_values import LiveValue, LiveValueStore, StreamValue
from stepward.store.contract.by_subject.overview import (
    MOST_COUNTED,
    MOST_IN_ERROR,
    MOST_IN_FLOW,
    MOST_SAMPLED,
    ChangedTasks,
    ChangesPlace,
    FlowCount,
    Overview,
    OverviewStore,
    QueueLength,
    StateCount,
    StateSample,
)
from stepward.store.contract.by_subject.retention import (
    AuditedAct,
    AuditHead,
    OldRecords,
    Outlived,
    OutlivedPage,
    PruningStore,
    Purged,
    RetentionStore,
    RuledRetentionStore,
    SignalSeen,
)
from stepward.store.contract.client import ClientStore, CompletionStore, Tally
from stepward.store.contract.host import HostStore
from stepward.store.contract.messages import MessageStore, StoredMessage
from stepward.store.contract.operators import OperatorStore
from stepward.store.contract.scheduler import (
    INBOX_ROWS,
    Least,
    SchedulerStore,
    UnownedStep,
    UnownedSteps,
    WatchedPlace,
)
from stepward.store.contract.store import Identity, Store
from stepward.store.contract.supervisor import (
    FREED_AT_ONCE,
    Decision,
    Due,
    ExpiredStep,
    ExpiredTask,
    Firing,
    SupervisorStore,
    TaskExpiry,
)
from stepward.store.contract.transactions import (
    ExternalTransaction,
    StepTransaction,
    Submitted,
    Transaction,
    WaitForHook,
)
from stepward.store.contract.values.batches import (
    BATCH_ENDS,
    Batch,
    BatchParameters,
    BatchRefusal,
    BatchState,
    BatchVerb,
)
from stepward.store.contract.values.change_rows import (
    ANSWER_SECONDS,
    TRIM_ROWS,
    AddedEvents,
    Deliver,
    Dispatch,
    Finish,
    Post,
    StepMove,
    TaskMove,
    Trim,
    Watch,
)
from stepward.store.contract.values.directives import Directive, Doubt, Later
from stepward.store.contract.values.forks import Fork
from stepward.store.contract.values.gauges import StoreGauges
from stepward.store.contract.values.partition_record import PartitionRecord
from stepward.store.contract.values.search import FoundTasks, TaskCount, TaskSearch
from stepward.store.contract.values.server_report import Bloat, Hold, Server, ServerHost, Standby
from stepward.store.contract.values.step_completion import Completion, Refusal, RefusalReason
from stepward.store.contract.values.turn_change import OVERTAKEN, Change, Committed
from stepward.store.contract.values.updates import AnswerRow, UpdateAct, UpdateRow, UpdateState
from stepward.store.contract.values.written_rows import StreamRow, WrittenRow, written_rows

__all__ = [
    "ANSWER_SECONDS",
    "BATCH_ENDS",
    "FREED_AT_ONCE",
    "INBOX_ROWS",
    "MOST_COUNTED",
    "MOST_IN_ERROR",
    "MOST_IN_FLOW",
    "MOST_SAMPLED",
    "OVERTAKEN",
    "TRIM_ROWS",
    "AddedEvents",
    "AnswerRow",
    "ArchiveErasureStore",
    "AuditHead",
    "AuditedAct",
    "Batch",
    "BatchParameters",
    "BatchPiece",
    "BatchRefusal",
    "BatchState",
    "BatchStore",
    "BatchVerb",
    "BatchWork",
    "Bloat",
    "Change",
    "ChangedTasks",
    "ChangesPlace",
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
    "ErasedTask",
    "ExpiredStep",
    "ExpiredTask",
    "ExternalTransaction",
    "Finish",
    "Firing",
    "FlowCount",
    "Fork",
    "FoundTasks",
    "Hold",
    "HostStore",
    "Identity",
    "Later",
    "Least",
    "LiveValue",
    "LiveValueStore",
    "MessageStore",
    "ObjectOwnerStore",
    "OldRecords",
    "OperatorStore",
    "Outlived",
    "OutlivedPage",
    "Overview",
    "OverviewStore",
    "PartitionRecord",
    "Post",
    "PruningStore",
    "Purged",
    "QueueLength",
    "Refusal",
    "RefusalReason",
    "RetentionStore",
    "RuledRetentionStore",
    "SchedulerStore",
    "Server",
    "ServerHost",
    "SignalSeen",
    "Standby",
    "StateCount",
    "StateSample",
    "StepMove",
    "StepTransaction",
    "Store",
    "StoreGauges",
    "StoredMessage",
    "StreamRow",
    "StreamValue",
    "Submitted",
    "SupervisorStore",
    "Tally",
    "TaskCount",
    "TaskExpiry",
    "TaskMove",
    "TaskSearch",
    "Transaction",
    "Trim",
    "UnownedStep",
    "UnownedSteps",
    "UpdateAct",
    "UpdateRow",
    "UpdateState",
    "WaitForHook",
    "Watch",
    "WatchedPlace",
    "WrittenRow",
    "written_rows",
]
