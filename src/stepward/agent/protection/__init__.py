"""What protects a service from its Agent: circuit breaker, rate limit and retry budget."""
