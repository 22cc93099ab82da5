"""Protection of a service from its Agent: circuit breaker, rate limit and retry budget."""
