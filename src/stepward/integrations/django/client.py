"""The App that the settings name, and a blocking client of it for the views of this process."""

from __future__ import annotations

import functools

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from stepward.app import App
from stepward.integrations.process_client import ProcessClient
from stepward.sync import SyncClient

SETTING = "STEPWARD_APP"


@functools.cache
def stepward_app() -> App:
    """The App that the setting ``STEPWARD_APP`` names. Raises ImproperlyConfigured."""
    place = getattr(settings, SETTING, None)
    if not isinstance(place, str) or ":" not in place:
        raise ImproperlyConfigured(f"{SETTING}: expected module:attribute, such as 'shop.tasks:app', found {place!r}")
    try:
        app = import_string(place.replace(":", "."))
    except ImportError as error:
        raise ImproperlyConfigured(f"{SETTING} {place}: expected an App there, found: {error}") from error
    if not isinstance(app, App):
        raise ImproperlyConfigured(f"{SETTING} {place}: expected an App, found {type(app).__name__}")
    return app


def client() -> SyncClient:
    """The client of this process; opened at the first use, and again in a forked process."""
    return _client().get()


@functools.cache
def _client() -> ProcessClient:
    return ProcessClient(stepward_app())
