"""Trends and drifts: removed before a fit, added back to a forecast."""
