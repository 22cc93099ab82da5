"""A Django project with Stepward: ``python -m examples.frameworks.django_shop.manage stepward run``."""
