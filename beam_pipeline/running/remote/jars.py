"""What Beam's job services start from: in our cache, in Beam's, or on the site of its releases."""

import os
import platform
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import apache_beam as beam
from apache_beam.runners.portability.prism_runner import PrismJobServer
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
    target = f":runners:flink:{flink_version}:job-server:shadowJar"
    return _find(
        given or "",
        cached_jar(flink_version),
        lambda: str(JavaJarServer.path_to_beam_jar(target)),
        JavaJarServer.JAR_CACHE,
        said=("job server", "--flink_job_server_jar", f"make flink-jar FLINK={flink_version}"),
    )


def find_spark_jar(given: str | None) -> str:
    """`find_jar` for Spark; `given` is --spark_job_server_jar."""
    target = ":runners:spark:3:job-server:shadowJar"
    return _find(
        given or "",
        cache_folder() / "spark-job-server.jar",
        lambda: str(JavaJarServer.path_to_beam_jar(target)),
        JavaJarServer.JAR_CACHE,
        said=("job server", "--spark_job_server_jar", "make spark-jar"),
    )


def find_prism(given: str | None) -> str:
    """The path of Prism, or "" where Beam downloads it; `given` is --prism_location."""

    def url() -> str:
        version = f"v{beam.version.__version__}"
        machine = platform.system(), platform.machine()
        return str(PrismJobServer._construct_download_url(version, version, *machine))

    said = ("Prism", "--prism_location", "make prism")
    cached = cache_folder() / "prism"
    found = _find(given or "", cached, url, PrismJobServer.BIN_CACHE, said=said)
    return found if found in (given, str(cached)) else ""  # it takes what is given anew each time


def _find(
    given: str,
    cached: Path,
    url_of_beam: Callable[[], str],
    cache_of_beam: str,
    *,
    said: tuple[str, str, str],
) -> str:
    """What is given, in our cache, or the URL of what is in Beam's cache or can be had.

    Args:
        said: What is looked for, the option that gives it, the command that makes it.
    """
    what, option, command = said
    if given:
        if not urlsplit(given).scheme and not os.path.exists(given):
            raise ConfigError(
                f"{option}={given} does not exist; leave it out and run `{command}`, or correct "
                "the path"
            )
        return given
    if cached.exists():
        return str(cached)
    url = url_of_beam()
    downloaded = os.path.join(cache_of_beam, url.rpartition("/")[2])
    if os.path.exists(downloaded) or os.path.exists(url) or _is_there(url):
        return url
    raise ConfigError(
        f"there is no {what}: neither {cached} nor {url}; run `{command}`, or pass {option}"
    )


def _is_there(url: str) -> bool:
    try:
        request = urllib.request.Request(url, method="HEAD")
        urllib.request.urlopen(request, timeout=_LOOK_S).close()
    except (OSError, ValueError):
        return False
    return True
