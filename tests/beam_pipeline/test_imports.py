"""Importing the package never loads TensorFlow, loads Beam only when used, and logs nothing."""

import logging
import pkgutil
import subprocess
import sys

import pytest
from fresh_python import modules_after

import beam_pipeline
from beam_pipeline import beam_import


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
        *("running.parallel", "inspect.inspect_batch", "sources.tar.member_records"),
        *("dataset.shard_inspection", "dataset.shards", "sources.tables.fit"),
    ]
    script = "import " + ", ".join(f"beam_pipeline.{name}" for name in names)
    script += "\nbeam_pipeline.running.parallel.import_work()"
    assert not {"apache_beam", "tensorflow"} & modules_after(script)


@pytest.mark.slow
def test_no_process_of_a_build_loads_pandas(tmp_path):
    (tmp_path / "rows.csv").write_text("a,label\n1,x\n2,y\n")
    build = [*("build", str(tmp_path / "rows.csv"), "--output", str(tmp_path / "data"))]
    command = [sys.executable, "-X", "importtime", "-m", "beam_pipeline", *build, "--name", "t"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    loaded = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
    assert {"apache_beam", "pyarrow.lib"} <= {*loaded}
    assert not any(name.startswith("pandas.") for name in loaded)  # attempts are listed, too


def test_a_layout_of_another_package_may_import_pandas(tmp_path):
    script = (
        "from beam_pipeline import beam_import\n"
        "with beam_import.without_pandas():\n"
        "    import apache_beam, pyarrow\n"
        "import sys\n"
        "assert 'pandas' not in sys.modules\n"
        "pyarrow.array([1, 2])\n"
        "assert 'pandas' not in sys.modules\n"
        "import pandas\n"
        "assert pyarrow.array(pandas.Series([1, 2])).to_pylist() == [1, 2]\n"
        "assert pyarrow.table(pandas.DataFrame({'a': [3]})).to_pydict() == {'a': [3]}\n"
        "assert pyarrow.table({'a': [3]}).to_pandas()['a'].tolist() == [3]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_another_name_is_an_error():
    with pytest.raises(AttributeError, match="biuld"):
        _ = beam_pipeline.biuld


def test_one_line_is_left_out_and_only_meanwhile(caplog):
    with beam_import.quiet():
        logging.warning("apitools not found, and bigquery client libraries are not available")
        logging.warning("something else")
    logging.warning("apitools not found")

    assert caplog.messages == ["something else", "apitools not found"]


def test_the_log_of_whoever_imports_is_left_as_it_is():
    code = (
        "import logging\n"
        "import beam_pipeline\n"
        "beam_pipeline.build\n"
        "logging.getLogger('beam_pipeline.sources').warning('a note')\n"
        "print(logging.getLogger().handlers)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "a note\n")
