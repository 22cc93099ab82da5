"""Plain data and its rules: states, records, messages, actions."""
