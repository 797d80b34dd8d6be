"""Numbers in sentences."""


def percent(share: float, digits: int = 0) -> str:
    """Format a share as a percentage."""
    return f"{100.0 * share:.{digits}f} %"
