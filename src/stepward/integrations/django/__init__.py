"""Django: ``"stepward.integrations.django"`` in ``INSTALLED_APPS``, and ``STEPWARD_APP = "shop.tasks:app"``."""

from stepward.integrations.django.client import client, stepward_app

__all__ = ["client", "stepward_app"]
