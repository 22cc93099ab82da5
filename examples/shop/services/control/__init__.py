"""The control page of the example's services: faults are switched on here, and the system is watched coping.

A workshop panel, not a part of the shop. It knows the services by their HTTP interfaces alone.
"""
