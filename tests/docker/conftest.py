"""Real image builds: with buildah, from Debian packages, without a registry."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "beam-tfrecords", "images")
# The temporary folder contains the caches of `RUN --mount=type=cache`.
_BUILDAH = ("env", f"TMPDIR={CACHE}", "buildah")
_DEBIAN = "bookworm"
_PYTHON = "python3,python3-venv,python3-pip,ca-certificates"
_JAVA = "maven,openjdk-17-jre-headless,ca-certificates-java"
_BOOT = "github.com/apache/beam/sdks/v2/python/container"
# Some machines reach package indexes through a proxy with its own certificate.
_CERTIFICATES = ("-v", "/etc/ssl/certs:/etc/ssl/certs:ro")


@dataclasses.dataclass(frozen=True)
class Builder:
    """buildah with its own store, which keeps layers for the next run."""

    store: Sequence[str]

    def build(self, file: Path, name: str, context: Path = ROOT, **arguments: str) -> str:
        """Builds an image; returns the output of the build."""
        if index := os.environ.get("PIP_INDEX_URL"):
            arguments["PIP_INDEX_URL"] = index
        options = [f"--build-arg={key}={value}" for key, value in arguments.items()]
        return self._buildah(
            *("bud", "--layers", "--isolation", "chroot", "--network", "host", *_CERTIFICATES),
            *(*options, "--file", str(file), "--tag", name, str(context)),
        )

    def entry_point(self, image: str) -> list[str]:
        """The command that the image runs."""
        found = json.loads(self._buildah("inspect", "--type", "image", image))
        return list(found["OCIv1"]["config"]["Entrypoint"])

    def command(self, image: str, volumes: Sequence[Path], command: Sequence[str]) -> list[str]:
        """The command line that runs `command` in a new container of `image`.

        Args:
            volumes: Folders to mount at the same paths in the container.
        """
        container = self._buildah("from", "--pull-never", image).strip()
        mounts = [f"--volume={volume}:{volume}" for volume in volumes]
        run = ["run", "--isolation", "chroot", "--network", "host", *mounts]
        return [*_BUILDAH, *self.store, *run, container, "--", *command]

    def run(
        self, image: str, volumes: Sequence[Path], command: Sequence[str]
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command in a new container."""
        return subprocess.run(
            self.command(image, volumes, command),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def clean(self) -> None:
        """Removes containers, replaced images and leftovers of killed runs."""
        self._buildah("rm", "--all")
        self._buildah("rmi", "--prune", "--force")
        for folder in CACHE.glob("buildah[0-9]*"):
            shutil.rmtree(folder)

    def _buildah(self, *arguments: str) -> str:
        done = subprocess.run(
            [*_BUILDAH, *self.store, *arguments],
            capture_output=True,
            text=True,
            timeout=1500,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout + (done.stderr if arguments[0] == "bud" else "")


@pytest.fixture(scope="session")
def builder(
    tmp_path_factory: pytest.TempPathFactory, beam_version: str
) -> Iterator[tuple[Builder, str]]:
    """A builder, and the name of a base that replaces the registries' images."""
    for program in ("buildah", "mmdebstrap", "go"):
        if shutil.which(program) is None:
            pytest.skip(f"no image can be built: there is no {program} (make test-docker)")
    run_root = tmp_path_factory.mktemp("buildah")
    store = ["--root", str(CACHE / "store"), "--runroot", str(run_root)]
    builder = Builder([*store, "--storage-driver", "overlay"])
    context = CACHE / "base"
    context.mkdir(parents=True, exist_ok=True)
    _debian(context / "base.tar", _PYTHON)
    _boot(context / "boot", beam_version)
    builder.build(Path(__file__).parent / "Base.Dockerfile", "localhost/base", context)
    yield builder, "localhost/base"
    builder.clean()


@pytest.fixture(scope="session")
def java(builder: tuple[Builder, str]) -> str:
    """The name of a base with Maven and Java."""
    context = CACHE / "java"
    context.mkdir(exist_ok=True)
    _debian(context / "java.tar", _JAVA)
    builder[0].build(Path(__file__).parent / "Java.Dockerfile", "localhost/java", context)
    return "localhost/java"


def _debian(tar: Path, packages: str) -> None:
    if not tar.exists():
        partial = tar.with_suffix(".partial.tar")
        options = ["--variant=minbase", f"--include={packages}"]
        subprocess.run(["mmdebstrap", *options, _DEBIAN, partial], check=True, timeout=1200)
        partial.replace(tar)


def _boot(path: Path, version: str) -> None:
    """Builds the entry point of Beam's SDK image, the same as in Beam's own image."""
    made = CACHE / f"boot-{version}"
    if not made.exists():
        environment = {**os.environ, "GOBIN": str(CACHE), "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod"}
        command = ["go", "install", f"{_BOOT}@v{version}"]
        subprocess.run(command, check=True, timeout=1200, env=environment)
        (CACHE / "container").replace(made)
    shutil.copy2(made, path)


@pytest.fixture(scope="session")
def image_cache() -> Path:
    """Cache kept between runs, outside the repository."""
    return CACHE


@pytest.fixture(scope="session")
def beam_version() -> str:
    """The version of Apache Beam in constraints.txt."""
    (line,) = re.findall(
        r"^apache-beam==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE
    )
    return str(line)
