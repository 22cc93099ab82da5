"""The kinds of changes that a notification between processes names: each process looks only for its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from stepward.model.messages.requests import reply_queue, request_queue
from stepward.model.records import Task

Kinds: TypeAlias = int
"""A union of the flags below; between processes it travels as one byte, or as its decimal digits."""

TASKS = 1
"""Tasks without an owner: new, released, or due by now."""
INBOX = 2
"""Inbox rows of tasks that have an owner."""
REQUESTS = 4
"""Messages in the queues of Agents."""
REPLIES = 8
"""Messages in the queues of Schedulers, and in private response queues."""
MESSAGES = 16
"""Messages in all other queues."""
PROGRESS = 32
"""Ends of tasks, and what tasks write for readers."""
SUPERVISION = 64
"""Failed attempts and alerts."""
EVERYTHING = 255
"""All of these, and those of later versions; it is said where the kinds are not known."""

QUEUES = (REQUESTS, REPLIES, MESSAGES)
"""The kinds of messages, by queue."""


def of_queue(queue: str) -> Kinds:
    """The kind of a message in that queue."""
    if queue.startswith(request_queue("")):
        return REQUESTS
    return REPLIES if queue.startswith(reply_queue("")) else MESSAGES


def of_submissions(tasks: Sequence[Task]) -> Kinds:
    """The kinds of new tasks, whose receipt may be an event in a queue."""
    for task in tasks:
        if task.reply_to is not None or task.events_to is not None:
            return TASKS | REPLIES | MESSAGES
    return TASKS


def received(sent: int) -> Kinds:
    """The kinds of a notification; that of an earlier version, 0, means everything."""
    return sent & EVERYTHING or EVERYTHING
