"""Mean-square stability of three fitted models."""
