"""Dockerfiles, compose.yaml and the Kubernetes manifests are valid and consistent."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from apache_beam.options.pipeline_options import PipelineOptions
from flink_cluster import FLINK

from beam_pipeline.cli.options import command_parser
from beam_pipeline.errors import ConfigError, DataError
from tfrecord_dataset.errors import DatasetDamagedError
from trainer import commands as trainer_main
from trainer.workers import Workers, read_workers

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
DOCKERFILES = sorted(DOCKER.rglob("*Dockerfile"))
MANIFESTS = sorted((DOCKER / "k8s").glob("*.yaml"))
KUBERNETES = ("1.30", "1.37")
COMPOSE_GO = "github.com/compose-spec/compose-go/v2/cmd@v2.16.2"


def resources():
    """(file name, resource) of all manifests."""
    for path in MANIFESTS:
        for resource in yaml.safe_load_all(path.read_text()):
            yield path.name, resource


def containers():
    """All containers of the manifests and of compose.yaml."""
    for name, resource in resources():
        if pod := resource.get("spec", {}).get("template", {}).get("spec"):
            for container in pod["containers"] + pod.get("initContainers", []):
                yield name, container
    yield from services().items()


def services():
    return yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]


@pytest.mark.docker
@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: str(path.relative_to(DOCKER)))
def test_hadolint_finds_nothing(path):
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, path], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout


@pytest.mark.docker
@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_are_valid(path, version):
    import kubernetes_validate

    for resource in yaml.safe_load_all(path.read_text()):
        kubernetes_validate.validate(resource, version, strict=True)


@pytest.mark.docker
def test_compose_file_is_valid(image_cache):
    """Checked like `docker compose config`, with the same library."""
    program = image_cache / "cmd"
    if not program.exists():
        environment = {**os.environ, "GOBIN": str(image_cache), "GOFLAGS": "-mod=mod"}
        subprocess.run(["go", "install", COMPOSE_GO], check=True, env=environment, timeout=600)

    done = subprocess.run(
        [program, "compose.yaml"], cwd=DOCKER, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["services"].keys() >= services().keys()


def test_commands_parse():
    parsed = 0
    for _, container in containers():
        start = container.get("entrypoint", container.get("command", []))
        rest = container.get("command" if "entrypoint" in container else "args", [])
        if start[:3] == ["python", "-m", "beam_pipeline"]:
            words = [*start[3:], *rest]
            _, unknown = command_parser().parse_known_args(words)
            PipelineOptions(unknown)
            parsed += 1
        elif "trainer" in container["image"]:
            trainer_main._parse(rest)
            parsed += 1
    assert parsed == 6


def test_every_image_of_beams_has_the_pinned_version(beam_version):
    files = (path for path in DOCKER.rglob("*") if path.suffix != ".pyc")
    texts = {path: path.read_text() for path in files if path.is_file()}
    tags = [
        tag
        for text in texts.values()
        for tag in re.findall(r"apache/beam_\w+(?:\.\w+)*:([\w.]+)", text)
    ]

    assert tags
    assert set(tags) == {beam_version}


@pytest.mark.parametrize("name", ["flink/config.yaml", "compose.yaml", "k8s/flink-session.yaml"])
def test_a_busy_machine_loses_no_worker_of_flink(name):
    """Jobs are repeated if a process is silent for less than Flink's own default."""
    text = (DOCKER / name).read_text()
    timeouts = re.findall(r"heartbeat\.timeout: (\d+)", text)
    assert "restart-strategy.type" in text
    assert all(int(timeout) >= 50_000 for timeout in timeouts)


def test_job_server_and_clusters_have_one_version_of_flink():
    texts = [path.read_text() for path in (*MANIFESTS, *DOCKERFILES)]
    clusters = re.findall(r"(?:image: |ARG CLUSTER=)flink:([\d.]+)-", "".join(texts))
    servers = re.findall(r"ARG FLINK=(.*)", "".join(texts))

    assert set(clusters) == {FLINK}, "the version of the tests"
    assert {version.rpartition(".")[0] for version in clusters} == set(servers)


