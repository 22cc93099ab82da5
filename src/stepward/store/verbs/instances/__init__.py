"""Leases of instances, the lead among Supervisors, and grace after an outage."""
