"""The session of a client: its store, and what its handles, the blocking client, commands and relays share."""

from __future__ import annotations

import copy
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec.structs import replace

from stepward.client.handle import actor
from stepward.client.queues.events import Readers
from stepward.client.queues.posting import put_message
from stepward.client.queues.queue_backends import queues_beside
from stepward.client.repairs import refuse_unfit, with_secrets
from stepward.client.step_completions import Completions
from stepward.client.submitting import act_arguments
from stepward.client.submitting.forks import ForkOptions, check_same_fork, forked
from stepward.client.submitting.submission_checks import Id, known_id, task_id, usable
from stepward.client.submitting.submissions import Preparation, SubmissionWriter, SubmitLocally
from stepward.client.task_pages import Page
from stepward.client.task_status import TaskStatus, status_of
from stepward.client.waiting.task_endings import Endings, Lookout, StoreChanges
from stepward.clock import Environment
from stepward.encryption import Encryption, codec_of
from stepward.errors import IllegalTransition, Refused, TaskNotFound
from stepward.events import Hints
from stepward.large_payloads import LargePayloads, PayloadKeeper, keeper_of
from stepward.model.pipeline_plan import Plan
from stepward.model.records import Step, Task
from stepward.model.states import TaskState
from stepward.model.tasks.updates import refuse_update_name
from stepward.payload import PAYLOAD_BYTES
from stepward.payload.sealed import PayloadCodec
from stepward.store.change_watcher import ChangeWatcher
from stepward.store.contract import Directive, Store, Submitted, TaskSearch, UpdateAct, UpdateRow
from stepward.store.partitions.drawn_ids import uid_of_fork
from stepward.store.partitions.single_or_partitioned import check_whole, is_address, opened_at
from stepward.store.rules.directives.concerned_steps import named_step
from stepward.store.sealing.key_check import check_keys
from stepward.store.search.cursors import cursor_of
from stepward.transport.queues.contract import AppQueues
from stepward.workflow.registry import Registry

SIGNAL_NAME = re.compile(r"[A-Za-z0-9._:-]{1,200}")
DirectiveGuard = Callable[[Task, Directive], Awaitable[None]]
POLL = 1.0
"""Seconds between two looks for ends that no Scheduler of this process brings about."""
NOT_ENTERED = (
    "client: expected use within `async with app.client() as client`, found it not entered yet; enter it first"
)
CLOSED = "client: expected use within `async with app.client() as client`, found it closed; open another"


