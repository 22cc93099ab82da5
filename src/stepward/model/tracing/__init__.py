"""W3C trace context: the ids of a task's spans, and the spans in which it is submitted and its attempts run.

OpenTelemetry's API is used where the application has imported it, and never imported here.
"""
