"""Probabilistic models of dynamical systems, learned from logged inputs and outputs."""

__version__ = "0.1.0"
