"""Running a stage: launch, units of work, monitoring, training checkpoints."""
