"""Shared by all packages: errors, settings, atomic writes, locks, start-up."""
