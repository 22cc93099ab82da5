"""The contract kit: plays a Scheduler over a broker, and checks how an Agent in any language behaves."""
