"""Acts on dead letters: they are put back or discarded."""

from __future__ import annotations

from litestar import post
from litestar.response import Redirect

from stepward.console.acts.form import back_to, check_administers, row_numbers, sent_form
from stepward.console.page_frame import PageRequest, SharedConsole
from stepward.http.access.permissions import Permission
from stepward.http.dependencies import RequestClient
from stepward.http.exception_handlers import HttpRefusal


@post("/dead-letters/act", permission=Permission.OPERATE)
async def dead_letter_act(request: PageRequest, client: RequestClient, console: SharedConsole) -> Redirect:
    """Put dead letters back, or discard them once their number is typed."""
    form = await sent_form(request, console.guard, client.principal)
    numbers, verb = row_numbers(form), form.text("verb")
    if verb == "discard":
        check_administers(client)
        form.check_typed(str(len(numbers)))
        found = await client.unscoped.discard(*numbers)
    else:
        found = await client.unscoped.put_back(*numbers)
    console.forget()
    missed = sorted(set(numbers) - set(found))
    if missed:
        raise HttpRefusal(
            409,
            f"dead letter {missed[0]}: expected one in the store, found none; it was put back or discarded meanwhile",
        )
    return back_to(request, "/dead-letters", "discard" if verb == "discard" else "put_back")
