"""The application: an operation that uses Django's models, and the workflow around it."""

from django.contrib.auth.models import Group
from django.db import close_old_connections

from stepward import Agent, App, workflow

members = Agent("members")


@members.operation(complete_by="10s")
def add_group(name: str) -> int:  # a plain def runs in a thread, where Django's models may be used
    close_old_connections()
    group, _ = Group.objects.get_or_create(name=name)
    return int(group.pk)


@add_group.undo
def remove_group(id: int | None, name: str) -> None:
    Group.objects.filter(name=name).delete()


@workflow
async def open_club(name: str) -> int:
    return await add_group(name)


app = App("club", workflows=[open_club], agents=[members])
