"""The judge: which rung of which ladder, and that its decisions fit the tables of moves."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepward.model.records import InboxKind
from stepward.model.states import STEP_MOVES, StepKind, StepState, TaskState
from stepward.policies import Backoff, LastRung, LongWait, Supervision
from stepward.store.contract import Decision, ExpiredStep, ExpiredTask
from stepward.supervisor.judge import judge, judge_task

NOW = 1000.0
LADDER = Supervision(
    threshold=2,
    backoff=Backoff("1s", factor=2.0, maximum="1m"),
    then=LongWait("1h", times=2, then=LongWait("1d", times=1, then="undo")),
)


def expired(policy: Supervision | None = None, **changes: Any) -> ExpiredStep:
    step = ExpiredStep(
        task="uid-1",
        task_id="order-1",
        run=3,
        key="payments.charge/1",
        attempt=1,
        failure_count=0,
        kind=StepKind.OPERATION,
        complete_by=990.0,
        task_state=TaskState.PROCESSING,
        workflow="order",
        version="1",
        policy=policy.to_json() if policy else None,
        error=None,
    )
    return msgspec.structs.replace(step, **changes)


def error_of(decision: Decision) -> dict[str, Any]:
    assert decision.error is not None
    error: dict[str, Any] = msgspec.json.decode(decision.error)
    return error


def test_a_step_climbs_the_whole_ladder() -> None:
    decisions = [judge(expired(LADDER, failure_count=n, attempt=n + 1), NOW) for n in range(6)]
    waits = [decision.repeat_at and decision.repeat_at - NOW for decision in decisions]
    assert waits == [1, 2, 3600, 3600, 86_400, None]
    assert [decision.state for decision in decisions] == [StepState.TO_REPEAT] * 5 + [StepState.FAILED]
    assert [decision.audit.act for decision in decisions] == ["repeat"] * 5 + ["undo"]
    assert [decision.attempt for decision in decisions] == [1, 2, 3, 4, 5, 6]


@given(st.integers(0, 30), st.integers(1, 30), st.sampled_from(["alert", "undo", "raise"]))
def test_a_step_is_repeated_as_often_as_its_policy_allows(threshold: int, times: int, last: LastRung) -> None:
    policy = Supervision(threshold=threshold, then=LongWait("1h", times=times, then=last))
    allowed = threshold + times
    assert judge(expired(policy, failure_count=allowed - 1), NOW).state is StepState.TO_REPEAT
    assert judge(expired(policy, failure_count=allowed), NOW).state is StepState.FAILED
    assert judge(expired(policy, failure_count=allowed + 1000), NOW).state is StepState.FAILED


def test_without_a_threshold_the_first_expiry_is_the_last() -> None:
    assert judge(expired(Supervision(threshold=0)), NOW).state is StepState.FAILED


def test_a_repeat_names_the_step_for_the_owner() -> None:
    decision = judge(expired(LADDER, error=b'{"message":"busy"}'), NOW, actor="supervisor/s1")
    (post,) = decision.posts
    assert (post.task, post.kind, post.name) == ("uid-1", InboxKind.STEP, "3/payments.charge/1")
    assert post.sender == "supervisor/s1"
    assert error_of(decision)["earlier"] == [{"message": "busy"}]


@pytest.mark.parametrize(
    ("then", "kind", "act"),
    [("alert", InboxKind.FAIL, "fail"), ("undo", InboxKind.UNDO, "undo"), ("raise", InboxKind.STEP, "raise")],
)
def test_the_last_rung_fails_the_step_and_posts_what_follows(then: LastRung, kind: InboxKind, act: str) -> None:
    decision = judge(expired(Supervision(then=then), failure_count=3, attempt=4), NOW)
    (post,) = decision.posts
    assert (post.kind, post.name) == (kind, "3/payments.charge/1")
    assert (decision.state, decision.repeat_at, decision.attempt) == (StepState.FAILED, None, 4)
    assert decision.audit.act == act
    assert error_of(decision) == {
        "message": "payments.charge/1 did not finish within its complete-by 4 times",
        "type": "StepExpired",
        "step": "payments.charge/1",
        "data": {},
        "attempt": 4,
        "expired": 4,
        "failures": 4,
        "maybe_done": True,
        "in_doubt": ["payments.charge/1"],
    }
    assert post.body == (b"null" if kind is InboxKind.STEP else decision.error)


def test_the_error_contains_the_agents_last_report() -> None:
    last = b'{"message":"503 from bank","type":"HttpError","data":{"status":503}}'
    error = error_of(judge(expired(Supervision(threshold=0), error=last), NOW))
    assert error["message"].endswith("within its complete-by 1 time; last error: 503 from bank")
    assert error["data"] == {"status": 503}


OWN = b'{"message":"503 from bank","type":"HttpError","data":{"status":503},"at":"bank.py:8 in charge","attempt":2}'


def test_an_attempt_that_failed_by_itself_keeps_its_own_error() -> None:
    error = error_of(judge(expired(Supervision(threshold=0), error=OWN, attempt=2, failure_count=1), NOW))
    assert (error["message"], error["type"], error["at"]) == ("503 from bank", "HttpError", "bank.py:8 in charge")
    assert (error["data"], error["attempt"], error["failures"]) == ({"status": 503}, 2, 2)


def test_a_repeated_step_keeps_its_attempts_error() -> None:
    assert judge(expired(LADDER, error=OWN, attempt=2, failure_count=1), NOW).error == OWN
    assert error_of(judge(expired(LADDER, error=OWN, attempt=3, failure_count=1), NOW))["type"] == "StepExpired"


def test_only_attempts_that_ran_out_of_time_count_as_expired() -> None:
    error = error_of(judge(expired(Supervision(threshold=0), error=OWN, attempt=3, failure_count=2), NOW))
    assert error["message"] == (
        "payments.charge/1 did not finish within its complete-by 2 times; last error: 503 from bank"
    )
    known = OWN.replace(b'"attempt":2', b'"attempt":2,"expired":0')
    first = judge(expired(LADDER, error=known, attempt=3, failure_count=2), NOW)
    assert error_of(first)["message"].startswith("payments.charge/1 did not finish within its complete-by 1 time;")
    second = error_of(judge(expired(Supervision(threshold=0), error=first.error, attempt=4, failure_count=3), NOW))
    assert second["message"].startswith("payments.charge/1 did not finish within its complete-by 2 times;")
    assert second["message"].endswith("last error: 503 from bank")
    assert [each["attempt"] for each in second["earlier"]] == [2, 3]


def test_the_pause_after_an_attempt_that_failed_by_itself_counts_from_its_failure() -> None:
    policy = Supervision(backoff=Backoff("100ms", factor=1.0))
    failed = expired(policy, error=OWN, attempt=2, complete_by=NOW - 0.03)
    assert judge(failed, NOW).repeat_at == pytest.approx(NOW + 0.07)
    assert judge(msgspec.structs.replace(failed, complete_by=NOW - 5), NOW).repeat_at == NOW


def test_a_transaction_that_has_not_committed_is_in_no_doubt() -> None:
    decision = judge(expired(Supervision(threshold=0), kind=StepKind.TRANSACTION), NOW)
    assert (decision.in_doubt, error_of(decision)["maybe_done"], error_of(decision)["in_doubt"]) == (False, False, [])
    assert judge(expired(), NOW).in_doubt


@pytest.mark.parametrize("damaged", [b"", b"[]", b"{", b"\xff", b"null", b'{"data":null,"message":null}'])
def test_a_damaged_last_error_stops_no_judgement(damaged: bytes) -> None:
    assert error_of(judge(expired(Supervision(threshold=0), error=damaged), NOW))["data"] == {}


@pytest.mark.parametrize("data", [b'{"a":' * 150 + b"1" + b"}" * 150, b'{"a":"' + b"x" * 2**20 + b'"}'])
def test_data_of_an_agent_that_are_too_much_stop_no_judgement(data: bytes) -> None:
    last = b'{"message":"no more","data":%b}' % data
    error = error_of(judge(expired(Supervision(threshold=0, then="alert"), error=last), NOW))
    assert error["data"] == {}
    assert "no more" in error["message"]


def test_a_long_last_error_is_cut() -> None:
    last = msgspec.json.encode({"message": "x" * 100_000})
    assert len(error_of(judge(expired(Supervision(threshold=0), error=last), NOW))["message"]) == 1000


@pytest.mark.parametrize("then", ["alert", "undo", "raise", LongWait("1h", then="undo")])
def test_an_undo_that_keeps_failing_ends_with_an_alert(then: LastRung | LongWait) -> None:
    undoing: dict[str, Any] = {"kind": StepKind.UNDO, "task_state": TaskState.UNDOING}
    policy = Supervision(threshold=1, then=then)
    assert judge(expired(policy, **undoing), NOW).state is StepState.TO_REPEAT
    decision = judge(expired(policy, failure_count=1, **undoing), NOW)
    assert (decision.state, decision.posts[0].kind) == (StepState.FAILED, InboxKind.FAIL)


def test_once_undo_began_nothing_is_repeated_forward() -> None:
    decision = judge(expired(LADDER, task_state=TaskState.UNDOING), NOW)
    assert (decision.state, decision.posts[0].kind) == (StepState.FAILED, InboxKind.STEP)
    assert error_of(decision)["in_doubt"] == ["payments.charge/1"]


@pytest.mark.parametrize("policy", [None, b"", b"{}", b'{"threshold":-1,"backoff":[1,2,3],"then":"alert"}'])
def test_a_missing_or_damaged_policy_counts_as_the_default(policy: bytes | None) -> None:
    decisions = [judge(expired(policy=None, failure_count=n), NOW) for n in range(4)]
    damaged = [judge(msgspec.structs.replace(expired(failure_count=n), policy=policy), NOW) for n in range(4)]
    assert damaged == decisions
    assert [decision.repeat_at for decision in decisions] == [NOW + 1, NOW + 2, NOW + 4, None]


@given(st.sampled_from(StepKind), st.sampled_from(TaskState), st.integers(0, 20), st.sampled_from([None, LADDER]))
def test_every_decision_is_a_legal_move_with_one_post_and_its_audit(
    kind: StepKind, state: TaskState, failures: int, policy: Supervision | None
) -> None:
    step = expired(policy, kind=kind, task_state=state, failure_count=failures, attempt=failures + 1)
    decision = judge(step, NOW, actor="supervisor/s1")
    assert decision.state in STEP_MOVES[StepState.RUNNING]
    assert (decision.repeat_at is None) == (decision.state is StepState.FAILED)
    assert len(decision.posts) == 1
    audit = decision.audit
    assert (audit.actor, audit.task, audit.step, audit.at) == ("supervisor/s1", "uid-1", step.key, NOW)
    assert (audit.before, audit.after) == ("running", decision.state)
    assert msgspec.json.decode(audit.details) == {
        "run": 3,
        "attempt": step.attempt,
        "failure_count": failures + 1,
    }


def test_waits_within_the_threshold_never_shrink() -> None:
    policy = Supervision(threshold=50)
    waits = [judge(expired(policy, failure_count=n), NOW).repeat_at or 0 for n in range(50)]
    assert all(before <= after for before, after in pairwise(waits))
    assert max(waits) == NOW + 60


def expired_task(policy: Supervision | None = None, state: TaskState = TaskState.WAITING) -> ExpiredTask:
    return ExpiredTask(
        task="uid-1",
        task_id="order-1",
        state=state,
        deadline=990.0,
        policy=policy.to_json() if policy else None,
    )


@pytest.mark.parametrize(
    ("policy", "kind", "act", "after"),
    [
        (None, InboxKind.FAIL, "fail", "error"),
        (Supervision(then="raise"), InboxKind.FAIL, "fail", "error"),
        (LADDER, InboxKind.UNDO, "undo", "undoing"),
    ],
)
def test_a_task_past_its_complete_by_goes_to_the_last_rung(
    policy: Supervision | None, kind: InboxKind, act: str, after: str
) -> None:
    verdict = judge_task(expired_task(policy), NOW, actor="supervisor/s1")
    assert verdict is not None
    assert (verdict.post.task, verdict.post.kind, verdict.post.sender) == ("uid-1", kind, "supervisor/s1")
    error = msgspec.json.decode(verdict.post.body)
    assert (error["type"], error["message"]) == (
        "TaskExpired",
        "task order-1 was not done by its complete-by",
    )
    audit = verdict.audit
    assert (audit.actor, audit.act, audit.before, audit.after) == ("supervisor/s1", act, "waiting", after)


@pytest.mark.parametrize("state", [TaskState.UNDOING, TaskState.PROCESSED, TaskState.ERROR, TaskState.UNDONE])
def test_no_deadline_reaches_a_task_that_is_undoing_or_over(state: TaskState) -> None:
    assert judge_task(expired_task(LADDER, state), NOW) is None


@pytest.mark.parametrize(("failures", "again"), [(0, True), (2, True), (3, False), (9, False)])
def test_the_patterns_rule_gives_a_new_deadline_up_to_the_threshold(failures: int, again: bool) -> None:
    policy = Supervision(threshold=3, at_deadline="repeat").to_json()
    task = ExpiredTask(
        task="uid",
        task_id="order",
        state=TaskState.PROCESSING,
        deadline=990.0,
        policy=policy,
        failure_count=failures,
        allowed=60.0,
    )
    verdict = judge_task(task, 1000.0)
    assert verdict is not None
    assert (verdict.post.kind, verdict.deadline) == ((InboxKind.STEP, 1060.0) if again else (InboxKind.FAIL, None))
    assert verdict.audit.act == ("repeat" if again else "fail")
