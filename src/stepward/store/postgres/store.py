"""The PostgreSQL store as a whole: each reader's verbs, in one schema."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from stepward.clock import Environment
from stepward.store.address import PostgresPlace
from stepward.store.contract import Borrowed, Transaction
from stepward.store.postgres import schema, transaction
from stepward.store.postgres.client import PostgresClient
from stepward.store.postgres.clock import StoreClock
from stepward.store.postgres.database import FOR_OTHERS, TRANSACTIONS, Database
from stepward.store.postgres.engine import verb_engine
from stepward.store.postgres.external import Home, PostgresBorrowed
from stepward.store.postgres.host import PostgresHost
from stepward.store.postgres.messages import PostgresMessages
from stepward.store.postgres.migration import migrate
from stepward.store.postgres.notifier import Notifier
from stepward.store.postgres.scheduler import PostgresScheduler
from stepward.store.postgres.supervisor import PostgresSupervisor
from stepward.store.verbs.completing import CompletionVerbs
from stepward.store.verbs.retention import RetentionVerbs


class PostgresStore:
    """A state store in a schema of a PostgreSQL database, for any number of processes on any hosts; see ``Store``.

    The schema is ``stepward_`` and the application's name, so that the store may stand in the application's own
    database and several may share one. ``clock`` says how the server's clock is followed.
    """

    def __init__(
        self, place: PostgresPlace, *, app: str, environment: Environment, clock: StoreClock | None = None
    ) -> None:
        self._app = app
        self._place = place
        self._clock = clock or StoreClock(environment.clock)
        self._database = Database(place, place.schema or schema.schema_of(app), environment, self._clock)
        self._notifier = Notifier(self._database)
        self._home = Home(self._database)
        self.messages = PostgresMessages(self._database, self._notifier)
        self.now = self._clock.now
        self.jumped = self._clock.jumped
        self.changed = self._notifier.changed
        self.stirred = self._notifier.stirred
        engine = verb_engine(self._database, self._notifier)
        self._give_scheduler_verbs(PostgresScheduler(self._database, self._notifier))
        self._give_supervisor_verbs(PostgresSupervisor(self._database, self._notifier))
        self._give_retention_verbs(RetentionVerbs(engine.others))
        self._give_client_verbs(PostgresClient(self._database, self._notifier))
        self._give_completion_verbs(CompletionVerbs(engine))
        self._give_host_verbs(PostgresHost(self._database, self._notifier))

    async def open(self) -> None:
        """Any number of processes may open a new or an older store at once."""
        self._database.open()
        try:
            if not await self._database.others.read(schema.is_current, self._app, self._place.shown):
                await migrate(self._database, self._app)
            # Only now is it known whether a pooler stands between.
            await self._notifier.open()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        await self._notifier.close()
        await self._database.close()

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Several may be open at once, each on a connection of its own."""
        return transaction.opened(self._database, self._notifier)

    def borrowed(self, connection: object) -> Borrowed:
        return PostgresBorrowed(connection, self._database.schema, self._place.shown, self._home, self._notifier)

    @property
    def transactional_steps(self) -> int:
        return TRANSACTIONS - FOR_OTHERS

    @property
    def statements(self) -> int:
        """How many statements were executed so far."""
        return self._database.statements

    def _give_scheduler_verbs(self, scheduler: PostgresScheduler) -> None:
        self.claim = scheduler.claim
        self.load = scheduler.load
        self.read_inbox = scheduler.read_inbox
        self.next_wake = scheduler.next_wake
        self.commit = scheduler.commit
        self.stray = scheduler.stray
        self.note_progress = scheduler.note_progress
        self.unheld = scheduler.unheld

    def _give_supervisor_verbs(self, supervisor: PostgresSupervisor) -> None:
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

    def _give_client_verbs(self, client: PostgresClient) -> None:
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

    def _give_host_verbs(self, host: PostgresHost) -> None:
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
