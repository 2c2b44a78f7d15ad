"""Builds of tests."""

from pathlib import Path
from typing import Any

import beam_pipeline


def build(source: Path | str, output: Path | str, **options: Any) -> beam_pipeline.Dataset:
    """Builds a dataset, with options of BuildConfig."""
    config = beam_pipeline.BuildConfig(input=str(source), output=str(output), **options)
    info: beam_pipeline.Dataset = beam_pipeline.build(config)
    return info
