"""The metrics, one file each: a formula and a `METRIC` that says how to read it.

A new file is all that a new metric needs: tables, JSON, pages, comparisons, validation and sweeps
find it here.
"""
