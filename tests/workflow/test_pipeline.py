"""Declared plans: what they are made of, in which order, and every way in which one is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from stepward import Agent
from stepward.errors import DeclarationError, InvalidDuration
from stepward.model.pipeline_plan import from_json, to_json
from stepward.model.states import StepKind
from stepward.payload import NULL
from stepward.workflow.definition import step
from stepward.workflow.pipeline.pipeline import Pipeline
from stepward.workflow.pipeline.planning import MOST_STAGES
from stepward.workflow.pipeline.stages import From, Given, Stage
from tests.workflow.declared import track

stock = Agent("stock")
payments = Agent("payments")


class Parcel(msgspec.Struct):
    """A parcel to be sent."""

    number: int


@stock.operation()
async def reserve(order: str, quantity: int = 1) -> int:
    return quantity


@payments.operation(complete_by="5s", irreversible=True)
async def charge(order: str, cents: int) -> str:
    return f"charged {cents}"


@step()
async def note(text: str, *, loud: bool = False) -> None:
    pass


@step()
async def shout(text: str, *, loud: bool) -> None:
    pass


@step()
async def pack(order: str) -> Parcel:
    return Parcel(1)


@step()
async def weigh(parcel: Parcel) -> float:
    return 1.0


@step()
async def untyped(anything):  # type: ignore[no-untyped-def]  # what a declaration without annotations is like
    return anything


def test_stages_stand_after_what_they_wait_for_and_else_as_declared() -> None:
    pipeline = Pipeline(
        "late",
        {
            "last": Stage(note, From("middle")),
            "middle": Stage(charge, "A", From("first")),
            "aside": Stage(note, "aside", after={"first"}),
            "first": Stage(reserve, "A"),
        },
    )
    assert [stage.stage for stage in pipeline.plan] == ["first", "middle", "last", "aside"]
    assert [stage.waits_for for stage in pipeline.plan] == [(), ("first",), ("middle",), ("first",)]


def test_what_is_waited_for_stands_as_declared_in_every_process() -> None:
    stages = {name: Stage(charge, name, 5) for name in "abc"}
    plan = Pipeline("waits", stages | {"last": Stage(note, From("b"), after=["c", "a", "b"])}).plan
    assert plan[-1].waits_for == ("a", "b", "c")


def test_occurrences_are_counted_in_the_order_of_the_plan() -> None:
    stages = {
        "c": Stage(note, "c", after=["b"]),
        "a": Stage(note, "a"),
        "b": Stage(note, "b"),
        "d": Stage(reserve, "d"),
    }
    plan = Pipeline("keys", stages).plan
    assert {stage.stage: stage.key for stage in plan} == {
        "a": "note/1",
        "b": "note/2",
        "c": "note/3",
        "d": "stock.reserve/1",
    }


def test_the_plan_as_the_store_holds_it() -> None:
    stages = {"reserve": Stage(reserve, "A"), "pay": Stage(charge, "A", 5, after=["reserve"]), "go": Stage(track, "P")}
    pipeline = Pipeline("told", stages)

    @reserve.undo
    async def release(result: int | None, order: str, quantity: int = 1) -> None:
        pass

    first, pay, go = from_json(to_json(pipeline.plan))
    assert (first.stage, first.key, first.name, first.agent) == ("reserve", "stock.reserve/1", "stock.reserve", "stock")
    assert (first.kind, first.complete_seconds, first.has_undo) == (StepKind.OPERATION, 30.0, True)
    assert (pay.waits_for, pay.complete_seconds, pay.irreversible) == (("reserve",), 5.0, True)
    assert (go.key, go.kind, go.agent, go.has_undo) == ("parcels.track/1", StepKind.CHILD, None, False)


def test_a_pipeline_is_a_workflow_of_its_arguments() -> None:
    pipeline = Pipeline(
        "pay",
        {"charge": Stage(charge, Given("order"), Given("cents"))},
        given={"order": str, "cents": int},
        result="charge",
        version="2",
        complete_by="1h",
    )
    assert (pipeline.name, pipeline.version, pipeline.complete_seconds, pipeline.kind) == (
        "pay",
        "2",
        3600.0,
        StepKind.CHILD,
    )
    assert pipeline.signature.text() == "(order: str, cents: int)"
    assert pipeline.signature.pack(("A",), {"cents": 5}) == b'["A",5]'
    assert pipeline.signature.result_type is str


async def test_called_directly_it_just_does_its_stages() -> None:
    pipeline = Pipeline(
        "direct",
        {
            "pack": Stage(pack, Given("order")),
            "weigh": Stage(weigh, From("pack")),
            "note": Stage(note, "packed", after=["pack"]),
        },
        given={"order": str},
        result="weigh",
    )
    assert await pipeline(order="A") == 1.0
    assert await pipeline("A") == 1.0


async def test_without_a_result_it_gives_null() -> None:
    pipeline = Pipeline("quiet", {"pack": Stage(pack, "A")})
    assert await pipeline() is None
    pipeline.signature.result(NULL)


async def test_a_constant_is_what_it_was_when_it_was_declared() -> None:
    parcel = {"number": 7}
    pipeline = Pipeline("constant", {"untyped": Stage(untyped, parcel)}, result="untyped")
    parcel["number"] = 8
    assert await pipeline() == {"number": 7}


@pytest.mark.parametrize(
    "stages",
    [
        {"pack": Stage(pack, "A"), "weigh": Stage(weigh, From("pack"))},
        {"weigh": Stage(weigh, {"number": 3})},  # type: ignore[arg-type]
        {"untyped": Stage(untyped, [1, "two"]), "note": Stage(note, From("untyped"))},
        {"reserve": Stage(reserve, "A")},
    ],
)
def test_what_fits_is_taken(stages: dict[str, Stage]) -> None:
    assert len(Pipeline("fits", stages).plan) == len(stages)


Declare = Callable[[], object]
# As unchecked code calls them.
anything: Any = Pipeline
stage: Any = Stage


@pytest.mark.parametrize(
    ("expected", "declare"),
    [
        ("expected 1 to 1,000 stages by name, found 0", lambda: anything("p", {})),
        (
            "expected 1 to 1,000 stages by name, found 1,001",
            lambda: anything("p", {f"s{n}": Stage(note, "x") for n in range(MOST_STAGES + 1)}),
        ),
        ("expected 1 to 1,000 stages by name, found [<stage", lambda: anything("p", [Stage(note, "x")])),
        ("name of pipeline: expected 1-200 of", lambda: anything("no spaces", {"a": Stage(note, "x")})),
        ("one that is not the engine's own", lambda: anything("timer", {"a": Stage(note, "x")})),
        ("name of a stage of pipeline p: expected 1-200 of", lambda: anything("p", {"a/1": Stage(note, "x")})),
        ("version of workflow p: expected 1-200", lambda: anything("p", {"a": Stage(note, "x")}, version="")),
        ("expected a Supervision, found 3", lambda: anything("p", {"a": Stage(note, "x")}, supervision=3)),
        ("stage a: expected Stage(…), found <local note", lambda: anything("p", {"a": note})),
        ("stage a: expected an operation, a local step or a workflow", lambda: anything("p", {"a": stage(len, "x")})),
        ("write ['b']", lambda: anything("p", {"a": Stage(note, "x", after="b"), "b": Stage(note, "x")})),
        ("expected a stage to wait for, found 'c'; stages: 'a'", lambda: anything("p", {"a": Stage(note, From("c"))})),
        ("expected a stage to wait for, found 'c'", lambda: anything("p", {"a": Stage(note, "x", after=["c"])})),
        ("expected a stage to wait for, found ['a']", lambda: anything("p", {"a": stage(note, "x", after=[["a"]])})),
        ("in a circle, found a → a", lambda: anything("p", {"a": Stage(note, "x", after=["a"])})),
        (
            "in a circle, found b → c → a → b",
            lambda: anything(
                "p",
                {
                    "b": Stage(note, "x", after=["a"]),
                    "c": Stage(note, "x", after=["b", "d"]),
                    "a": Stage(note, "x", after=["c"]),
                    "d": Stage(note, "x"),
                },
            ),
        ),
        (
            "stage a: expected an argument of the pipeline, found Given(name='text'); there are no given",
            lambda: anything("p", {"a": Stage(note, Given("text"))}),
        ),
        (
            "expected each argument to be used, found no stage with Given('n')",
            lambda: anything("p", {"a": Stage(note, "x")}, given={"n": int}),
        ),
        ("expected types by name for given, found ['n']", lambda: anything("p", {"a": Stage(note, "x")}, given=["n"])),
        (
            "expected names of parameters for given, found 'class'",
            lambda: anything("p", {"a": Stage(note, Given("class"))}, given={"class": str}),
        ),
        (
            "expected names of parameters for given, found 'a-b'",
            lambda: anything("p", {"a": Stage(note, Given("a-b"))}, given={"a-b": str}),
        ),
        (
            "expected a type for given n, found 'str'",
            lambda: anything("p", {"a": Stage(note, Given("n"))}, given={"n": "str"}),
        ),
        ("Type '5' is not supported", lambda: anything("p", {"a": Stage(note, Given("n"))}, given={"n": 5})),
        ("by position, found none for cents", lambda: anything("p", {"a": Stage(charge, "A")})),  # type: ignore[arg-type]
        ("by position, found 3", lambda: anything("p", {"a": Stage(charge, "A", 5, 6)})),  # type: ignore[arg-type]
        ("by position, found none for loud", lambda: anything("p", {"a": Stage(shout, "x")})),  # type: ignore[arg-type]
        (
            "stage b: expected str for text, found From(stage='a'), which is int",
            lambda: anything("p", {"a": Stage(reserve, "A"), "b": Stage(note, From("a"))}),
        ),
        (
            "stage a: expected str for text, found Given(name='n'), which is list[int]",
            lambda: anything("p", {"a": Stage(note, Given("n"))}, given={"n": list[int]}),
        ),
        (
            "stage a, text: expected JSON that fits str, found `int` instead of `str`",
            lambda: anything("p", {"a": Stage(note, 5)}),  # type: ignore[arg-type]
        ),
        ("stage a, text: expected a value that JSON can hold", lambda: anything("p", {"a": Stage(note, object())})),  # type: ignore[arg-type]
        (
            "expected a stage for result, found 'b'; stages: 'a'",
            lambda: anything("p", {"a": Stage(note, "x")}, result="b"),
        ),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused_in_one_line(expected: str, declare: Declare) -> None:
    with pytest.raises(DeclarationError) as refused:
        declare()
    assert expected in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_a_deadline_is_checked_as_a_workflows_is() -> None:
    with pytest.raises(InvalidDuration, match=r"p\.complete_by"):
        Pipeline("p", {"a": Stage(note, "x")}, complete_by="soon")


def test_a_thousand_stages_in_a_row_are_put_in_order() -> None:
    stages = {f"s{n}": Stage(note, "x", after=[f"s{n + 1}"]) for n in range(MOST_STAGES - 1)}
    plan = Pipeline("long", {**stages, f"s{MOST_STAGES - 1}": Stage(note, "x")}).plan
    assert [stage.stage for stage in plan] == [f"s{n}" for n in reversed(range(MOST_STAGES))]
