"""All routes of ``/api/v1``."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

from stepward.http.api import acts, alerts, completions, streams, submitting, system, tasks

API_ROUTES: tuple[HTTPRouteHandler, ...] = (
    tasks.list_tasks,
    submitting.submit_task,
    tasks.show_task,
    tasks.list_steps,
    tasks.list_acts,
    tasks.show_history,
    streams.follow_task,
    acts.preview_repair,
    acts.cancel_task,
    acts.undo_task,
    acts.suspend_task,
    acts.resume_task,
    acts.resubmit_task,
    acts.mark_step_done,
    acts.signal_task,
    completions.complete_step,
    system.show_principal,
    system.list_agents,
    system.suspend_agent,
    system.resume_agent,
    system.list_instances,
    system.list_schedules,
    system.pause_schedule,
    system.resume_schedule,
    system.remove_schedule,
    alerts.list_alerts,
    alerts.acknowledge_alert,
    alerts.list_audit,
    alerts.list_letters,
    alerts.put_back_letters,
    alerts.discard_letters,
)
