"""Tests that need a tool: skipped where it is missing, failed where GPSSM_NO_SKIP is set."""

import os
from typing import NoReturn

import pytest

NO_SKIP = bool(os.environ.get("GPSSM_NO_SKIP"))


def missing_tool(reason: str) -> NoReturn:
    """Skip the test, or fail it on a build machine, where all tools must be there."""
    if NO_SKIP:
        pytest.fail(f"{reason} (GPSSM_NO_SKIP is set: nothing may be skipped)")
    pytest.skip(reason)
