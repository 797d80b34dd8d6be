"""The time of a training step and of a forecast, by method."""
