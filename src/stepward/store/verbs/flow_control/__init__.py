"""Limits of Agents and workflows: slots, permits and rates."""
