"""Builds for tests."""

from pathlib import Path
from typing import Any

import beam_pipeline


def build(source: Path | str, output: Path | str, **options: Any) -> beam_pipeline.Dataset:
    """Build a dataset, with options of BuildConfig."""
    info: beam_pipeline.Dataset = beam_pipeline.build(
        input=str(source), output=str(output), **options
    )
    return info
