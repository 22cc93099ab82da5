"""The remote services of the order example: stock, payment, parcel and mail, each its own process.

They know nothing of Stepward. They do what a good remote service does for a caller that repeats itself:
they act once per Idempotency-Key, and they can be set to misbehave (`faults`).
"""
