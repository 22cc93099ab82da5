"""Commands about the system: instances, Agents, limits, queues, dead letters, alerts, schedules, tokens, audit."""
