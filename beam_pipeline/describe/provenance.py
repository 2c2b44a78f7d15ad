"""build.json: when, where and from what a dataset was made; no other file states it."""

import platform
import time
from importlib.metadata import version

from beam_pipeline.config import BuildConfig
from beam_pipeline.describe.metadata import to_text

FILE = "build.json"


def provenance(config: BuildConfig) -> str:
    """The text of build.json, for a build that ends on this machine now."""
    return to_text(
        {
            "input": config.input,
            "image_root": config.image_root,
            "finished_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "host": platform.node(),
            "python": platform.python_version(),
            "apache_beam": version("apache-beam"),
        }
    )
