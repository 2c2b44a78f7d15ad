"""One store client per bucket and process, configured by the environment.

Credentials are read from the same places as by the clouds' own tools: environment variables, files
in the home folder, and the metadata service inside a cloud. Without credentials requests are
unsigned, which public buckets accept.
"""

import configparser
import dataclasses
import datetime
import functools
import os
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from obstore.store import AzureStore, GCSStore, HTTPStore, S3Store

from tfrecord_dataset.errors import ConfigError
from tfrecord_dataset.store.urls import scheme_of, split_object

# Total time for the retries of a request.
LIMIT_S = 120.0

# Each pause is random, up to `base` times the previous one: with 2 they would hardly grow.
_BACKOFF = {
    "init_backoff": datetime.timedelta(milliseconds=100),
    "max_backoff": datetime.timedelta(seconds=10),
    "base": 4,
}

# A large body may take long, so only inactivity times out: the library's default is 30 s in all.
_CONNECTION = {"connect_timeout": "5s", "read_timeout": "1m", "timeout": "1h"}
# The library would read these from variables if they were not set here.
_CONNECTION_SETTINGS = (
    *_CONNECTION,
    *("allow_http", "allow_invalid_certificates", "proxy_url", "proxy_ca_certificate"),
    "proxy_excludes",
)

# Address of the metadata service on machines of Amazon, Google and Microsoft.
_METADATA_SERVICE = ("169.254.169.254", 80)

# Environment variables that configure credentials, or disable them.
_AWS_CREDENTIALS = (
    r"AWS_(ACCESS_KEY_ID|WEB_IDENTITY_TOKEN_FILE|CONTAINER_CREDENTIALS_\w+|SKIP_SIGNATURE)"
)
_GOOGLE_CREDENTIALS = (
    r"GOOGLE_(APPLICATION_CREDENTIALS|BEARER_TOKEN|SERVICE_ACCOUNT(_PATH|_KEY)?|SKIP_SIGNATURE)"
)
_AZURE_CREDENTIALS = (
    r"AZURE_(STORAGE_((ACCOUNT|ACCESS|MASTER|SAS)_KEY|(SAS_)?TOKEN|CLIENT_ID|USE_EMULATOR)"
    r"|CLIENT_ID|FEDERATED_TOKEN_FILE|(MSI|IDENTITY)_ENDPOINT|USE_AZURE_CLI|SKIP_SIGNATURE)"
)
_AZURE_ACCOUNT = "AZURE_STORAGE_(ACCOUNT_NAME|USE_EMULATOR)"

_LOCK = threading.Lock()

# Arguments of the library's class except the URL, and the remedy for missing credentials.
_Access = tuple[dict[str, Any], str]


@dataclasses.dataclass(frozen=True, slots=True)
class Client:
    """The store of one bucket.

    Attributes:
        store: The library's store object.
        root: The bucket's URL, such as gs://bucket.
        prefix: Prefix of its environment variables, such as AWS.
        remedy: Advice on missing credentials; empty if there are some.
    """

    store: Any
    root: str
    prefix: str
    remedy: str


def client_and_key(url: str) -> tuple[Client, str]:
    """Return the client of an object's bucket, and the object's key."""
    root, key = split_object(url)
    return client_of(root), key


def client_of(root: str) -> Client:
    """Return the client of a bucket, given its URL; cached per process.

    Raises:
        ConfigError: The URL names no bucket, or its settings are invalid; or this process was
            forked from one with a client, whose threads do not exist here.
    """
    with _LOCK:
        client, process = _made(root)
    if process != os.getpid():
        raise ConfigError(
            f"{root} was opened before this process was forked, and cannot be read in it; start "
            'worker processes by "spawn" or "forkserver"'
        )
    return client


@functools.lru_cache(maxsize=128)
def _made(root: str) -> tuple[Client, int]:
    scheme, bucket = scheme_of(root), root.partition("://")[2].partition("/")[0]
    if not bucket:
        raise ConfigError(f"{root} names no bucket; write {scheme}://BUCKET/PATH")
    if set("*?[") & set(bucket):
        raise ConfigError(f"{root}: a bucket's name cannot have a wildcard; write it out")
    kind, prefix, access = _STORES[scheme]
    try:
        options, remedy = access(root)
        store = kind.from_url(
            root.replace("s3a://", "s3://"),
            retry_config={
                "max_retries": 1_000_000,  # limited only by time
                "backoff": _BACKOFF,
                "retry_timeout": datetime.timedelta(seconds=LIMIT_S),
            },
            client_options=_connection(prefix, scheme == "http" or "base_url" in options),
            **options,
        )
        return Client(store, root, prefix, remedy), os.getpid()
    except ConfigError:
        raise
    except Exception as error:  # various types, such as for damaged credentials files
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"{root} cannot be opened: {reason}") from error


