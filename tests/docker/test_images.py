"""The images build and run."""

import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest
import yaml
from flink_cluster import Cluster, running
from ports import answers, free_port
from waiting import wait_until

pytestmark = pytest.mark.docker

ROOT = Path(__file__).parents[2]
BLOOD = ROOT / "examples/data/blood"
CELLS = ROOT / "examples/data/cells"
# Hard-coded in Beam's entry point.
POOL_PORT = 50000


@pytest.fixture(scope="module")
def pipeline(builder):
    builder, base = builder
    builder.build(ROOT / "docker/pipeline.Dockerfile", "localhost/pipeline", BASE=base)
    return "localhost/pipeline"


@pytest.fixture(scope="module")
def trainer(builder):
    builder, base = builder
    file = ROOT / "docker/trainer.Dockerfile"
    builder.build(file, "localhost/trainer", BASE=base, TENSORFLOW="tensorflow-cpu")
    return "localhost/trainer"


@pytest.fixture(scope="module")
def job_server(builder, java):
    file = ROOT / "docker/flink/job-server.Dockerfile"
    builder[0].build(file, "localhost/job-server", MAVEN=java, BASE=java)
    return "localhost/job-server"


@pytest.fixture(scope="module")
def local_build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of a build without images."""
    return build([sys.executable, "-m", "beam_pipeline"], tmp_path_factory.mktemp("local"))


def build(program: Sequence[str], output: Path, *options: str) -> Path:
    command = [*program, "build", str(BLOOD), "--output", str(output), *options]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return output / "blood/1.0.0"


def test_the_pipeline_image_builds_a_dataset(builder, pipeline, local_build, tmp_path, digests):
    program = builder[0].command(pipeline, [BLOOD, tmp_path], ["python", "-m", "beam_pipeline"])

    assert digests(build(program, tmp_path)) == digests(local_build)


@pytest.mark.nightly
def test_the_entry_point_is_a_worker_pool(builder, pipeline, local_build, tmp_path, digests):
    builder, _ = builder
    command = [*builder.entry_point(pipeline), "--worker_pool"]
    pool = builder.command(pipeline, [BLOOD, tmp_path], command)
    port = free_port()
    service = "apache_beam.runners.portability.local_job_service_main"

    with (
        listening(pool, POOL_PORT),
        listening([sys.executable, "-m", service, f"--port={port}"], port),
    ):
        directory = build(
            [sys.executable, "-m", "beam_pipeline"],
            tmp_path,
            "--runner=PortableRunner",
            f"--job_endpoint=localhost:{port}",
            "--environment_type=EXTERNAL",
            f"--environment_config=localhost:{POOL_PORT}",
        )

    assert digests(directory) == digests(local_build)


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Flink itself instead of its image, with one TaskManager."""
    with running(tmp_path_factory.mktemp("flink"), task_managers=1) as cluster:
        yield cluster


@pytest.mark.nightly
def test_the_job_server_and_a_worker_pool_serve_a_cluster(
    builder, pipeline, job_server, local_build, cluster, tmp_path, digests
):
    """The services of compose.yaml: cluster, job server, worker pool and launcher."""
    builder, _ = builder
    compose = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())["services"]
    pool = builder.command(pipeline, [BLOOD, tmp_path], compose["worker-pool-1"]["entrypoint"])
    ports = {name: free_port() for name in ("job", "artifact", "expansion")}
    options = [f"--{name}-port={port}" for name, port in ports.items()]
    options += [f"--flink-master={cluster.address}", f"--artifacts-dir={tmp_path}/staged"]
    server = builder.command(job_server, [tmp_path], [*builder.entry_point(job_server), *options])
    launcher = builder.command(pipeline, [BLOOD, tmp_path], ["python", "-m", "beam_pipeline"])

    with listening(pool, POOL_PORT), listening(server, ports["job"]):
        directory = build(
            launcher,
            tmp_path,
            "--runner=FlinkRunner",
            f"--flink_master={cluster.address}",
            f"--job_endpoint=localhost:{ports['job']}",
            "--environment_type=EXTERNAL",
            f"--environment_config=localhost:{POOL_PORT}",
        )

    assert digests(directory) == digests(local_build)
    [job] = cluster.jobs()
    assert job["state"] == "FINISHED"


@contextlib.contextmanager
def listening(command: Sequence[str], port: int) -> Iterator[None]:
    """Runs a server until exit; yields once it answers on its port."""
    assert not answers(port), f"port {port} is taken by another program"
    server = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(
            lambda: server.poll() is not None or answers(port), 120, "the server does not answer"
        )
        assert server.poll() is None, "the server has ended"
        yield
    finally:
        processes = [*server.children(recursive=True), server]
        for end, patience_s in ((psutil.Process.terminate, 20), (psutil.Process.kill, 5)):
            for process in processes:
                with contextlib.suppress(psutil.NoSuchProcess):
                    end(process)
            _, processes = psutil.wait_procs(processes, timeout=patience_s)


@pytest.mark.nightly
def test_the_trainer_image_trains(builder, trainer, tmp_path):
    builder, _ = builder
    splits = ["--split", "train=0.8,validation=0.2"]
    command = [sys.executable, "-m", "beam_pipeline", "build", str(CELLS), *splits]
    subprocess.run([*command, "--output", str(tmp_path)], cwd=ROOT, check=True)
    runs = tmp_path / "runs"
    runs.mkdir()
    tmp_path.chmod(0o777)
    runs.chmod(0o777)  # writable for the image's user

    data = ["--data", str(tmp_path / "cells"), "--image-size", "24", "--epochs", "1"]
    options = ["train", *data, "--devices", "cpu:2", "--output", str(runs / "cells")]
    done = builder.run(trainer, [tmp_path], [*builder.entry_point(trainer), *options])

    assert done.returncode == 0, done.stderr
    assert (runs / "cells/model.keras").stat().st_uid == 1000
    beam = builder.run(trainer, [], ["python", "-c", "import apache_beam"])
    assert "No module named 'apache_beam'" in beam.stderr


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("image", "changed"), [("pipeline", "beam_pipeline"), ("trainer", "trainer")]
)
def test_a_change_of_the_source_installs_no_dependency_again(
    builder, image, changed, request, tmp_path
):
    request.getfixturevalue(image)
    builder, base = builder
    tree = tmp_path / "tree"
    for name in ("pyproject.toml", "constraints.txt", "setup.py", "README.md", "LICENSE"):
        tree.mkdir(exist_ok=True)
        shutil.copy2(ROOT / name, tree)
    for name in ("docker", "beam_pipeline", "tfrecord_dataset", "trainer"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (tree / changed / "__init__.py").open("a") as source:
        source.write(f"\n# {time.time()}\n")
    arguments = {"trainer": {"TENSORFLOW": "tensorflow-cpu"}}.get(image, {})

    file = tree / f"docker/{image}.Dockerfile"
    said = builder.build(file, f"localhost/{image}-changed", tree, BASE=base, **arguments)

    assert "Processing ./wheels/beam_tfrecords" in said, "the package is installed again"
    assert "Collecting numpy" not in said
