"""Verbs on the delivery of alerts: their sinks, receipts and silences."""
