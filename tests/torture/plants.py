"""Ways in which a run's books may be wrong: each breaks one thing that the torture must notice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from torture.application.ledger import LedgerEntry
from torture.books import HeardEvent, RecordedAlert, RecordedDecision, RecordedStep, RecordedTask, Records
from torture.faults.foreign_store import Trespass

T = TypeVar("T")
Plant = Callable[[Records], None]
LATE_SECONDS = 5.0


def a_task_deleted(books: Records) -> None:
    books.tasks.remove(_task(books, "plain"))


def a_task_nobody_asked_for(books: Records) -> None:
    books.tasks.append(replace(_task(books, "plain"), id="plain-0", uid="0"))


def a_task_left_half_way(books: Records) -> None:
    _task(books, "plain").state = "pending"


def a_task_undone_that_was_to_be_done(books: Records) -> None:
    _task(books, "booking").state = "undone"


def a_task_still_held(books: Records) -> None:
    _task(books, "plain").locked_by = "scheduler-1"


def a_child_lost(books: Records) -> None:
    books.tasks.remove(_task(books, "child"))


def an_error_without_an_alert(books: Records) -> None:
    books.alerts.clear()


def an_alert_for_nothing(books: Records) -> None:
    books.alerts.append(RecordedAlert("internal", None, "a bug"))


def a_refusal_of_the_broker_that_nobody_caused(books: Records) -> None:
    books.alerts.append(
        RecordedAlert("queue_refused", None, "queue agents.service: expected RabbitMQ to take its messages")
    )


def a_nominal_time_missed(books: Records) -> None:
    books.tasks.remove(_task(books, "tick"))


def a_nominal_time_fired_twice(books: Records) -> None:
    books.tasks.append(replace(_task(books, "tick"), uid="0", id="minutely@2026-01-01T00:00:00Z"))


def a_booked_row_lost(books: Records) -> None:
    books.booked.pop()


def a_booked_row_doubled(books: Records) -> None:
    books.booked.append(books.booked[0])


def an_accepted_row_lost(books: Records) -> None:
    books.placed.pop()


def an_accepted_row_doubled(books: Records) -> None:
    books.placed.append(books.placed[0])


def a_ledger_that_does_not_deduplicate(books: Records) -> None:
    entry = _entry(books, "plain", "do", "a")
    books.entries.append(replace(entry, number=_next(books)))


def a_second_key_for_one_step(books: Records) -> None:
    entry = _entry(books, "plain", "do", "a")
    books.entries.append(replace(entry, number=_next(books), key=_entry(books, "plain", "do", "b").key))


def a_key_of_no_step(books: Records) -> None:
    _entry(books, "plain", "do", "a").key = "nobody/1/service.act/1"


def an_effect_lost(books: Records) -> None:
    books.entries.remove(_entry(books, "plain", "do", "b"))


def effects_out_of_order(books: Records) -> None:
    _swap(_entry(books, "parallel", "do", "a"), _entry(books, "parallel", "do", "e"))


def an_undo_lost(books: Records) -> None:
    books.entries.remove(_entry(books, "refused", "undo", "b"))


def undos_swapped(books: Records) -> None:
    _swap(_entry(books, "refused", "undo", "a"), _entry(books, "refused", "undo", "c"))


def an_effect_after_its_undo(books: Records) -> None:
    _entry(books, "refused", "do", "c").number = _next(books)


def something_undone_that_was_to_stand(books: Records) -> None:
    entry = _entry(books, "plain", "do", "c")
    books.entries.append(replace(entry, number=_next(books), key=f"{entry.key}~undo", verb="undo"))


def an_effect_of_nobody(books: Records) -> None:
    books.entries.append(replace(_entry(books, "plain", "do", "a"), number=_next(books), task="nobody"))


def a_step_answered_past_its_time(books: Records) -> None:
    key = _entry(books, "plain", "do", "a").key
    for call in books.calls:
        if call.key == key:
            call.at = call.complete_by + LATE_SECONDS


def a_step_answered_past_its_time_on_a_clock_that_was_moved(books: Records) -> None:
    """By the right time it was early enough; the server's clock had been ahead for long."""
    books.times = [(0.0, 3600.0, 1.0)]


