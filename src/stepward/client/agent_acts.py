"""Suspending and resuming an Agent, and draining an instance, by a client."""

from __future__ import annotations

from stepward.client.agent_status import check_known
from stepward.client.session import ClientSession
from stepward.client.submitting import act_arguments
from stepward.errors import InstanceNotFound
from stepward.model.tasks.control_characters import sought


async def suspend(session: ClientSession, name: str, note: str | None) -> bool:
    """Ask nothing more of an Agent; False if it is suspended already. Raises AgentNotFound."""
    why = act_arguments.note(note)
    operators = session.store.operators
    check_known(name, await operators.standings())
    is_new = await operators.suspend_agent(name, why, session.actor)
    session.hints.hint()
    return is_new


async def resume(session: ClientSession, name: str) -> bool:
    """Ask a suspended Agent again; False if it is at work. Raises AgentNotFound."""
    operators = session.store.operators
    check_known(name, await operators.standings())
    was_suspended = await operators.resume_agent(name, session.actor)
    session.hints.hint()
    return was_suspended


async def drain(session: ClientSession, id: str) -> bool:
    """Ask the process of an instance to end in good order; False if it was asked already. Raises InstanceNotFound."""
    operators = session.store.operators
    if await operators.drain_instance(sought(id), session.actor):
        return True
    if any(each.id == id and each.alive for each in await operators.instances()):
        return False
    raise InstanceNotFound(
        f"instance {str(id)[:100]!r}: expected one that is alive, found none such; look at `stepward instances`"
    )
