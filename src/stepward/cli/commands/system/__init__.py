"""Commands about the system: settings, store, instances, Agents, queues, alerts, schedules, audit."""