def a_dump_without_what_was_acknowledged(books: Records) -> None:
    books.snapshots[0].seen.remove(books.snapshots[0].acknowledged[0])


def a_snapshot_that_changed(books: Records) -> None:
    books.snapshots[0].again.append("plain-0")


def an_effect_by_an_agent_of_the_second_application(books: Records) -> None:
    books.beside = replace(books, steps=[], calls=books.calls[:1])


def an_effect_of_the_second_application_by_our_agent(books: Records) -> None:
    books.beside = replace(books, calls=[])
    books.steps = []


def another_stores_process_that_began(books: Records) -> None:
    books.trespasses.append(Trespass("agent", True, ""))


def a_step_finished_by_the_narrow_login(books: Records) -> None:
    books.stolen.append("nobody/1/visits.visit/1")


def a_flood_that_stopped_another_queue(books: Records) -> None:
    books.intrusions[0].others = 0


def a_migration_that_stopped_everything(books: Records) -> None:
    books.migrations[0].longest = 90.0


def a_migration_in_which_nothing_was_done(books: Records) -> None:
    books.migrations[-1].ended = 0


def a_migration_left_half_way(books: Records) -> None:
    assert books.standing is not None
    books.standing.parts = 1


def a_migration_lost(books: Records) -> None:
    assert books.standing is not None
    books.standing.version -= 1


def an_index_left_unfinished(books: Records) -> None:
    assert books.standing is not None
    books.standing.unfinished = 1


def a_step_deleted(books: Records) -> None:
    books.steps.remove(_steps(books, "plain")[1])


def an_outcome_delivered_twice(books: Records) -> None:
    first, second, *_ = _steps(books, "plain")
    second.ordinal = first.ordinal


def a_step_left_running(books: Records) -> None:
    _steps(books, "plain")[2].state = "running"


def an_attempt_decided_twice(books: Records) -> None:
    step = _steps(books, "plain")[0]
    books.decisions += [RecordedDecision("repeat", step.task, step.key, step.run, 1)] * 2


def an_audit_rewritten(books: Records) -> None:
    books.unchained = 1


def an_event_lost(books: Records) -> None:
    books.heard.remove(_heard(books)[1])


def the_last_event_lost(books: Records) -> None:
    books.heard.remove(_heard(books)[-1])


def events_out_of_order(books: Records) -> None:
    first, second, *_ = (books.heard.index(event) for event in _heard(books))
    books.heard[first], books.heard[second] = books.heard[second], books.heard[first]


def an_event_that_comes_again_as_another(books: Records) -> None:
    books.heard.append(replace(_heard(books)[0], type="stepward.task.undone"))


def an_event_of_nobody(books: Records) -> None:
    books.heard.append(HeardEvent("x/1", "stepward.request.received", "nobody", 1))


def a_message_left_over(books: Records) -> None:
    books.queued["submissions.torture.orders"] = 1


def a_dead_letter(books: Records) -> None:
    books.letters.append("taken 5 times")


def somebody_alive_after_the_end(books: Records) -> None:
    books.alive.append("scheduler-1")


def an_inbox_unread(books: Records) -> None:
    _task(books, "asked").unread = ["signal", "cancel"]


