"""How workers get the package, by where it is here."""

import json

import pytest
from apache_beam.options.pipeline_options import PipelineOptions, SetupOptions

from beam_pipeline.errors import ConfigError
from beam_pipeline.running.remote import dataflow


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """installed(direct_url) makes the package one that pip has installed, from there."""

    def install(direct_url):
        site = tmp_path / "lib/python/site-packages"
        info = site / "beam_tfrecords-1.2.3.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: beam-tfrecords\nVersion: 1.2.3\n"
        )
        if direct_url:
            (info / "direct_url.json").write_text(json.dumps(direct_url))
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        module = site / "beam_pipeline/running/remote/dataflow.py"
        monkeypatch.setattr(dataflow, "__file__", str(module))

    return install


def staged(*options):
    beams = PipelineOptions(["--runner=DataflowRunner", *options])
    dataflow.stage_package(beams)
    return beams.view_as(SetupOptions)


def test_a_clone_brings_its_setup_file():
    assert staged().setup_file.endswith("/setup.py")
    assert staged().requirements_file is None


@pytest.mark.parametrize(
    ("direct_url", "requirement"),
    [
        (None, "beam-tfrecords==1.2.3"),
        (
            {"url": "https://host/repository", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "beam-tfrecords @ git+https://host/repository@abc",
        ),
        (
            {"url": "https://host/beam_tfrecords.whl", "archive_info": {}},
            "beam-tfrecords @ https://host/beam_tfrecords.whl",
        ),
    ],
)
def test_an_installed_package_is_a_requirement(installed, direct_url, requirement):
    installed(direct_url)

    setup = staged()

    assert setup.setup_file is None
    with open(setup.requirements_file) as file:
        assert file.read() == f"{requirement}\n"
    assert setup.requirements_cache == "skip"


def test_what_was_installed_from_a_folder_cannot_be_named(installed):
    installed({"url": "file:///home/me/clone", "dir_info": {}})

    with pytest.raises(ConfigError, match=r"installed from /home/me/clone, .*--setup_file=CLONE"):
        staged()


@pytest.mark.parametrize(
    "option",
    [
        "--setup_file=/mine/setup.py",
        "--requirements_file=/mine/requirements.txt",
        "--extra_package=/mine/beam_tfrecords.tar.gz",
        "--sdk_container_image=registry/image:1",
    ],
)
def test_the_users_own_way_stays(option):
    name = option.partition("=")[0]
    setup = staged(option)

    others = {"--setup_file": setup.setup_file, "--requirements_file": setup.requirements_file}
    assert {value for other, value in others.items() if other != name} == {None}
