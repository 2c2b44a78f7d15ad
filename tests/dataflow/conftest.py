"""Local fakes of Dataflow and Cloud Storage; workers have only staged files."""

import hashlib
import os
import subprocess
import sys
import sysconfig
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_dataflow import FakeDataflow, Job

import beam_pipeline
from beam_pipeline.files import storage
from beam_pipeline.records import FileRef

ROOT = Path(__file__).parents[2]


class Workers:
    """Runs staged pipelines in an environment with the staged package and its dependencies."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._pythons: dict[str, Path] = {}
        self._lock = threading.Lock()
        self.service: FakeDataflow

    def run(self, job: Job) -> str:
        """Runs a job; returns its error, or ""."""
        try:
            python = self._python(self._staged(job.workers["packages"], "workflow.tar.gz"))
        except subprocess.CalledProcessError as error:
            return str(error)
        pipeline = self._folder / f"{job.id}.pb"
        pipeline.write_bytes(self.service.objects[job.options["pipelineUrl"].removeprefix("gs://")])
        environment = {**os.environ, **self.service.environment()}
        environment.pop("PYTHONPATH", None)
        done = subprocess.run(
            [python, Path(__file__).with_name("run_staged.py"), pipeline],
            cwd=self._folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        return "" if done.returncode == 0 else done.stderr

    def _python(self, package: bytes) -> Path:
        """The Python of an environment with a staged package; one environment per version."""
        with self._lock:
            archive = self._folder / "workflow.tar.gz"
            archive.write_bytes(package)
            key = _contents(archive)
            if key not in self._pythons:
                folder = self._folder / f"environment-{len(self._pythons)}"
                self._pythons[key] = _make_environment(folder, archive)
            return self._pythons[key]

    def _staged(self, packages: list[dict[str, str]], name: str) -> bytes:
        (location,) = (package["location"] for package in packages if package["name"] == name)
        return self.service.objects[location.removeprefix("storage.googleapis.com/")]


def _contents(archive: Path) -> str:
    """A digest of the files in an archive, without their dates, which vary."""
    digest = hashlib.sha256()
    with tarfile.open(archive) as tar:
        for member in sorted(tar.getmembers(), key=lambda member: member.name):
            if member.isfile() and ".egg-info" not in member.name:
                digest.update(f"{member.name} {member.size} ".encode())
                digest.update(tar.extractfile(member).read())
    return digest.hexdigest()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeDataflow]:
    """A Dataflow service and the store of its jobs."""
    workers = Workers(tmp_path_factory.mktemp("workers"))
    workers.service = FakeDataflow(workers.run)
    yield workers.service
    workers.service.close()


@pytest.fixture
def cloud(service: FakeDataflow, monkeypatch: pytest.MonkeyPatch) -> str:
    """The gs:// URL of an empty bucket of the service; without credentials."""
    for name, value in service.environment().items():
        monkeypatch.setenv(name, value)
    return f"gs://{service.new_bucket()}"


@pytest.fixture
def command(service: FakeDataflow, cloud: str) -> Callable[..., list[str]]:
    """command(input, *options) -> the complete command of a build on the service."""

    def line(source: object, *options: object) -> list[str]:
        return [
            *(sys.executable, "-m", "beam_pipeline", "build", str(source)),
            *("--output", f"{cloud}/data", "--runner=DataflowRunner"),
            *("--project=test-project", "--region=us-central1"),
            *(f"--temp_location={cloud}/temporary", "--no_auth"),
            f"--dataflow_endpoint={service.endpoint}",
            *map(str, options),
        ]

    return line


@pytest.fixture
def build(command: Callable[..., list[str]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """build(input, *options) -> the completed process of that command."""

    def run(source: object, *options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(source, *options), cwd=ROOT, capture_output=True, text=True, timeout=300
        )

    return run


@pytest.fixture
def local_digests(
    tmp_path: Path, digests: Callable[[Path], dict[str, str]]
) -> Callable[..., dict[str, str]]:
    """local_digests(input, **options) -> digests of a local build."""

    def of(source: object, **options: object) -> dict[str, str]:
        built = beam_pipeline.build(input=str(source), output=str(tmp_path / "data"), **options)
        return digests(Path(built.path))

    return of


@pytest.fixture
def remote_digests(
    tmp_path: Path, digests: Callable[[Path], dict[str, str]]
) -> Callable[[str], dict[str, str]]:
    """remote_digests(url) -> digests of a dataset on the store and of all files next to it."""

    def of(directory: str) -> dict[str, str]:
        for file in storage.list_files(directory):
            data = storage.read_bytes(FileRef(path=file.path))
            storage.write_bytes(str(tmp_path / "copied" / file.relative), data)
        return digests(tmp_path / "copied")

    return of


def _make_environment(folder: Path, package: Path) -> Path:
    """Make an environment with a source distribution, and return its Python.

    Dependencies are found in the tests' environment, since pip would take minutes; that of this
    package is an editable one, which a path in a `.pth` file does not make importable.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin/python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, package], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return python
