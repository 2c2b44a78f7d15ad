"""How workers get the package depends on its location on this machine."""

import pytest
from apache_beam.options.pipeline_options import PipelineOptions, SetupOptions

from beam_pipeline.errors import ConfigError
from beam_pipeline.running.remote import dataflow


def staged(*options):
    beams = PipelineOptions(["--runner=DataflowRunner", *options])
    dataflow.stage_package(beams)
    return beams.view_as(SetupOptions)


def test_a_clone_brings_its_setup_file():
    assert staged().setup_file.endswith("/setup.py")
    assert staged().requirements_file is None


def test_without_a_clone_the_user_says_how(monkeypatch):
    monkeypatch.setattr(dataflow, "__file__", "/site-packages/beam_pipeline/running/remote/x.py")
    with pytest.raises(ConfigError, match=r"--setup_file=CLONE/setup.py, a --requirements_file"):
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
