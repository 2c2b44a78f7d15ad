"""What importing the package costs: TensorFlow never, Beam only once it is used."""

import pkgutil
import subprocess
import sys

import pytest

import beam_pipeline


def modules_after(script):
    """The modules that a fresh interpreter has loaded after `script`."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{script}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_the_package_itself_loads_nothing():
    loaded = modules_after("import beam_pipeline, beam_pipeline.__main__")
    assert not loaded & {"apache_beam", "numpy", "PIL", "pyarrow", "tensorflow"}


@pytest.mark.slow
def test_no_module_of_it_loads_tensorflow():
    names = [
        module.name
        for module in pkgutil.walk_packages(beam_pipeline.__path__, "beam_pipeline.")
        if not module.name.endswith("__main__")
    ]
    loaded = modules_after("import " + ", ".join(names))

    assert set(names) <= loaded
    assert not loaded & {"tensorflow", "keras", "tensorflow_datasets", "trainer"}


def test_what_reads_long_values_again_loads_no_beam():
    """Worker processes do so."""
    sources = "beam_pipeline.sources"
    modules = ("feature_columns", "csv_table", "json_table")
    names = [*(f"{sources}.manifest.{name}" for name in modules), f"{sources}.tar.records"]
    assert "apache_beam" not in modules_after("import " + ", ".join(names))


def test_every_public_name_is_there():
    assert all(hasattr(beam_pipeline, name) for name in beam_pipeline.__all__)
    with pytest.raises(AttributeError, match="biuld"):
        _ = beam_pipeline.biuld


def test_features_are_made_by_the_packages_name_alone():
    script = (
        "import beam_pipeline; "
        "print(beam_pipeline.example.serialize({'label': beam_pipeline.example.int64_feature(3)}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "label" in done.stdout
