"""The App as a command line's APP: ``stepward run stepward.integrations.django.target:app``.

Importing this module sets Django up, by ``DJANGO_SETTINGS_MODULE``, because each process of ``run --processes`` imports
it.
"""

from __future__ import annotations

import django

from stepward.integrations.django.client import stepward_app

django.setup()
app = stepward_app()
