"""A progress bar on standard error: the one that training, downloads and studies draw."""

from typing import Any

from rich.console import Console
from rich.progress import Progress, ProgressColumn


class Bar:
    """One task, drawn while the context is open; `fields` are what its own columns show."""

    def __init__(
        self,
        title: str,
        total: float | None,
        *columns: ProgressColumn,
        transient: bool = False,
        **fields: Any,
    ) -> None:
        self._rich = Progress(*columns, console=Console(stderr=True), transient=transient)
        self._task = self._rich.add_task(title, total=total, **fields)

    def __enter__(self) -> Any:  # itself: the shape checks of the tests know no `Self`
        self._rich.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._rich.stop()

    def show(self, **changes: Any) -> None:
        """Change what the bar shows: `description`, `total`, `completed`, `advance` or a field."""
        self._rich.update(self._task, **changes)

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._rich.console.print(text, highlight=False, markup=False)