PLANTS: dict[Plant, str] = {
    a_task_deleted: "lost",
    a_task_nobody_asked_for: "nobody asked for",
    a_task_left_half_way: "expected processed, found pending",
    a_task_undone_that_was_to_be_done: "expected processed, found undone",
    a_task_still_held: "expected nobody to hold it",
    a_child_lost: "expected 1 child, found 0",
    an_error_without_an_alert: "expected 1 alerts of its error, found 0",
    an_alert_for_nothing: "alert that no fault explains",
    a_refusal_of_the_broker_that_nobody_caused: "alert that no fault explains: queue_refused",
    a_nominal_time_missed: "lost",
    a_nominal_time_fired_twice: "nobody asked for",
    a_booked_row_lost: "expected 1 rows of its transaction step, found 0",
    a_booked_row_doubled: "expected 1 rows of its transaction step, found 2",
    an_accepted_row_lost: "expected 1 rows of its acceptance, found 0",
    an_accepted_row_doubled: "expected 1 rows of its acceptance, found 2",
    a_ledger_that_does_not_deduplicate: "took effect 2 times under one key",
    a_second_key_for_one_step: "a was done 2 times",
    a_key_of_no_step: "is the key of no step",
    an_effect_lost: "expected the effects ['a', 'b', 'c'], found ['a', 'c']",
    effects_out_of_order: "expected its effects in the order",
    an_undo_lost: "the effect of b stands",
    undos_swapped: "expected undos in the order",
    an_effect_after_its_undo: "c took effect after its undo",
    something_undone_that_was_to_stand: "['c'] were undone",
    an_effect_of_nobody: "there is no such task",
    a_step_answered_past_its_time: "no attempt reached the service within its complete-by",
    a_step_answered_past_its_time_on_a_clock_that_was_moved: "no attempt reached the service within its complete-by",
    a_dump_without_what_was_acknowledged: "was acknowledged before snapshot 1 of pg_dump, and is not in it",
    a_snapshot_that_changed: "changed while it was held",
    an_effect_by_an_agent_of_the_second_application: "an Agent of the second application was asked for it",
    an_effect_of_the_second_application_by_our_agent: "an Agent of the first application was asked for it",
    another_stores_process_that_began: "of another store began under the name: agent",
    a_step_finished_by_the_narrow_login: "was finished by a reply that the narrow login made up",
    a_flood_that_stopped_another_queue: "intrusion 1, floods: expected steps of the other Agent to end, found none",
    a_migration_that_stopped_everything: "expected steps to end all the while, found none for 90 s",
    a_migration_in_which_nothing_was_done: "expected steps to end meanwhile, found none",
    a_migration_left_half_way: "and 1 parts of the next",
    a_migration_lost: "tables: expected version",
    an_index_left_unfinished: "expected every index whole, found 1",
    a_step_deleted: "without a gap",
    an_outcome_delivered_twice: "expected outcomes delivered as",
    a_step_left_running: "expected it over, found running",
    an_attempt_decided_twice: "expected one decision on an attempt, found 2",
    an_audit_rewritten: "chain is broken",
    an_event_lost: "was heard after",
    the_last_event_lost: "were heard",
    events_out_of_order: "was heard after",
    an_event_that_comes_again_as_another: "came again as another",
    an_event_of_nobody: "was told of, and is no task",
    a_message_left_over: "expected it empty, found 1 messages",
    a_dead_letter: "a dead letter that nobody wrote",
    somebody_alive_after_the_end: "passes for alive",
    an_inbox_unread: "nobody has read what it was told",
}
"""Each with what is said of it."""


def _task(books: Records, workflow: str) -> RecordedTask:
    return next(task for task in books.tasks if task.workflow == workflow)


def _steps(books: Records, workflow: str) -> Sequence[RecordedStep]:
    uid = _task(books, workflow).uid
    return [step for step in books.steps if step.task == uid]


def _entry(books: Records, workflow: str, verb: str, what: str) -> LedgerEntry:
    id = _task(books, workflow).id
    return next(each for each in books.entries if (each.task, each.verb, each.what) == (id, verb, what))


def _heard(books: Records) -> Sequence[HeardEvent]:
    return [event for event in books.heard if event.subject == books.heard[0].subject]


def _next(books: Records) -> int:
    return max(entry.number for entry in books.entries) + 1


def _swap(one: LedgerEntry, other: LedgerEntry) -> None:
    one.number, other.number = other.number, one.number