def _for_s3(root: str) -> _Access:
    if _is_any_set(_AWS_CREDENTIALS):
        return {}, ""
    options = aws_profile()
    if "access_key_id" in options or is_in_a_cloud():
        return options, ""
    remedy = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run aws configure"
    return {**options, "skip_signature": True}, remedy


def aws_profile() -> dict[str, Any]:
    """Return the settings that `aws configure` wrote for the current profile."""
    profile = os.environ.get("AWS_PROFILE", "default")
    keys = _section("AWS_SHARED_CREDENTIALS_FILE", "credentials", profile)
    settings = _section(
        "AWS_CONFIG_FILE", "config", profile if profile == "default" else f"profile {profile}"
    )
    options = {
        name: keys[f"aws_{name}"]
        for name in ("access_key_id", "secret_access_key", "session_token")
        if f"aws_{name}" in keys
    }
    if "region" in settings and not {"AWS_REGION", "AWS_DEFAULT_REGION"} & os.environ.keys():
        options["region"] = settings["region"]
    return options


def _section(variable: str, name: str, section: str) -> dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(os.environ.get(variable, Path.home() / ".aws" / name))
    return dict(parser[section]) if parser.has_section(section) else {}


def _for_google(root: str) -> _Access:
    if emulator := os.environ.get("STORAGE_EMULATOR_HOST"):
        url = emulator if "://" in emulator else f"http://{emulator}"
        return {"base_url": url, "bearer_token": "emulator"}, ""
    login = Path.home() / ".config" / "gcloud" / "application_default_credentials.json"
    if _is_any_set(_GOOGLE_CREDENTIALS) or login.exists() or is_in_a_cloud():
        return {}, ""
    remedy = (
        "set GOOGLE_APPLICATION_CREDENTIALS to a key file, or run gcloud auth "
        "application-default login"
    )
    return {"skip_signature": True, "credential_provider": _no_credentials}, remedy


def _no_credentials() -> Any:
    # The library signs writes by default, and would search for credentials.
    raise PermissionError("no credentials")


def _for_azure(root: str) -> _Access:
    if "@" not in root and not _is_any_set(_AZURE_ACCOUNT):
        raise ConfigError(
            f"{root} names no account; set AZURE_STORAGE_ACCOUNT_NAME, or write "
            "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"
        )
    if _is_any_set(_AZURE_CREDENTIALS) or is_in_a_cloud():
        return {}, ""
    remedy = "set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN"
    return {"skip_signature": True}, remedy


def _connection(prefix: str, allow_http: bool) -> Any:
    """Return connection settings from the variables of a prefix, such as AWS_ALLOW_HTTP."""
    settings = {name: os.environ.get(f"{prefix}_{name}".upper()) for name in _CONNECTION_SETTINGS}
    options: dict[str, Any] = {name: value for name, value in settings.items() if value}
    return {**_CONNECTION, **options, **({"allow_http": True} if allow_http else {})}


def _is_any_set(variables: str) -> bool:
    return any(re.fullmatch(variables, name) for name in os.environ)


@functools.cache
def is_in_a_cloud() -> bool:
    """Whether a service provides credentials; the library would try for many seconds."""
    try:
        socket.create_connection(_METADATA_SERVICE, timeout=1).close()
    except OSError:
        return False
    return True


# By scheme: the library's class, the prefix of connection variables, and the credentials.
_STORES: dict[str, tuple[Any, str, Callable[[str], _Access]]] = {
    **dict.fromkeys(("s3", "s3a"), (S3Store, "AWS", _for_s3)),
    "gs": (GCSStore, "GOOGLE", _for_google),
    **dict.fromkeys(("http", "https"), (HTTPStore, "HTTP", lambda root: ({}, ""))),
    **dict.fromkeys(("az", "azure", "abfs", "abfss", "adl"), (AzureStore, "AZURE", _for_azure)),
}
