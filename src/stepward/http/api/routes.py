"""All routes of ``/api/v1``."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from stepward.http.api import alerts, batches, completions, limits, schedules, system
from stepward.http.api.tasks import diagnosis, live_values, proposals, streams, submissions, task_acts, task_reads

API_ROUTES: tuple[HTTPRouteHandler, ...] = (
    task_reads.list_tasks,
    submissions.submit_task,
    task_reads.show_task,
    task_reads.list_steps,
    task_reads.list_acts,
    task_reads.show_history,
    diagnosis.diagnose_task,
    streams.follow_task,
    streams.follow_tasks,
    live_values.list_values,
    live_values.list_streams,
    live_values.follow_stream,
    task_acts.preview_repair,
    task_acts.cancel_task,
    task_acts.undo_task,
    task_acts.suspend_task,
    task_acts.resume_task,
    task_acts.resubmit_task,
    task_acts.mark_step_done,
    task_acts.signal_task,
    proposals.list_proposals,
    proposals.confirm_proposal,
    completions.complete_step,
    system.show_principal,
    system.list_agents,
    system.list_agent_stats,
    system.suspend_agent,
    system.resume_agent,
    system.list_instances,
    schedules.list_schedules,
    schedules.create_schedule,
    schedules.trigger_schedule,
    schedules.backfill_schedule,
    schedules.pause_schedule,
    schedules.resume_schedule,
    schedules.remove_schedule,
    *limits.LIMIT_ROUTES,
    *batches.BATCH_ROUTES,
    alerts.list_alerts,
    alerts.acknowledge_alert,
    alerts.list_sinks,
    alerts.send_sink_test,
    alerts.list_receipts,
    alerts.list_audit,
    alerts.list_letters,
    alerts.put_back_letters,
    alerts.discard_letters,
)
