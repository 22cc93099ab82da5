"""Digests of workflows: they change with what the code does and with its policy, and with nothing else."""

from __future__ import annotations

import linecache
from typing import Any

from stepward import Agent, Pipeline, Stage, Supervision, workflow
from stepward.host.workflow_digests import digests_of
from stepward.model.records import Digest
from stepward.workflow.definition import Workflow
from stepward.workflow.registry import Registry

PLAIN = """
async def order(amount: int) -> int:
    return await charge(amount)
"""
DRESSED = """
@workflow(version="1")
async def order(
    amount: int,
) -> int:
    '''Charge it.'''
    # As always.
    return await charge(amount)
"""
CHANGED = [
    PLAIN.replace("charge(amount)", "charge(amount + 1)"),
    PLAIN.replace("await charge", "await refund"),
    PLAIN.replace("amount: int", "amount: str"),
    PLAIN.replace("amount: int", "amount: int = 1"),
    PLAIN.replace("return await charge(amount)", "'x'; await charge(amount); return 1"),
]


def declared(source: str, **options: Any) -> Workflow[Any, Any]:
    """The workflow of this source, as a file would hold it."""
    names: dict[str, Any] = {"workflow": lambda **_: lambda fn: fn}
    file = f"<{hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return workflow(**options)(names["order"])


def digest(*workflows: Workflow[Any, Any]) -> Digest:
    (found,) = digests_of(Registry(workflows, [])).values()
    return found


def test_layout_comments_docstring_and_decorators_do_not_count() -> None:
    assert digest(declared(PLAIN)).code
    assert digest(declared(PLAIN)) == digest(declared(DRESSED))


def test_the_digest_depends_on_body_and_parameters() -> None:
    codes = {digest(declared(source)).code for source in [PLAIN, *CHANGED]}
    assert len(codes) == len(CHANGED) + 1


def test_a_policy_and_a_deadline_count_as_policy() -> None:
    plain, other = digest(declared(PLAIN)), digest(declared(PLAIN, supervision=Supervision(threshold=1)))
    assert (plain.code, plain.policy != other.policy) == (other.code, True)
    assert digest(declared(PLAIN, complete_by="1h")).policy not in (plain.policy, other.policy)


def test_code_without_a_source_is_no_different_code() -> None:
    names: dict[str, Any] = {}
    exec(PLAIN, names)
    assert digest(workflow(names["order"])).code == ""


def test_the_stages_of_a_pipeline_are_its_code() -> None:
    desk = Agent("desk")

    @desk.operation
    async def look() -> None:
        pass

    @desk.operation
    async def sign() -> None:
        pass

    one = Pipeline("order", {"look": Stage(look)})
    two = Pipeline("order", {"look": Stage(look), "sign": Stage(sign)})
    assert digest(one) == digest(Pipeline("order", {"look": Stage(look)}))
    assert digest(one).code != digest(two).code
