"""The two-person rule: a dangerous act on a task is proposed by one principal and carried out when another confirms it.

A proposal is an act of the audit, so it is durable and in the chain. It names the version of the task: once that has
changed, by the act or otherwise, the proposal is no longer open.
"""

from __future__ import annotations

import secrets
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from stepward.client import ClientSession, refusal
from stepward.errors import IllegalTransition, TaskChanged
from stepward.http.access.principals import Principal
from stepward.http.exception_handlers import HttpRefusal
from stepward.model.records import Audit, Task
from stepward.model.states import TaskState
from stepward.model.tasks.task_version import task_version
from stepward.payload import readable
from stepward.store.contract import Directive, Doubt, Later

GUARDED = frozenset({"undo", "cancel", "mark_done", "delete"})
"""Verbs that always need a second person; in bulk they are refused while the rule is on."""
PROPOSE = "propose"
OPEN_SECONDS = 3600.0
"""Seconds for which a proposal may be confirmed."""
MOST_ACTS = 200
"""Most acts of a task, the newest, among which its proposals are looked for."""
TOKEN_BYTES = 9


class ProposedDirective(Struct, frozen=True, kw_only=True):
    """The directive of a proposal."""

    verb: str
    step: str | None = None
    input: str | None = None
    """JSON."""
    failed_children: bool = False
    result: str | None = None
    """JSON."""
    doubt: Doubt | None = None
    later: Later | None = None
    deadline: float | None = None
    priority: int | None = None


class Proposal(Struct, frozen=True, kw_only=True):
    """A proposal, as the audit keeps it."""

    proposal: str
    """Its id."""
    version: str
    """The version of the task that it is about."""
    expires_at: float
    directive: ProposedDirective
    reason: str | None = None
    actor: str = ""
    at: float = 0.0


class ActProposed(Exception):
    """Ends an act that was not carried out but proposed."""

    def __init__(self, task: str, state: TaskState, proposal: str) -> None:
        super().__init__(f"task {task}: the act was proposed; it is carried out when another person confirms it")
        self.task = task
        self.state = state
        self.proposal = proposal


class TwoPersonRule:
    """Proposes the guarded acts of a principal, and carries out those that another has proposed."""

    def __init__(self, session: ClientSession, principal: Principal) -> None:
        self._session = session
        self._principal = principal

    async def check(self, task: Task, directive: Directive) -> None:
        """Raises ActProposed for a guarded directive, which is proposed; TaskChanged, IllegalTransition where it would
        not be carried out now."""
        if not needs_second_person(directive.verb, directive.doubt, directive.later):
            return
        version = await self._version(task)
        if directive.expected and version not in directive.expected:
            raise TaskChanged(
                f"task {task.id}: expected it unchanged since it was shown, found it changed", version=version
            )
        steps = await self._session.store.client.steps(task.id)
        if refused := await refusal(self._session.store.client, task, steps, directive):
            raise IllegalTransition(refused)
        proposal = Proposal(
            proposal=secrets.token_urlsafe(TOKEN_BYTES),
            version=version,
            expires_at=self._session.store.now() + OPEN_SECONDS,
            directive=_proposed(directive),
            reason=directive.reason,
        )
        act = Audit(actor=self._principal.name, act=PROPOSE, task=task.uid, details=msgspec.json.encode(proposal))
        await self._session.store.operators.record_acts([act])
        raise ActProposed(task.id, task.state, proposal.proposal)

    async def proposals(self, task: Task) -> list[Proposal]:
        """The open proposals for a task, newest first."""
        version, now = await self._version(task), self._session.store.now()
        acts = await self._session.store.operators.audits(task.id, MOST_ACTS)
        found = [_read(act) for act in acts if act.act == PROPOSE and act.task == task.uid]
        return [each for each in found if each is not None and each.version == version and now < each.expires_at]

    async def confirm(self, task: Task, id: str) -> TaskState:
        """Carries out what another principal has proposed. Raises HttpRefusal, TaskChanged, IllegalTransition."""
        found = next((each for each in await self.proposals(task) if each.proposal == id), None)
        if found is None:
            raise HttpRefusal(409, f"proposal {id[:60]}: expected an open one of this task, found none such")
        if found.actor == self._principal.name:
            raise HttpRefusal(403, f"proposal {id[:60]}: expected another person than {found.actor}, who proposed it")
        said = f"proposed by {found.actor}" + (f": {found.reason}" if found.reason else "")
        session = self._session.acting_as(self._principal.name, reason=said[:200], expected=[found.version])
        return await session.direct(task.id, _directive(found.directive, self._principal.name))

    async def _version(self, task: Task) -> str:
        (tally,) = await self._session.store.client.tallies([task.uid], [])
        return task_version(task, tally.steps, tally.done)


def needs_second_person(verb: str, doubt: Doubt | None, later: Later | None) -> bool:
    """Whether the act is guarded: by its verb, or because it undoes steps before it repeats one."""
    return verb in GUARDED or doubt is Doubt.UNDO or later is Later.UNDO


def _proposed(directive: Directive) -> ProposedDirective:
    return ProposedDirective(
        verb=directive.verb,
        step=directive.step,
        input=None if directive.input is None else directive.input.decode(),
        failed_children=directive.failed_children,
        result=None if directive.result is None else directive.result.decode(),
        doubt=directive.doubt,
        later=directive.later,
        deadline=directive.deadline,
        priority=directive.priority,
    )


def _directive(proposed: ProposedDirective, actor: str) -> Directive:
    return Directive(
        verb=proposed.verb,
        actor=actor,
        step=proposed.step,
        input=None if proposed.input is None else proposed.input.encode(),
        failed_children=proposed.failed_children,
        result=None if proposed.result is None else proposed.result.encode(),
        doubt=proposed.doubt,
        later=proposed.later,
        deadline=proposed.deadline,
        priority=proposed.priority,
    )


def _read(act: Audit) -> Proposal | None:
    """The proposal of an act; None where it cannot be read, as without the key of its encryption."""
    details: Any = readable(act.details)
    if not isinstance(details, dict) or "proposal" not in details:
        return None
    try:
        return replace(msgspec.json.decode(act.details, type=Proposal), actor=act.actor, at=act.at)
    except msgspec.DecodeError:
        return None
