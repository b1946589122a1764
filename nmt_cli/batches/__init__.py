"""Ids on disk, the plan of updates and padded batches; numpy only."""
