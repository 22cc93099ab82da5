"""The meaning of each kind of alert, in one line; ``docs/operations.md`` says more."""

from __future__ import annotations

MEANINGS = {
    "task_error": "a step failed for good, or workflow code has a bug: fix the cause, then resubmit",
    "undo_failed": "an undo could not be carried out: look at what is undone and in doubt; resubmit goes on",
    "in_doubt": "a task was undone, but steps without an undo may have acted",
    "late_effect_after_undo": "a success came for a step whose undo had begun: check its effect by hand",
    "late_effect": "a success came for an attempt that was said not to have happened: check its effect by hand",
    "non_deterministic": "workflow code does not fit the record of tasks under way: they wait for code that fits",
    "unreadable_reply": "an Agent sent what cannot be recorded: the attempt counts as possibly executed",
    "unreadable_inbox": "what stood in a task's inbox could not be read; some other program writes there",
    "unserved": "tasks wait for a workflow version, or steps for an Agent, that no instance serves",
    "mixed_code": "live Schedulers serve different code under one version: restart the one that is out of date",
    "queue_refused": "a broker refuses what a queue is asked: see What a broker refuses in the handbook",
    "queue_unserved": "messages wait in a queue that no process reads: start the process that does",
    "foreign_store": "messages of another store came over the broker: two applications of one name share it",
    "old_wire": "messages came from a process of an older version: end it and start the new one",
    "unproven_message": "messages came without their proof: some program writes into the application's queues",
    "dead_letter": "messages in a queue cannot be used: look at the dead letters",
    "refused_completions": "steps are completed with tokens that are forged, used or over: the audit says by whom",
    "archive": "the archive cannot be written, so nothing is deleted",
    "standby_missing": "fewer standbys confirm commits than were asked for",
    "task_late": "tasks have used most of the time until their deadline: see what they wait for",
    "queue_old": "messages or tasks wait for longer than they may: see whether their consumers keep up",
    "lease_late": "a process renews its lease late: its host is overloaded, or its code blocks the event loop",
    "disk_low": "the disk of the store or of the archive is nearly full: make room",
    "standby_behind": "a standby does not keep up with the primary: a failover would lose or wait for that much",
    "key_missing": "a batch waits for a key of encryption that the leading Supervisor lacks",
    "schedule_late": "a schedule started a task late, or left a time out: see why no Supervisor ran",
    "schedule_failed": "schedules cannot be fired, and the others are: correct or remove those that it names",
    "sink_test": "an operator tests a sink",
    "webhook_disabled": "a webhook took no event for two days: mend its receiver, then enable it",
    "internal": "one task's data broke a Scheduler's own code; the others go on",
    "change_refused": "one task's data does not fit the store; the others go on",
}
"""By the kind of the alert."""


PAGES = {
    "dead_letter": ("/dead-letters", "the dead letters"),
    "unproven_message": ("/dead-letters", "the dead letters"),
    "webhook_disabled": ("/alerts#webhooks", "the webhooks"),
    "unserved": ("/instances", "the instances"),
    "mixed_code": ("/instances", "the instances"),
    "lease_late": ("/instances", "the instances"),
    "task_late": ("/tasks?where=deadline%20%3C%20%27in%201h%27", "tasks due within the hour"),
    "schedule_failed": ("/schedules", "the schedules"),
    "refused_completions": ("/audit", "the audit"),
}
"""By the kind of an alert without a task: the console's page that shows the cause, and what it is called."""


def meaning_of(kind: str) -> str:
    """The meaning of alerts of that kind; empty for a kind that this version does not know."""
    return MEANINGS.get(kind, "")
