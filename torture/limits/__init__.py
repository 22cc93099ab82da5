"""Limits under kills: processes die and start again under load, and a service counts the calls that run at once."""
