"""An application over several stores under torture: stores are stopped and started, processes are killed."""
