"""The routes of the console, which the API's application serves."""

from __future__ import annotations

import secrets
from pathlib import Path

from litestar import Router
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from stepward.console.acts import agents as agent_acts
from stepward.console.acts import alerts as alert_acts
from stepward.console.acts import batches, selected_tasks, task
from stepward.console.acts import dead_letters as dead_letter_acts
from stepward.console.acts import instances as instance_acts
from stepward.console.acts import limits as limit_acts
from stepward.console.acts import schedules as schedule_acts
from stepward.console.form_tokens import FormGuard
from stepward.console.live_updates import live
from stepward.console.page_frame import Console
from stepward.console.pages import (
    agents,
    alerts,
    audit,
    dead_letters,
    errors,
    instances,
    limits,
    now,
    schedules,
    settings,
    task_list,
)
from stepward.console.pages import batches as batch_pages
from stepward.console.pages import task as task_pages
from stepward.console.rendering import make_templates
from stepward.http.static_files import static_routes

STATIC = Path(__file__).parent / "static"
KEY_BYTES = 32


def console_routes(key: bytes | None = None) -> list[ControllerRouterHandler]:
    """All pages, acts and files; ``key`` signs the tokens of forms, a random one by default."""
    console = Console(make_templates(), FormGuard(key or secrets.token_bytes(KEY_BYTES)))
    pages = Router(
        "/",
        route_handlers=[
            now.now_page,
            task_list.tasks_page,
            task_list.find_page,
            task_pages.task_page,
            agents.agents_page,
            limits.limits_page,
            alerts.alerts_page,
            schedules.schedules_page,
            dead_letters.dead_letters_page,
            instances.instances_page,
            audit.audit_page,
            settings.settings_page,
            batch_pages.batches_page,
            batch_pages.batch_page,
            batches.batch_preview,
            batches.batch_start,
            batches.batch_act,
            selected_tasks.bulk_preview,
            selected_tasks.bulk_act,
            task.task_act,
            agent_acts.agent_act,
            limit_acts.limit_act,
            alert_acts.alert_act,
            alert_acts.silence_act,
            instance_acts.drain_act,
            alert_acts.sink_act,
            alert_acts.webhook_act,
            schedule_acts.schedule_act,
            dead_letter_acts.dead_letter_act,
            live,
        ],
        include_in_schema=False,
        dependencies={"console": Provide(lambda: console, sync_to_thread=False)},
        exception_handlers=errors.error_pages(console),
    )
    return [pages, *static_routes(STATIC)]
