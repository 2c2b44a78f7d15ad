"""How workers on other machines get this package: it is sent along, or named for pip."""

import importlib.metadata
import json
from pathlib import Path
from urllib.parse import urlsplit

from apache_beam.options.pipeline_options import PipelineOptions, SetupOptions, WorkerOptions
from apache_beam.runners.portability.stager import SKIP_REQUIREMENTS_CACHE

from beam_pipeline.errors import ConfigError
from tfrecord_dataset.store.user_cache import cache_folder

_DISTRIBUTION = "beam-tfrecords"
_REMEDY = (
    "pass --setup_file=CLONE/setup.py, or --sdk_container_image with docker/pipeline.Dockerfile's"
)


def stage_package(options: PipelineOptions) -> None:
    """Sets how workers get this package, unless the user's options say what they have.

    In a clone of the repository that is its setup.py, of which Beam makes a source distribution;
    of an installed package, a requirement that pip takes to the same code.

    Raises:
        ConfigError: Neither is possible.
    """
    setup = options.view_as(SetupOptions)
    if (
        options.view_as(WorkerOptions).sdk_container_image
        or setup.setup_file
        or setup.requirements_file
        or setup.extra_packages
    ):
        return
    clone = Path(__file__).parents[3]
    if (clone / "setup.py").exists() and (clone / "pyproject.toml").exists():
        setup.setup_file = str(clone / "setup.py")
        return
    requirements = cache_folder() / "requirements.txt"
    requirements.parent.mkdir(parents=True, exist_ok=True)
    requirements.write_text(f"{_requirement()}\n")
    setup.requirements_file = str(requirements)
    setup.requirements_cache = SKIP_REQUIREMENTS_CACHE


def _requirement() -> str:
    """What pip calls the installed code."""
    try:
        found = importlib.metadata.distribution(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError as error:
        raise ConfigError(f"it is unknown how workers get this package; {_REMEDY}") from error
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    if not origin:
        return f"{_DISTRIBUTION}=={found.version}"
    if urlsplit(origin["url"]).scheme == "file":
        path = urlsplit(origin["url"]).path
        raise ConfigError(
            f"this package was installed from {path}, which workers do not have; {_REMEDY}"
        )
    vcs = origin.get("vcs_info")
    url = f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}" if vcs else origin["url"]
    return f"{_DISTRIBUTION} @ {url}"
