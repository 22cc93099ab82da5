"""Django's configuration of the application."""

from __future__ import annotations

from django.apps import AppConfig


class StepwardConfig(AppConfig):
    """Stepward among the installed applications."""

    name = "stepward.integrations.django"
    label = "stepward"
    verbose_name = "Stepward"