class ClientSession:
    """A client's connection to the store of one application; a store that is given open stays open.

    Several addresses are the partitions of the application. ``creates``: whether this is a client of the application,
    which makes new stores and has all of them; an operator may look at one partition alone.

    The actors of a process lend theirs: ``hints``, ``queues``, ``endings`` and ``submit_locally``. ``registry`` is the
    application's code, where there is any.
    """

    def __init__(
        self,
        store: str | Sequence[str] | Store,
        *,
        app: str,
        registry: Registry | None = None,
        environment: Environment | None = None,
        hints: Hints | None = None,
        queues: AppQueues | None = None,
        transport: str | None = None,
        endings: Endings | None = None,
        submit_locally: SubmitLocally | None = None,
        payload_bytes: int = PAYLOAD_BYTES,
        poll: float = POLL,
        codec: PayloadCodec | None = None,
        keeper: PayloadKeeper | None = None,
        creates: bool = True,
    ) -> None:
        environment = environment or Environment()
        self.owns_store = is_address(store)
        opened = opened_at(store, app, environment, codec, keeper, creates=creates)
        self._store = opened
        self._codec, self._creates = codec, creates
        self.keeper = keeper
        """Keeps large payloads outside the store, if any are."""
        self.missing = NOT_ENTERED if self.owns_store else None
        """What keeps the client from being used, if anything; one on a store that is open may be used at once."""
        self.app = app
        self.limit = payload_bytes
        self.actor = actor()
        """The actor in the audit."""
        self.new_uid = environment.new_uid
        """Makes the ids of tasks that are given none."""
        self._reason: str | None = None
        self._expected: tuple[str, ...] = ()
        self._guard: DirectiveGuard | None = None
        self.hints = hints or Hints()
        self._operations = registry.operations if registry is not None else {}
        self.completions = Completions(opened.client, app, environment, self.hints, payload_bytes, self._operations)
        preparation = Preparation(opened.client, app, registry or Registry([], []), environment, payload_bytes)
        self.submissions = SubmissionWriter(opened.client, preparation, self.hints, submit_locally, keeper)
        self._owns_queues = queues is None
        self._queues = queues or queues_beside(opened, transport, app, environment, codec, keeper)
        if self._owns_queues:
            self.hints.receive(self._queues.wake)
        self.readers = Readers(self._queues)
        endings = endings or Endings()
        self._lookout = Lookout(opened.client, endings, self.hints, poll)
        self._changes = (self.hints, endings.written), poll
        self._watcher = ChangeWatcher(opened.host, self.hints) if self.owns_store else None

    @property
    def codec(self) -> PayloadCodec | None:
        """What encrypts payloads; None where they are not encrypted."""
        return self._codec

    def acting_as(self, actor: str, *, reason: str | None = None, expected: Sequence[str] = ()) -> ClientSession:
        """This session in the name of another actor, for the audit; it is open as long as this one.

        Its acts on a task give ``reason``, and raise TaskChanged unless the task has one of the versions ``expected``.
        """
        other = copy.copy(self)
        other.actor, other._reason, other._expected = actor, act_arguments.reason(reason), tuple(expected)
        return other

    def guarded_by(self, guard: DirectiveGuard) -> ClientSession:
        """This session with a check of every directive before it is carried out; the check raises to keep it back."""
        other = copy.copy(self)
        other._guard = guard
        return other

    async def open(self) -> None:
        """Open what is its own. Raises SettingsError for a partition that is named alone."""
        usable("app.client()", None)
        if self.owns_store:
            await self._store.open()
            await self._check_keys()
        if self._watcher is not None:
            self._watcher.start()
        self.missing = None

    async def _check_keys(self) -> None:
        try:
            await check_keys(self._store.host, self._codec)
            if self._creates:
                await check_whole(self._store)
        except BaseException:
            await self._store.close()
            raise

    async def close(self) -> None:
        """Close what is its own; nothing may be asked of it after that."""
        self.missing = CLOSED
        await self._lookout.stop()
        if self._watcher is not None:
            await self._watcher.stop()
        await self.readers.close()
        if self._owns_queues:
            await self._queues.close()
        if self.owns_store:
            await self._store.close()

    @property
    def store(self) -> Store:
        """The store. Raises Refused unless the client is open."""
        if self.missing is not None:
            raise Refused(self.missing)
        return self._store

    def check(self, what: str) -> None:
        """Raise Refused unless the client is open and no workflow calls ``what``."""
        usable(what, self.missing)

    async def post(self, queue: str, data: Any, id: Id) -> None:
        """Posts a message to a submission queue of the application; the id becomes the task's."""
        self.check("post")
        at, limit = self._store.now(), self.limit
        await put_message(self._queues, self.app, queue, data, id=task_id(id), at=at, limit=limit)

    async def record(self, id: Id) -> Task:
        self.check("client.task()")
        known = known_id(id)
        task = await self.store.client.task(known)
        if task is None:
            raise TaskNotFound(f"task {known[:200]!r}: expected an id that was submitted, found none such")
        return task

    async def plan(self, workflow: str, version: str) -> Plan | None:
        return await self.submissions.plan(workflow, version)

    async def page(self, search: TaskSearch) -> Page:
        """The page of tasks that a search finds."""
        found = await self.store.operators.tasks(search)
        after = None if found.after is None else cursor_of(found.after, newest_first=search.newest_first)
        return Page(await self.statuses(found.tasks), after)

    async def statuses(self, tasks: Sequence[Task]) -> list[TaskStatus]:
        """The status of each of these tasks."""
        plans = {(task.workflow, task.version): await self.plan(task.workflow, task.version) for task in tasks}
        stages = sorted({stage.key for plan in plans.values() for stage in plan or ()})
        found = await self.store.client.tallies([task.uid for task in tasks], stages) if tasks else []
        tallies = {tally.task: tally for tally in found}
        return [status_of(task, tallies[task.uid], plans[task.workflow, task.version]) for task in tasks]

    async def ask_update(self, id: Id, update: str, name: str, body: bytes, by: str | None) -> UpdateRow:
        """Ask a task for an update; the audit names ``by``."""
        self.check("client.task()")
        known, expected = known_id(id), self._expected
        by = act_arguments.person(by)
        asked = UpdateAct(known, update, name, body, actor=by, expected=expected, reason=self._reason)
        found = await self.store.client.ask_update(asked)
        self.hints.hint()
        return found

    async def fork(self, id: Id, options: ForkOptions) -> Submitted:
        """Start a new task from the record of an ended one."""
        origin = await self.record(id)
        if options.undo_later and self._guard is not None:
            raise IllegalTransition(
                f"fork of task {origin.id}: expected no undo_later where an undo needs a second person, found it; have "
                "the task undone, or fork without it"
            )
        steps = await self.store.client.steps(origin.id)
        uid = uid_of_fork(self.store.client, origin.id, self.new_uid())
        fork = await forked(self.submissions.preparation, origin, steps, options, uid=uid, now=self.store.now())
        asked = replace(fork, actor=self.actor, reason=self._reason, expected=self._expected)
        submitted = await self.store.client.fork(asked)
        if not submitted.created:
            check_same_fork(fork, await self.record(submitted.id), await self.store.client.steps(submitted.id))
        self.hints.hint()
        return submitted

    def changes(self) -> StoreChanges:
        return StoreChanges(*self._changes)

    async def wait_for_end(self, uid: str) -> Task:
        self.check("client.task()")
        self.submissions.look_for(uid)
        return await self._lookout.ended(uid)

    async def direct(self, id: Id, directive: Directive) -> TaskState:
        self.check("client.task()")
        if directive.input is not None or directive.result is not None:
            task = await self.record(id)
            step = await self._whole(named_step(task, await self.store.client.steps(task.id), directive))
            refuse_unfit(step, directive, self._operations)
            directive = with_secrets(step, directive)
        asked = replace(directive, reason=self._reason, expected=self._expected)
        if self._guard is not None:
            await self._guard(await self.record(id), asked)
        state = await self.store.client.direct(known_id(id), asked)
        self.hints.hint()
        return state

    async def _whole(self, step: Step | None) -> Step | None:
        """The step with its arguments, also if they are kept outside the store."""
        if step is None or self.keeper is None:
            return step
        return replace(step, input=await self.keeper.fetch(step.task, step.input))

    async def signal(self, id: Id, name: str, body: bytes, signal_id: Id | None, by: str | None = None) -> bool:
        self.check("client.task()")
        if not SIGNAL_NAME.fullmatch(name):
            raise Refused(f"signal: expected a name of 1 to 200 of A-Z a-z 0-9 . _ : -, found {name[:60]!r}")
        refuse_update_name(name)
        known, sent, by = (known_id(id), act_arguments.signal_id(signal_id), act_arguments.person(by))
        fresh = await self.store.client.signal(
            known, name, body, sent, by, expected=self._expected, reason=self._reason
        )
        self.hints.hint()
        return fresh


class Protection:
    """How an application protects its payloads, and where it keeps large ones."""

    def __init__(self, app: str, encryption: Encryption | None, large: LargePayloads | None) -> None:
        self.codec = codec_of(app, encryption)
        self.keeper = keeper_of(app, large, encrypts=encryption is not None)


def session_at(
    store: str | Sequence[str], app: str, transport: str | None, payload_bytes: int, protection: Protection
) -> ClientSession:
    """The session of a client on the store of that address, or on several, without the application's code."""
    return ClientSession(
        store,
        app=app,
        transport=transport,
        payload_bytes=payload_bytes,
        codec=protection.codec,
        keeper=protection.keeper,
    )
