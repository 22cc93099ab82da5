"""Following the audit's chain of hashes, and comparing it with heads that were noted outside of the store."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from stepward.errors import Refused
from stepward.model.records import Audit
from stepward.store.contract.by_subject.retention import AuditedAct, AuditHead
from stepward.store.rules.audit.audit_chain import (
    DELETED,
    FIRST_HASH,
    MARK,
    PRUNED,
    Erased,
    ErasedAct,
    Pruned,
    audit_values,
    erased_act,
    linked,
)

HASH = re.compile(r"[0-9a-f]{64}")
MOST_DIGITS = 18


def head_of(text: str) -> AuditHead:
    """A head as ``audit head`` prints it. Raises Refused."""
    number, colon, digest = text.strip().partition(":")
    if not colon or not number.isdecimal() or len(number) > MOST_DIGITS or not HASH.fullmatch(digest):
        raise Refused(
            f"head: expected NUMBER:HASH as `stepward audit head` prints it, found {text[:80]!r}; copy it whole"
        )
    return AuditHead(int(number), bytes.fromhex(digest))


class ChainBreak(NamedTuple):
    """A place where the audit is not what it was."""

    number: int
    after: int
    """The number of the act before it."""

    @property
    def cause(self) -> str:
        """The change at that place, as far as the chain shows it."""
        if self.number == self.after + 1:
            return f"number {self.number} was changed, or {self.after} before it"
        return f"number {self.number} was changed, or acts between {self.after} and it were removed"


class Verification:
    """Follows the chain, act after act, and notes where it is broken.

    The first act must follow from the newest act that was archived, as the newest ``prune`` tells; with ``from_first``
    it must be the first of all. Each of ``heads`` must be among the acts, or have been archived. An act whose details
    were erased must be named by an act that records that, here or among ``erased``, with its hash and what is left.
    """

    def __init__(
        self, heads: Iterable[AuditHead] = (), *, from_first: bool = False, erased: Iterable[ErasedAct] = ()
    ) -> None:
        self.count = 0
        self.first: AuditedAct | None = None
        self.breaks: list[ChainBreak] = []
        self._from_first = from_first
        self._wanted = set(heads)
        self._pruned: Pruned | None = None
        self._last: AuditHead = AuditHead(0, FIRST_HASH)
        self.named: set[ErasedAct] = set(erased)
        """Acts whose details were erased, as the acts that record that name them."""
        self._erased: dict[ErasedAct, ChainBreak] = {}
        """Acts without their details, as they are."""

    def add(self, act: AuditedAct) -> None:
        """The next act."""
        if self.first is None:
            self.first = act
        elif not _follows(act, self._last.hash):
            self.breaks.append(ChainBreak(act.audit.number, self._last.number))
        if act.audit.details == MARK:
            self._erased[erased_act(act)] = ChainBreak(act.audit.number, self._last.number)
        if act.audit.act == DELETED:
            self.named.update(_erased(act.audit))
        self._last = AuditHead(act.audit.number, act.hash)
        self._wanted.discard(self._last)
        self.count += 1
        if act.audit.act == PRUNED:
            self._pruned = _pruning(act.audit) or self._pruned

    @property
    def head(self) -> AuditHead | None:
        """The newest act."""
        return self._last if self.count else None

    @property
    def archived(self) -> AuditHead | None:
        """The newest act that was archived and deleted."""
        if self._from_first or self._pruned is None or self._pruned.through is None:
            return None
        return AuditHead(self._pruned.through, bytes.fromhex(self._pruned.hash))

    def ended(self) -> list[ChainBreak]:
        """The breaks, now that all acts were seen."""
        archived = self.archived or AuditHead(0, FIRST_HASH)
        if self.first is not None and not _follows(self.first, archived.hash):
            self.breaks.insert(0, ChainBreak(self.first.audit.number, archived.number))
        self.breaks += [place for left, place in self._erased.items() if left not in self.named]
        self.breaks.sort()
        self._erased.clear()
        return self.breaks

    def missing(self) -> list[AuditHead]:
        """The heads that are neither among the acts nor among those archived: they were removed, or rewritten."""
        archived = self.archived or AuditHead(0, FIRST_HASH)
        lost = [head for head in self._wanted if head.number > archived.number or _differs(head, archived)]
        return sorted(lost, key=lambda head: head.number)


def _differs(head: AuditHead, archived: AuditHead) -> bool:
    return head.number == archived.number and head.hash != archived.hash


def _follows(act: AuditedAct, before: bytes) -> bool:
    """An act whose details were erased is confirmed by the act that records that."""
    return act.audit.details == MARK or linked(before, audit_values(act.audit, act.audit.at)) == act.hash


def _erased(deletion: Audit) -> list[ErasedAct]:
    """The acts that a deletion names; none if its details cannot be read: what it erased stays unconfirmed."""
    try:
        return msgspec.json.decode(deletion.details, type=Erased).acts
    except (msgspec.DecodeError, ValueError):
        return []


def _pruning(audit: Audit) -> Pruned | None:
    """What a ``prune`` tells of the beginning; None if it tells nothing, or cannot be read, which is a break."""
    try:
        pruned = msgspec.json.decode(audit.details, type=Pruned)
        bytes.fromhex(pruned.hash)
    except (msgspec.DecodeError, ValueError):
        return None
    return None if pruned.through is None else pruned
