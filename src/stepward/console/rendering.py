"""Rendering of templates: all values are escaped, and a page contains no inline script or style."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from stepward.console.template_filters import FILTERS, printable


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
