"""Processes and servers, each kept by a process of its own: started, watched, started again, ended."""
