"""Inference methods: one file per way through time, and a registry that loads without JAX."""
