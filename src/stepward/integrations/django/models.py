"""A line in Django's admin that leads to the console; it has no table."""

from __future__ import annotations

from django.db import models


class ConsoleLink(models.Model):
    """The console, as far as permissions go: who may view it sees the link."""

    class Meta:
        """No table, and no permission but to view."""

        managed = False
        app_label = "stepward"
        default_permissions = ("view",)
        verbose_name_plural = "Console"
