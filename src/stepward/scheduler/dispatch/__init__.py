"""What leaves a Scheduler after its commit: requests to Agents, and local steps."""
