"""A view that submits a task, one that shows it, and the admin."""

from django.contrib import admin
from django.http import HttpRequest, JsonResponse
from django.urls import path

from examples.frameworks.django_shop.tasks import open_club
from stepward.integrations.django import client


def place(request: HttpRequest) -> JsonResponse:
    task = client().submit(open_club, request.POST["name"], id=request.headers.get("Idempotency-Key"))
    return JsonResponse({"task": task.id}, status=202)


def show(request: HttpRequest, task_id: str) -> JsonResponse:
    return JsonResponse({"state": client().task(task_id).status().state})


urlpatterns = [path("clubs", place), path("clubs/<str:task_id>", show), path("admin/", admin.site.urls)]
