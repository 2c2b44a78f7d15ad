"""What importing the package costs: no Beam, TensorFlow or pyarrow."""

import pkgutil
import subprocess
import sys

import tfrecord_dataset


def test_no_module_of_it_loads_what_is_heavy():
    names = [
        module.name
        for module in pkgutil.walk_packages(tfrecord_dataset.__path__, "tfrecord_dataset.")
    ]
    script = f"import sys, {', '.join(names)}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert set(names) <= loaded
    assert not loaded & {"apache_beam", "beam_pipeline", "pyarrow", "tensorflow", "trainer"}
