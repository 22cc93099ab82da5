"""Live Schedulers with different code or policies under one workflow and version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from stepward.model.records import Digest, Instance, Role


class Mixed(Struct, frozen=True, kw_only=True):
    """Two instances that differ in one workflow; ``former`` registered first."""

    workflow: str
    """As ``workflow@version``."""
    parts: tuple[str, ...]
    """What differs: ``code``, ``policy`` or both."""
    former: Instance
    latter: Instance

    @property
    def message(self) -> str:
        """The difference in words, for operators."""
        parts, latter, former = " and ".join(self.parts), _place(self.latter), _place(self.former)
        return (
            f"workflow {self.workflow}: expected all live Schedulers to serve the same, found another {parts} in "
            f"{latter} than in {former}; give changed code a new version, or restart the one that is out of date"
        )


def mixed(instances: Iterable[Instance]) -> list[Mixed]:
    """By workflow, the first two live Schedulers that differ; in order."""
    found: dict[str, Mixed] = {}
    first: dict[str, tuple[Digest, Instance]] = {}
    for instance, workflow, digest in _served(instances):
        known, former = first.setdefault(workflow, (digest, instance))
        parts = _differing(known, digest)
        if parts:
            found.setdefault(workflow, Mixed(workflow=workflow, parts=parts, former=former, latter=instance))
    return [found[workflow] for workflow in sorted(found)]


def _served(instances: Iterable[Instance]) -> Iterator[tuple[Instance, str, Digest]]:
    for instance in sorted(instances, key=lambda each: (each.started_at, each.id)):
        if instance.alive and instance.role is Role.SCHEDULER:
            for workflow, digest in instance.digests.items():
                yield instance, workflow, digest


def _differing(one: Digest, other: Digest) -> tuple[str, ...]:
    parts = []
    if one.code and other.code and one.code != other.code:
        parts.append("code")
    if one.policy != other.policy:
        parts.append("policy")
    return tuple(parts)


def _place(instance: Instance) -> str:
    return f"{instance.id} on {instance.host} (process {instance.pid})"
