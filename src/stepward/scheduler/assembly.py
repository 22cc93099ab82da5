"""Builds a Scheduler: every part is handed parts that were built before it."""

from __future__ import annotations

from collections.abc import Mapping

from stepward.runtime.threads import Threads
from stepward.scheduler.admission.agent_rooms import Rooms
from stepward.scheduler.admission.fair_share import Room
from stepward.scheduler.admission.windows import LOCAL, LOCAL_ROOM, TRANSACTIONS, Windows
from stepward.scheduler.agent_replies.progress import ProgressUpdates
from stepward.scheduler.agent_replies.replies import Replies, ReplyReceiver
from stepward.scheduler.agent_replies.reply_settlement import ReplySettlement
from stepward.scheduler.claiming import Claiming
from stepward.scheduler.commits import Commits, Conclusions, Listeners, WorkAhead
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.dispatch.dispatcher import Dispatcher, RequestFates, StepStarts
from stepward.scheduler.dispatch.local_steps import LocalSteps
from stepward.scheduler.dispatch.lost_messages import LostMessages
from stepward.scheduler.dispatch.publisher import Publisher
from stepward.scheduler.draining import Draining
from stepward.scheduler.intake import Intake, LocalSubmissions
from stepward.scheduler.scheduler import Scheduler
from stepward.scheduler.tasks.advance import Advance
from stepward.scheduler.tasks.inbox import Inbox
from stepward.scheduler.tasks.records.former_runs import FormerRuns
from stepward.scheduler.tasks.records.loading import TaskLoader
from stepward.scheduler.tasks.records.replay_check import ReplayCheck
from stepward.scheduler.tasks.task_cache import ActiveTasks, Misses
from stepward.scheduler.tasks.task_inputs import Incoming
from stepward.scheduler.tasks.transitions import Transitions
from stepward.scheduler.tasks.turn_end import Closing
from stepward.scheduler.tasks.undo import TaskUndo
from stepward.scheduler.turn import Turn, TurnLoop, Wakeup
from stepward.scheduler.turn_budget import TurnBudget
from stepward.scheduler.turn_meter import TurnMeter


def assemble(
    context: SchedulerContext,
    rooms: Mapping[str, Room],
    submissions: LocalSubmissions,
    listeners: Listeners,
    *,
    threads: bool,
) -> Scheduler:
    """The Scheduler of an instance, which takes the submissions of its process from now on.

    ``rooms`` is the room that Agents give it at first; with ``threads`` it has some for plain local steps.
    """
    store, settings, observers, now = context.store, context.settings, context.observers, context.store.now
    transport, registry, environment, queue = context.transport, context.registry, context.environment, context.reply_to
    clock, wakeup, misses, budget = environment.clock, Wakeup(), Misses(), TurnBudget(environment.clock)
    rooms = {**rooms, LOCAL: LOCAL_ROOM, TRANSACTIONS: Room(store.transactional_steps)}
    windows = Windows(rooms)
    room = Rooms(windows, rooms, wakeup.stir)

    check, runs = ReplayCheck(registry, observers, enabled=settings.replay_check), FormerRuns(registry)
    tasks, starts = ActiveTasks(windows, check, settings), StepStarts(windows)
    ends = Transitions(windows, settings)
    forward = Advance(registry, windows, settings, ends, starts, context.failures)
    undo = TaskUndo(registry, windows, ends, starts)
    incoming = Incoming(tasks, forward, undo, ends, windows, starts, observers)
    inbox = Inbox(tasks, forward, undo, ends, incoming, registry, settings)
    closing = Closing(tasks, forward, undo, ends, runs, check, budget)

    replies, progress = Replies(wakeup.stir), ProgressUpdates(store, observers)
    ahead = WorkAhead(replies, tasks, incoming, TurnBudget(clock), now)
    settlement = ReplySettlement(context, replies.kept)
    receiver = ReplyReceiver(context, wakeup.stir, replies, settlement, ahead.answer, progress.add)
    local = LocalSteps(context, replies.add, replies.is_kept, _threads() if threads else None)
    fates = RequestFates(tasks, now)
    publisher = Publisher(transport, environment, observers, over=fates.left, fate=fates.of, changed=room.set_unreached)
    dispatcher = Dispatcher(context, publisher, local, fates, tasks)
    lost = LostMessages(transport, publisher, tasks, starts, queue, now, observers)
    loader = TaskLoader(tasks, forward, undo, ends, inbox, runs, check, windows, starts, local, lost, context)
    claiming = Claiming(context, tasks, loader, ends, windows)
    intake = Intake(context, tasks, loader, forward, ends, check, inbox, claiming, submissions, misses, budget)
    submissions.serve(intake, wakeup.stir)
    conclusions = Conclusions(closing, tasks, replies, submissions, misses, intake, listeners, observers)
    turn = Turn(
        *(store, intake, replies, settlement, tasks, incoming, closing, starts, Commits(context, ahead), conclusions),
        *(dispatcher, windows, budget, TurnMeter(observers, clock)),
    )
    turns = TurnLoop(context, wakeup, turn)
    parts = (context, wakeup, windows, room, tasks, submissions, intake, receiver, progress, local, dispatcher, lost)
    return Scheduler(*parts, turns, Draining(context, wakeup, tasks, submissions, dispatcher, turns))


def _threads() -> Threads:
    """The threads of plain local steps."""
    return Threads(LOCAL_ROOM.requests, "local-step")
