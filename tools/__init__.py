"""Checks of the checks: mutations of the source, and files that nobody would write."""
