"""Waiting for other processes."""

import contextlib
import time
from collections.abc import Callable
from typing import Any

import pytest


def wait_until(condition: Callable[[], Any], timeout_s: float, what: str) -> Any:
    """Wait until `condition` is true, and return its value."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if found := condition():
                return found
        time.sleep(0.1)
    pytest.fail(f"after {timeout_s:.0f} s: {what}")
