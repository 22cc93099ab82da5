"""The routes of ``/api/v1``, a module for each resource."""
