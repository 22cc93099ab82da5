"""Limits as operators see and set them, while everything runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from stepward.client.agent_status import check_known
from stepward.client.live.live_values import Unset
from stepward.client.session import ClientSession
from stepward.client.submitting import act_arguments, submission_checks
from stepward.durations import Duration, shown
from stepward.errors import DeclarationError, InvalidDuration, Refused
from stepward.model.limits.flow_limit import AGENT, MOST_CONCURRENCY, WORKFLOW, FlowLimit, SetLimit, agent_limit
from stepward.model.limits.rate import RateLimit
from stepward.model.limits.slot_shares import SlotLease
from stepward.model.records import Instance, Role

GivenRate = str | tuple[int, Duration] | Unset | None
"""A rate as callers give it: ``"50/s"``, ``(50, "1s")``, None for no bound, UNSET to leave it as it is."""


class LimitStatus(Struct, frozen=True, kw_only=True):
    """A limit, and what runs under it."""

    name: str
    """``agent:`` or ``workflow:``, and the name of the Agent or the workflow."""
    concurrency: int | None
    """How many calls of an Agent, or tasks of a workflow, may run at once; None: any number."""
    rate: str | None
    """How many may start within a time, such as ``50/1s``; None: any number."""
    per_key: bool
    """Whether each key has the limit for itself."""
    declared_concurrency: int | None
    declared_rate: str | None
    in_use: int
    """How many run now, as the instances last reported."""
    leased: int
    """How many slots live instances have leased."""
    waiting: int
    """How many tasks of a workflow wait for others to end."""
    lost: int
    """How many slots are those of dead instances: they count until the complete-by of their calls has passed."""
    set_at: float | None
    """When an operator set it in place of what is declared; None: what is declared is in force."""
    set_by: str | None
    note: str | None


async def limits(session: ClientSession) -> list[LimitStatus]:
    """All limits, by name."""
    operators = session.store.operators
    found, slots, instances = await operators.limits(), await operators.slots(), await operators.instances()
    return statuses(found, slots, instances, await operators.permits())


async def set_limit(
    session: ClientSession, name: str, concurrency: int | Unset | None, rate: GivenRate, note: str | None
) -> None:
    """Set a limit in place of what is declared; what is not given stays as it is. Raises Refused, and AgentNotFound."""
    await _check_name(session, name)
    if isinstance(concurrency, Unset) and isinstance(rate, Unset):
        raise Refused(f"limit {name}: expected concurrency or a rate, found neither; give one, None for no bound")
    values = SetLimit(
        concurrency=_checked_concurrency(name, concurrency),
        rate=_checked_rate(name, rate),
        note=act_arguments.note(note),
    )
    await session.store.operators.set_limit(name, values, session.actor)
    session.hints.hint()


async def reset_limit(session: ClientSession, name: str) -> bool:
    """Let what is declared hold again; False if nothing was set. Raises Refused, and AgentNotFound."""
    await _check_name(session, name)
    was_set = await session.store.operators.reset_limit(name, session.actor)
    session.hints.hint()
    return was_set


def statuses(
    found: Sequence[FlowLimit],
    slots: Sequence[SlotLease],
    instances: Sequence[Instance],
    permits: Mapping[tuple[str, bool], int],
) -> list[LimitStatus]:
    """The limits with what runs under them."""
    in_use, leased, lost = Counter[str](), Counter[str](), Counter[str]()
    for instance in instances:
        if instance.alive and instance.role is Role.AGENT:
            in_use.update({agent_limit(health.agent): health.in_flight for health in instance.health})
    for lease in slots:
        (leased if lease.alive else lost)[agent_limit(lease.agent)] += lease.slots
    in_use.update({name: count for (name, held), count in permits.items() if held})
    return [
        _status(limit, (in_use[limit.name], leased[limit.name], permits.get((limit.name, False), 0), lost[limit.name]))
        for limit in found
    ]


def _status(limit: FlowLimit, counts: tuple[int, int, int, int]) -> LimitStatus:
    in_use, leased, waiting, lost = counts
    return LimitStatus(
        name=limit.name,
        concurrency=limit.cap,
        rate=None if limit.rate is None else limit.rate.text,
        per_key=limit.per_key,
        declared_concurrency=limit.declared_concurrency,
        declared_rate=None if limit.declared_rate is None else limit.declared_rate.text,
        in_use=in_use,
        leased=leased,
        waiting=waiting,
        lost=lost,
        set_at=limit.set_at,
        set_by=limit.set_by,
        note=limit.note,
    )


def _checked_concurrency(name: str, concurrency: int | Unset | None) -> int | msgspec.UnsetType | None:
    if isinstance(concurrency, Unset):
        return msgspec.UNSET
    if concurrency is not None and not _is_count(concurrency):
        raise Refused(
            f"limit {name}: expected concurrency from 1 to {MOST_CONCURRENCY:,}, found {shown(concurrency)}; "
            "suspend what is to start nothing"
        )
    return concurrency


def _checked_rate(name: str, rate: GivenRate) -> RateLimit | msgspec.UnsetType | None:
    if isinstance(rate, Unset):
        return msgspec.UNSET
    if rate is None:
        return None
    try:
        return RateLimit.parse(rate, f"limit {name}: rate")
    except (DeclarationError, InvalidDuration) as error:
        raise Refused(str(error)) from None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_CONCURRENCY


async def _check_name(session: ClientSession, name: str) -> None:
    if not isinstance(name, str) or not name.startswith((AGENT, WORKFLOW)):
        raise Refused(f"limit: expected agent: or workflow: and a name, found {shown(name)}; correct it")
    if name.startswith(AGENT):
        check_known(name.removeprefix(AGENT), await session.store.operators.standings())
        return
    known = {record.name for record in await session.store.client.workflows()}
    if name.removeprefix(WORKFLOW) not in known:
        raise submission_checks.unknown(name.removeprefix(WORKFLOW), known)
