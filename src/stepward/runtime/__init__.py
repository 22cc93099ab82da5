"""Threads, an event loop in a thread, interrupts, and cancellation within a bound."""