def test_every_image_of_ours_has_a_dockerfile():
    """Other files name only images that a Dockerfile's head builds (`docker build -t NAME`)."""
    made = {
        name
        for path in DOCKERFILES
        for name in re.findall(r"^# +docker build .*-t (\S+) \.$", path.read_text(), re.MULTILINE)
    }
    texts = [path.read_text() for path in (*MANIFESTS, DOCKER / "compose.yaml")]
    named = re.findall(
        r"image: (?:registry\.example\.com/)?(beam-tfrecords-[\w-]+)", "".join(texts)
    )

    assert set(named) == {name for name in made if name.startswith("beam-tfrecords-")}


def test_every_taskmanager_has_a_worker_pool_of_its_own():
    found = services()
    networks = [
        service["network_mode"] for name, service in found.items() if name.startswith("worker-pool")
    ]
    assert sorted(networks) == [
        f"service:{name}" for name in sorted(found) if name.startswith("taskmanager")
    ]

    (pod,) = (
        resource["spec"]["template"]["spec"]
        for _, resource in resources()
        if resource["metadata"]["name"] == "flink-taskmanager"
    )
    assert [container["name"] for container in pod["containers"]] == ["taskmanager", "worker-pool"]


def test_each_pod_of_a_training_on_two_hosts_knows_both(monkeypatch):
    service, job = (resource for name, resource in resources() if name == "train-hosts.yaml")
    pod, count = job["spec"]["template"]["spec"], job["spec"]["completions"]
    [container] = pod["containers"]
    index, config = container["env"]
    [port] = service["spec"]["ports"]

    assert job["spec"]["parallelism"] == count, "pods wait for each other"
    assert pod["subdomain"] == service["metadata"]["name"]
    assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
    for number in range(count):
        text = config["value"].replace(f"$({index['name']})", str(number))
        assert json.loads(text)["cluster"]["worker"] == [
            f"{job['metadata']['name']}-{each}.{pod['subdomain']}:{port['port']}"
            for each in range(count)
        ]
        monkeypatch.setenv("TF_CONFIG", text)
        assert read_workers() == Workers(count, is_chief=number == 0)


@pytest.mark.parametrize("name", ["build", "train", "train-hosts"])
def test_a_job_tries_again_only_what_another_pod_may_heal(name):
    [spec] = (
        resource["spec"]
        for _, resource in resources()
        if resource["kind"] == "Job" and resource["metadata"]["name"] == name
    )
    bad_data_or_usage, lost_node = spec["podFailurePolicy"]["rules"]

    assert bad_data_or_usage == {
        "action": "FailJob",
        "onExitCodes": {
            "containerName": name,
            "operator": "In",
            "values": sorted({e.exit_code for e in (ConfigError, DataError, DatasetDamagedError)}),
        },
    }
    assert lost_node == {
        "action": "Ignore",
        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
    }
    pod = spec["template"]["spec"]
    assert [container["name"] for container in pod["containers"]] == [name]
    assert pod["restartPolicy"] == "Never", "else Kubernetes refuses the policy"
    assert spec["backoffLimit"] > 0
    assert spec["activeDeadlineSeconds"] > 0
    assert spec["ttlSecondsAfterFinished"] > 0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param([], ["apache-beam>=2.70", "numpy[a]>=1"], id="dependencies"),
        pytest.param(
            ["--extra", "trainer"], ["apache-beam>=2.70", "numpy[a]>=1", "keras"], id="extra"
        ),
        pytest.param(["--without", "apache-beam", "--without", "numpy"], [], id="without some"),
    ],
)
def test_requirements_of_an_image(options, expected, tmp_path, monkeypatch, capsys):
    pyproject = tmp_path / "pyproject.toml"
    pyproject.write_text(
        '[project]\ndependencies = ["apache-beam>=2.70", "numpy[a]>=1"]\n'
        '[project.optional-dependencies]\ntrainer = ["keras"]\n'
    )
    spec = importlib.util.spec_from_file_location("requirements", DOCKER / "requirements.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["requirements.py", str(pyproject), *options])

    module.main()

    assert capsys.readouterr().out.split() == expected
