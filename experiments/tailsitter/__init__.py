"""Measured flights of a tail-sitter: a model with known kinematics and one without."""
