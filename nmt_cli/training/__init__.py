"""Training: the loop, its schedule, the run folder, validation and averaging."""
