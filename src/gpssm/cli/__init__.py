"""The command line: `gpssm fit`, `sweep`, `predict`, `evaluate`, `report`, `compare`, …

Nothing heavy is imported here: `gpssm --help` answers at once, and each command loads what it
needs when it runs.
"""

from .app import app, main

__all__ = ["app", "main"]
