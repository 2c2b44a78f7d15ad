"""A cluster, launchers of builds on it, and shared inputs."""

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from flink_cluster import ROOT, TEST_S, Cluster, Launcher, running
from PIL import Image

import beam_pipeline

END_S = 10


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Flink session cluster: two TaskManagers of two slots each."""
    with running(tmp_path_factory.mktemp("flink"), task_managers=2) as cluster:
        yield cluster


@pytest.fixture
def available_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A separate cluster whose jobs outlive its JobManager."""
    with running(tmp_path_factory.mktemp("flink"), task_managers=2, available=True) as cluster:
        yield cluster


@pytest.fixture
def launch(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Launcher]]:
    """Starts builds on the test's cluster; ends those still running after the test."""
    name = "available_cluster" if "available_cluster" in request.fixturenames else "cluster"
    cluster: Cluster = request.getfixturevalue(name)
    started: list[Launcher] = []

    def start(source: Path, output: Path, *options: str) -> Launcher:
        mark = f"beam-tfrecords-test-{uuid.uuid4().hex}"
        stderr = tmp_path / f"stderr-{len(started)}"
        command = [sys.executable, "-m", "beam_pipeline", "build", str(source)]
        command += ["--output", str(output), "--runner=FlinkRunner"]
        command += [f"--flink_master={cluster.address}", *options]
        with stderr.open("w") as handle:
            process = subprocess.Popen(
                command,
                env={**os.environ, "PYTHONPATH": str(ROOT), "BEAM_TFRECORDS_TEST": mark},
                stdout=subprocess.PIPE,
                stderr=handle,
                text=True,
                start_new_session=True,
            )
        started.append(Launcher(process, mark, stderr))
        return started[-1]

    yield start
    for launcher in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(launcher.process.pid, signal.SIGKILL)
        # The deadline may have left its lock taken, on which a wait without timeout would hang.
        with contextlib.suppress(subprocess.TimeoutExpired):
            launcher.process.wait(END_S)
        launcher.process.stdout.close()  # type: ignore[union-attr]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A table of 5,000 rows."""
    path = tmp_path / "people.jsonl"
    rows = [{"age": n % 70, "name": f"person {n}", "weight": n / 7} for n in range(5000)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@dataclasses.dataclass
class Heavy:
    """An input that takes a cluster several seconds, and its dataset on this machine."""

    source: Path
    options: tuple[str, ...]
    digests: dict[str, str]


@pytest.fixture(scope="session")
def heavy(
    tmp_path_factory: pytest.TempPathFactory, digests: Callable[[Path], dict[str, str]]
) -> Heavy:
    """1,500 photographs in six batches, each with a unique comment and so unique bytes."""
    root = tmp_path_factory.mktemp("heavy")
    pixels = np.random.default_rng(0).integers(0, 256, (400, 450, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(root / "photograph.jpg", quality=85)
    data = (root / "photograph.jpg").read_bytes()
    for number in range(1500):
        comment = f"{number:06d}".encode()
        path = root / f"photographs/{number % 3}/{number:04d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[:2] + b"\xff\xfe\x00\x08" + comment + data[2:])
    source = root / "photographs"
    here = beam_pipeline.build(
        input=str(source), output=str(root / "here"), name="data", num_shards=24
    )
    return Heavy(source, ("--name=data", "--num-shards=24"), digests(Path(here.path)))


@pytest.fixture
def built_by(digests: Callable[[Path], dict[str, str]]) -> Callable[[Path], dict[str, str]]:
    """built_by(output) -> digests of the dataset; asserts that nothing is left next to it."""

    def of(output: Path) -> dict[str, str]:
        assert [path.name for path in (output / "data").iterdir()] == ["1.0.0"], "something is left"
        return digests(output / "data/1.0.0")

    return of


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """A job that hangs fails only its own test."""

    def fail(*_: object) -> None:
        pytest.fail(f"the test took over {TEST_S} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(TEST_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
