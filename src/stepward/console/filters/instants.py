"""Instants and durations on a page: their distance from now, with the instant itself on hover."""

from __future__ import annotations

from markupsafe import Markup

from stepward import durations
from stepward.views.times import NOTHING, clock, instant, relative, took
from stepward.views.times import span as span_of


def ago(at: float | None, now: float, focus: bool = False) -> Markup:
    """The distance of an instant from now; the instant itself on hover, and on keyboard focus with ``focus``."""
    if at is None:
        return Markup('<span class="none">{}</span>').format(NOTHING)
    tab = Markup(' tabindex="0"') if focus else ""
    return Markup('<time datetime="{}" data-at="{:.3f}" data-exact="{}"{}>{}</time>').format(
        instant(at), at, clock(at), tab, relative(at, now)
    )


def since(at: float | None, now: float) -> Markup:
    """As ``ago``, as a span alone: what has lasted since that instant."""
    if at is None:
        return ago(at, now)
    return Markup('<time datetime="{}" data-since="{:.3f}" data-exact="{}">{}</time>').format(
        instant(at), at, f"since {clock(at)}", span_of(now - at)
    )


def lasted(start: float | None, end: float | None, now: float) -> str:
    """The duration from start to end, or so far."""
    return took(start, end, now)


def span(seconds: float) -> str:
    """A duration."""
    return durations.text(seconds)


def clock_minute(at: float) -> str:
    """The minute of an instant, in UTC."""
    return clock(at)[11:16]
