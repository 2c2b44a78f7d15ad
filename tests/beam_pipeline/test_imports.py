"""Importing the package never loads TensorFlow, and loads Beam only when used."""

import pkgutil

import pytest
from fresh_python import modules_after

import beam_pipeline


def test_the_package_itself_loads_nothing():
    loaded = modules_after("import beam_pipeline, beam_pipeline.cli.program")
    assert not loaded & {"apache_beam", "numpy", "PIL", "pyarrow", "tensorflow"}


@pytest.mark.slow
def test_no_module_of_it_loads_tensorflow():
    names = [
        module.name
        for module in pkgutil.walk_packages(beam_pipeline.__path__, "beam_pipeline.")
        if not module.name.endswith("__main__")
    ]
    loaded = modules_after(f"import {', '.join(names)}")

    assert set(names) <= loaded
    assert not loaded & {"tensorflow", "keras", "tensorflow_datasets", "trainer"}


def test_worker_processes_load_neither_beam_nor_tensorflow():
    """Covers processes for builds, shards and long values."""
    names = [
        *("running.parallel", "inspect.batch", "sources.tar.records"),
        *("dataset.shard_inspection", "dataset.shards", "sources.tables.convert"),
    ]
    script = "import " + ", ".join(f"beam_pipeline.{name}" for name in names)
    script += "\nbeam_pipeline.running.parallel.import_work()"
    assert not {"apache_beam", "tensorflow"} & modules_after(script)


def test_another_name_is_an_error():
    with pytest.raises(AttributeError, match="biuld"):
        _ = beam_pipeline.biuld
