from __future__ import annotations

import pytest

from stepward import Client, TaskHandle
from stepward.http.access.permissions import Permission
from stepward.mcp_server.tools import ACTS, READS, offered
from stepward.model.states import TaskState
from stepward.payload import readable

from .conftest import Connected, Made, text_of

SECRET = "secret-4711"
READING = frozenset({Permission.READ, Permission.READ_ALL, Permission.SIGNED_IN})


async def test_without_a_token_an_assistant_only_looks_and_sees_no_payloads(
    connected: Connected, client: Client, failed: TaskHandle
) -> None:
    async with connected(None) as assistant:
        listed = (await assistant.list_tools()).tools
        assert {tool.name for tool in listed} == {choice.operation for choice in READS}
        assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in listed)
        for tool, arguments in (
            ("list_tasks", {"where": "state = 'error'"}),
            ("show_task", {"task_id": "order-1"}),
            ("list_steps", {"task_id": "order-1"}),
            ("diagnose_task", {"task_id": "order-1"}),
            ("list_alerts", {}),
            ("list_audit", {}),
        ):
            result = await assistant.call_tool(tool, arguments)
            assert not result.is_error, (tool, text_of(result))
            assert SECRET not in text_of(result) and '["bad"]' not in text_of(result), tool
        refused = await assistant.call_tool("undo_task", {"task_id": "order-1", "reason": "none"})
        assert refused.is_error
    assert (await failed.status()).state is TaskState.ERROR


async def test_payloads_are_shown_to_a_token_that_allows_it(
    connected: Connected, made: Made, failed: TaskHandle
) -> None:
    async with connected(await made("viewer", payloads=True)) as assistant:
        found = await assistant.call_tool("diagnose_task", {"task_id": "order-1"})
    assert SECRET in text_of(found)
    assert found.structured_content["step"] == "pay.charge/1"
    assert {act["verb"] for act in found.structured_content["next"]} >= {"resubmit", "undo", "mark_done"}


async def test_an_act_is_audited_under_the_tokens_name_with_its_reason(
    connected: Connected, made: Made, client: Client, failed: TaskHandle
) -> None:
    async with connected(await made("operator")) as assistant:
        shown = (await assistant.call_tool("show_task", {"task_id": "order-1"})).structured_content
        act = {"task_id": "order-1", "if_match": shown["if_match"], "input": ["good"], "doubt": "did_not_happen"}
        without = await assistant.call_tool("resubmit_task", act)
        assert without.is_error and "reason" in text_of(without)
        done = await assistant.call_tool("resubmit_task", act | {"reason": "the card was replaced"})
        assert not done.is_error, text_of(done)
        stale = await assistant.call_tool(
            "undo_task", {"task_id": "order-1", "if_match": shown["if_match"], "reason": "x"}
        )
        assert stale.is_error and "expected it unchanged since it was shown" in text_of(stale)
    assert await client.task("order-1").result(timeout=30) == "charged good"
    (audit,) = [each for each in await client.audits("order-1") if each.act == "resubmit"]
    details = readable(audit.details)
    assert audit.actor == "token:assistant"
    assert isinstance(details, dict) and details["reason"] == "the card was replaced"


async def test_a_task_out_of_scope_does_not_exist_for_an_assistant(
    connected: Connected, made: Made, failed: TaskHandle
) -> None:
    async with connected(await made("operator", payloads=True, workflows=["greet"])) as assistant:
        names = {tool.name for tool in (await assistant.list_tools()).tools}
        assert not names & {choice.operation for choice in (*READS, *ACTS) if choice.whole_store}
        for tool, more in (("show_task", {}), ("undo_task", {"reason": "x"})):
            found = await assistant.call_tool(tool, {"task_id": "order-1"} | more)
            assert found.is_error and "expected an id that was submitted" in text_of(found)


async def test_acts_that_no_directive_carries_give_their_reason_to_the_audit_too(
    connected: Connected, made: Made, client: Client, failed: TaskHandle
) -> None:
    (alert,) = await client.alerts()
    async with connected(await made("operator")) as assistant:
        for tool, arguments in (
            ("acknowledge_alert", {"number": alert.number, "reason": "seen by the shift"}),
            ("suspend_agent", {"name": "pay", "note": "maintenance"}),
            ("resume_agent", {"name": "pay", "reason": "maintenance is over"}),
        ):
            done = await assistant.call_tool(tool, arguments)
            assert not done.is_error, (tool, text_of(done))
    acts = [each for each in await client.audits() if each.actor == "token:assistant"]
    said = [each.details.decode() for each in acts]
    for reason in ("seen by the shift", "maintenance", "maintenance is over"):
        assert any(f'"{reason}"' in details for details in said), reason


@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("show_task", {}, "'task_id' is a required property"),
        ("show_task", {"task_id": 7}, "7 is not of type 'string'"),
        ("show_task", {"task_id": "x", "sql": "drop table"}, "unexpected"),
        ("list_tasks", {"where": "stat = 1"}, "expected a field, found 'stat'"),
        ("list_tasks", {"limit": 100_000}, "is greater than the maximum"),
        ("drop_everything", {}, "expected one that is listed, found none such"),
    ],
)
async def test_wrong_calls_are_answered_with_what_was_expected(
    connected: Connected, tool: str, arguments: dict[str, object], found: str
) -> None:
    async with connected(None) as assistant:
        result = await assistant.call_tool(tool, arguments)
    assert result.is_error and found in text_of(result)


async def test_a_tool_that_changes_something_needs_a_role_that_acts_and_a_reason(
    connected: Connected, made: Made
) -> None:
    acting = {choice.operation: choice for choice in ACTS}
    async with connected(await made("operator")) as assistant:
        listed = {tool.name: tool for tool in (await assistant.list_tools()).tools}
    assert set(listed) == {choice.operation for choice in (*READS, *ACTS)}
    for name, choice in acting.items():
        schema = listed[name].input_schema
        assert not choice.reason or choice.reason in schema["required"], name
    assert {choice.operation for choice in ACTS if not choice.reason} == {"preview_batch"}
    assert not set(acting) & {choice.operation for choice in offered({"role": "viewer"})}


async def test_tools_that_only_look_are_routes_that_change_nothing(connected: Connected) -> None:
    from stepward.http.api.routes import API_ROUTES

    permissions = {handler.handler_name: handler.opt["permission"] for handler in API_ROUTES}
    assert {permissions[choice.operation] for choice in READS} <= READING
    assert not {permissions[choice.operation] for choice in ACTS} & READING
    assert "Never" not in permissions
