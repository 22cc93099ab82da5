"""Rendering of templates: all values are escaped, and a page contains no inline script or style."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from stepward.console.filters.audit_details import details_of, reason_of
from stepward.console.filters.instants import ago, clock_minute, lasted, since, span
from stepward.console.filters.states import act_name, state, symbol_of, tone_of
from stepward.console.filters.text import brief, count, lines, middle, plural, pretty, printable, query
from stepward.model.alerts.console_links import task_href
from stepward.views.agents import percent
from stepward.views.alerts import message_of
from stepward.views.schedules import nominal
from stepward.views.times import clock

FILTERS: dict[str, Any] = {
    "act_name": act_name,
    "ago": ago,
    "brief": brief,
    "clock": clock,
    "clock_minute": clock_minute,
    "count": count,
    "details_of": details_of,
    "lasted": lasted,
    "lines": lines,
    "message_of": message_of,
    "middle": middle,
    "nominal": nominal,
    "percent": percent,
    "plural": plural,
    "pretty": pretty,
    "query": query,
    "reason_of": reason_of,
    "sign": symbol_of,
    "since": since,
    "span": span,
    "state": state,
    "task_href": task_href,
    "tone": tone_of,
}


def make_templates() -> Environment:
    """The template environment of the package."""
    templates = Environment(
        loader=PackageLoader("stepward.console", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    templates.filters.update(FILTERS)
    return templates


def rendered(templates: Environment, name: str, values: dict[str, Any]) -> str:
    """The page of that template."""
    return templates.get_template(name).render(values)
