"""The webhooks that get status events, as the settings declare their receivers."""

from __future__ import annotations

from stepward.model.messages.event_queues import webhook_queue
from stepward.observers.webhook_posts import SignedPosts
from stepward.observers.webhook_signature import check_secret
from stepward.settings import Settings
from stepward.settings.webhook_settings import WebhookSettings


class EventWebhook:
    """Implements ``EventReceiver``: posts the events of one webhook to its URL."""

    def __init__(self, app: str, declared: WebhookSettings) -> None:
        self.name = declared.name
        check_secret(declared.secret, f"webhooks.{declared.name}.secret")
        if declared.previous_secret is not None:
            check_secret(declared.previous_secret, f"webhooks.{declared.name}.previous_secret")
        self.queue = webhook_queue(app, declared.name)
        self._posts = SignedPosts(
            declared.url, declared.secret, previous=declared.previous_secret, private_hosts=declared.private_hosts
        )
        self.description = str(self._posts.target)

    async def deliver(self, id: str, body: bytes) -> None:
        """Post an event. Raises AlertRefused unless the receiver took it."""
        await self._posts.post(id, body)


def webhooks_of(settings: Settings, app: str) -> list[EventWebhook]:
    """The webhooks of an application. Raises SettingsError for an invalid receiver or secret."""
    return [EventWebhook(app, declared) for declared in settings.webhooks or ()]
