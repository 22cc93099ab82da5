"""Acts on schedules: they are paused, resumed, triggered, caught up with and removed."""

from __future__ import annotations

from litestar import post
from litestar.response import Redirect

from stepward.console.acts.form import back_to, check_administers, sent_form
from stepward.console.page_frame import PageRequest, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal
from stepward.model.alerts.console_links import task_href


@post("/schedules/act", permission=Permission.OPERATE)
async def schedule_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Pause, resume, trigger, backfill or remove a schedule."""
    form = await sent_form(request, console.guard, client.principal)
    name, verb, unscoped = form.text("name"), form.text("verb"), client.unscoped
    if verb == "remove":
        check_administers(client)
        form.check_typed(name)
        await unscoped.remove_schedule(name)
    elif verb == "trigger":
        task = await unscoped.trigger_schedule(name)
        return back_to(request, task_href(task.id), "trigger_schedule")
    elif verb == "backfill":
        await unscoped.backfill_schedule(name, form.text("start").strip(), form.text("end").strip())
        return back_to(request, "/schedules", "backfill_schedule")
    elif not await (unscoped.pause_schedule if verb == "pause" else unscoped.resume_schedule)(name):
        raise HttpRefusal(
            409, f"schedule {name[:100]}: it has changed since the page was shown; look again, then decide"
        )
    return back_to(request, "/schedules", f"{verb if verb in ('pause', 'remove') else 'resume'}_schedule")
