"""Telemetry: metrics of the store and of a process, health of a process, traces; none of it is imported unless used."""
