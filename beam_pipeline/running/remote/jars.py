"""What Beam's job services start from: in our cache, in Beam's, or on the site of its releases."""

import os
import platform
import urllib.error
import urllib.request
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
    return _find_jar(
        given,
        cached_jar(flink_version),
        f":runners:flink:{flink_version}:job-server:shadowJar",
        option="--flink_job_server_jar",
        command=f"make flink-jar FLINK={flink_version}",
    )


def find_spark_jar(given: str | None) -> str:
    """`find_jar` for Spark; `given` is --spark_job_server_jar."""
    return _find_jar(
        given,
        cache_folder() / "spark-job-server.jar",
        ":runners:spark:3:job-server:shadowJar",
        option="--spark_job_server_jar",
        command="make spark-jar",
    )


def find_prism(given: str | None) -> str:
    """The path of Prism, or "" where Beam downloads it; `given` is --prism_location."""
    command = "make prism"
    if given:
        _check_given(given, "--prism_location", command)
        return given
    if (cached := cache_folder() / "prism").exists():
        return str(cached)
    version = f"v{beam.version.__version__}"
    url = PrismJobServer._construct_download_url(
        version, version, platform.system(), platform.machine()
    )
    if Path(PrismJobServer.BIN_CACHE, url.rpartition("/")[2]).exists() or _is_there(url):
        return ""
    raise ConfigError(
        f"there is no Prism: neither {cached} nor {url}; run `{command}`, or pass --prism_location"
    )


def _find_jar(given: str | None, cached: Path, target: str, *, option: str, command: str) -> str:
    if given:
        _check_given(given, option, command)
        return given
    if cached.exists():
        return str(cached)
    url: str = JavaJarServer.path_to_beam_jar(target)
    downloaded = Path(JavaJarServer.JAR_CACHE, url.rpartition("/")[2])
    if downloaded.exists() or os.path.exists(url) or _is_there(url):
        return url
    raise ConfigError(
        f"there is no job server: neither {cached} nor {url}; run `{command}`, or pass {option}"
    )


def _check_given(given: str, option: str, command: str) -> None:
    if not urlsplit(given).scheme and not os.path.exists(given):
        raise ConfigError(
            f"{option}={given} does not exist; leave it out and run `{command}`, or correct the "
            "path"
        )


def _is_there(url: str) -> bool:
    try:
        request = urllib.request.Request(url, method="HEAD")
        urllib.request.urlopen(request, timeout=_LOOK_S).close()
    except (OSError, ValueError):
        return False
    return True
