"""The command line: `gpssm fit`, `predict`, `evaluate`, `report`, `compare`, `data`, `reproduce`.

Nothing heavy is imported here: `gpssm --help` answers at once, and each command loads what it
needs when it runs.
"""

from .app import app, main

__all__ = ["app", "main"]
