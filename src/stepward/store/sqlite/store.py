"""The SQLite store as a whole: each reader's verbs, on one file."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from stepward.clock import Environment
from stepward.store.contract import Borrowed, Transaction
from stepward.store.sqlite import schema, transaction
from stepward.store.sqlite.client import SqliteClient
from stepward.store.sqlite.clock import StoreClock
from stepward.store.sqlite.connection import Connection
from stepward.store.sqlite.database import Database
from stepward.store.sqlite.engine import verb_engine
from stepward.store.sqlite.external import refuse_borrowed
from stepward.store.sqlite.host import SqliteHost
from stepward.store.sqlite.messages import SqliteMessages
from stepward.store.sqlite.scheduler import SqliteScheduler
from stepward.store.sqlite.supervisor import SqliteSupervisor
from stepward.store.verbs.completing import CompletionVerbs
from stepward.store.verbs.retention import RetentionVerbs


class SqliteStore:
    """A state store in one SQLite file, which any number of processes of this host may share; see ``Store``.

    ``path`` is a file, or ``file:/name?vfs=memdb`` for a database in memory that the stores of this process
    share. Everything runs at once on the thread of the event loop; ``busy_seconds`` bounds how long a verb
    waits, without blocking the loop, while another transaction holds the file.
    """

    def __init__(
        self,
        path: str,
        *,
        app: str,
        environment: Environment,
        busy_seconds: float = 5.0,
        synchronous: str = "full",
    ) -> None:
        self._app = app
        self._database = Database(path, environment, busy_seconds, synchronous)
        self._clock = StoreClock(environment.clock)
        self.messages = SqliteMessages(self._database, self._clock)
        self.now = self._clock.now
        self.jumped = self._clock.jumped
        self.changed = self._database.changed
        self.stirred = self._database.stirred
        engine = verb_engine(self._database, self._clock)
        self._give_scheduler_verbs(SqliteScheduler(self._database, self._clock))
        self._give_supervisor_verbs(SqliteSupervisor(self._database, self._clock))
        self._give_retention_verbs(RetentionVerbs(engine.others))
        self._give_client_verbs(SqliteClient(self._database, self._clock))
        self._give_completion_verbs(CompletionVerbs(engine))
        self._give_host_verbs(SqliteHost(self._database, self._clock))

    async def open(self) -> None:
        """Any number of processes may open a new or an older file at once."""
        schema.prepare_file(self._database.path)
        await self._database.open()
        try:
            # Whoever only looks waits for no writer.
            if await self._database.snapshot(self._is_ready):
                return
            while await self._database.write(schema.migrate, self._app, self._database.path):
                pass
            await self._database.write(self._clock.load)
        except BaseException:
            self._database.close()
            raise

    async def close(self) -> None:
        self._database.close()

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Other writers of this store object wait for its end."""
        return transaction.opened(self._database)

    def borrowed(self, connection: object) -> Borrowed:
        """Refuses: SQLite has no connections of another process to borrow."""
        refuse_borrowed(connection)

    @property
    def transactional_steps(self) -> int:
        return 1

    @property
    def statements(self) -> int:
        """How many statements were executed so far, ``executemany`` counted once."""
        return self._database.statements

    def _is_ready(self, connection: Connection) -> bool:
        return schema.is_current(connection, self._app, self._database.path) and self._clock.recall(connection)

    def _give_scheduler_verbs(self, scheduler: SqliteScheduler) -> None:
        self.claim = scheduler.claim
        self.load = scheduler.load
        self.read_inbox = scheduler.read_inbox
        self.next_wake = scheduler.next_wake
        self.commit = scheduler.commit
        self.stray = scheduler.stray
        self.note_progress = scheduler.note_progress
        self.unheld = scheduler.unheld

    def _give_supervisor_verbs(self, supervisor: SqliteSupervisor) -> None:
        self.lead = supervisor.lead
        self.due = supervisor.due
        self.forgive = supervisor.forgive
        self.go_on_forgiving = supervisor.go_on_forgiving
        self.fence = supervisor.fence
        self.free = supervisor.free
        self.expired_steps = supervisor.expired_steps
        self.decide = supervisor.decide
        self.expired_tasks = supervisor.expired_tasks
        self.expire_task = supervisor.expire_task
        self.due_schedules = supervisor.due_schedules
        self.fire = supervisor.fire
        self.unserved = supervisor.unserved
        self.undelivered_alerts = supervisor.undelivered_alerts
        self.alert_delivered = supervisor.alert_delivered
        self.alert_refused = supervisor.alert_refused
        self.raise_alert = supervisor.raise_alert
        self.settle_alert = supervisor.settle_alert
        self.schedulers = supervisor.schedulers
        self.standbys = supervisor.standbys
        self.purge = supervisor.purge
        self.prune = supervisor.prune

    def _give_retention_verbs(self, retention: RetentionVerbs) -> None:
        self.outlived = retention.outlived
        self.outlived_tasks = retention.outlived_tasks
        self.outlived_steps = retention.outlived_steps
        self.outlived_inbox = retention.outlived_inbox
        self.outlived_signals = retention.outlived_signals
        self.unchanged = retention.unchanged
        self.old_records = retention.old_records

    def _give_client_verbs(self, client: SqliteClient) -> None:
        self.submit = client.submit
        self.task = client.task
        self.tasks = client.tasks
        self.steps = client.steps
        self.tallies = client.tallies
        self.ended = client.ended
        self.direct = client.direct
        self.signal = client.signal
        self.workflow = client.workflow
        self.workflows = client.workflows
        self.instances = client.instances
        self.alerts = client.alerts
        self.acknowledge = client.acknowledge
        self.purge_ended = client.purge_ended
        self.prune_as = client.prune_as
        self.acts = client.acts
        self.audits = client.audits
        self.schedules = client.schedules
        self.pause_schedule = client.pause_schedule
        self.resume_schedule = client.resume_schedule
        self.remove_schedule = client.remove_schedule
        self.dead_letters = client.dead_letters
        self.put_back = client.put_back
        self.discard = client.discard
        self.suspend_agent = client.suspend_agent
        self.resume_agent = client.resume_agent

    def _give_completion_verbs(self, completion: CompletionVerbs) -> None:
        self.completion_key = completion.completion_key
        self.completed_step = completion.completed_step
        self.complete = completion.complete
        self.refuse_completion = completion.refuse_completion

    def _give_host_verbs(self, host: SqliteHost) -> None:
        self.check_rights = host.check_rights
        self.identity = host.identity
        self.register = host.register
        self.register_schedules = host.register_schedules
        self.register_workflows = host.register_workflows
        self.renew = host.renew
        self.retire = host.retire
        self.break_off = host.break_off
        self.count_hang = host.count_hang
        self.warn = host.warn
        self.end_warning = host.end_warning
        self.standings = host.standings
        self.open_breaker = host.open_breaker
        self.grant_probe = host.grant_probe
        self.close_breaker = host.close_breaker
