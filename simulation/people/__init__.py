"""Clients, readers and operators."""
