"""The routes of the system: Agents, instances, limits, schedules, alerts, the audit and dead letters."""
