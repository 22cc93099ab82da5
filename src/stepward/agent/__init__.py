"""Agents: wrappers of remote services, which perform the steps that Schedulers ask for."""
