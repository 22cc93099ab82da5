"""The link from Django's admin to the console, at the address ``STEPWARD_CONSOLE_URL``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from stepward.integrations.django.models import ConsoleLink

if TYPE_CHECKING:
    Base = admin.ModelAdmin[ConsoleLink]
else:
    Base = admin.ModelAdmin

SETTING = "STEPWARD_CONSOLE_URL"


class ConsoleAdmin(Base):
    """Redirects to the console, which asks for its own sign-in."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether the link is shown: to those who may view it, once there is an address."""
        return bool(getattr(settings, SETTING, None)) and super().has_module_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """False: there is nothing to add."""
        return False

    def changelist_view(self, request: HttpRequest, extra_context: object = None) -> HttpResponse:
        """Redirect to the console."""
        return HttpResponseRedirect(str(getattr(settings, SETTING)))


admin.site.register(ConsoleLink, ConsoleAdmin)
