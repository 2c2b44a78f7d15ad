"""build.json: time, place and input of a build, which no other file has."""

import hashlib
import platform
import time

import apache_beam

from beam_pipeline.config import BuildConfig
from tfrecord_dataset.json_file import sealed
from tfrecord_dataset.shown_text import without_secrets

FILE = "build.json"


def provenance(config: BuildConfig, metadata_text: str) -> str:
    """Render build.json for a build that ends now on this machine."""
    return sealed(
        {
            "input": without_secrets(config.input),
            "image_root": without_secrets(config.image_root),
            "allow_outside": [without_secrets(each) for each in config.allow_outside],
            "finished_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "host": platform.node(),
            "python": platform.python_version(),
            "apache_beam": apache_beam.__version__,
            "metadata_sha256": hashlib.sha256(metadata_text.encode()).hexdigest(),
        }
    )
