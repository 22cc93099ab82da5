"""What a run waits for beside steps: signals and timers."""
