"""Pages from templates: everything is escaped, nothing of a page is a script or a style."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from stepward.console.filters import FILTERS, printable


def make_templates() -> Environment:
    """The templates of the wheel."""
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
