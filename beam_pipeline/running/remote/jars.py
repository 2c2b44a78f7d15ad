"""The jar of Flink's job server: in our cache, in Beam's, or on the site of its releases."""

import os
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from apache_beam.utils.subprocess_server import JavaJarServer

from beam_pipeline.errors import ConfigError
from tfrecord_dataset.store.user_cache import cache_folder

_LOOK_S = 5.0


def cached_jar(flink_version: str) -> Path:
    """Where `make flink-jar` puts the jar."""
    return cache_folder() / f"flink-job-server-{flink_version}.jar"


def cached_version() -> str:
    """A version of Flink whose jar is in the cache; "" for none."""
    jars = cache_folder().glob("flink-job-server-*.jar")
    versions = [jar.stem.rpartition("-")[2] for jar in jars]
    return max(versions, key=lambda version: tuple(map(int, version.split("."))), default="")


def find_jar(given: str | None, flink_version: str) -> str:
    """The jar's path, or the URL that Beam downloads it from.

    Args:
        given: --flink_job_server_jar.
        flink_version: Such as "1.19".

    Raises:
        ConfigError: There is none.
    """
    command = f"make flink-jar FLINK={flink_version}"
    if given:
        if not urlsplit(given).scheme and not os.path.exists(given):
            raise ConfigError(
                f"--flink_job_server_jar={given} does not exist; leave it out and run `{command}`, "
                "or correct the path"
            )
        return given
    if (cached := cached_jar(flink_version)).exists():
        return str(cached)
    target = f":runners:flink:{flink_version}:job-server:shadowJar"
    url = str(JavaJarServer.path_to_beam_jar(target))
    downloaded = os.path.join(JavaJarServer.JAR_CACHE, url.rpartition("/")[2])
    if os.path.exists(downloaded) or _is_there(url):
        return url
    raise ConfigError(
        f"there is no job server: neither {cached} nor {url}; run `{command}`, or pass "
        "--flink_job_server_jar"
    )


def _is_there(url: str) -> bool:
    if os.path.exists(url):  # Beam's own build
        return True
    try:
        request = urllib.request.Request(url, method="HEAD")
        urllib.request.urlopen(request, timeout=_LOOK_S).close()
    except (OSError, ValueError):
        return False
    return True
