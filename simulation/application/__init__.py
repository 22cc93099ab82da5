"""The application under simulation, its workflows and plans, and the services that it calls."""
