"""The servers under torture, and the clocks of every host."""
