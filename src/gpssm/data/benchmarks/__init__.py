"""Data sets by name: measured benchmarks, and simulators."""
