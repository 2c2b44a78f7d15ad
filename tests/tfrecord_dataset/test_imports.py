"""Importing the package does not load Beam, TensorFlow or pyarrow."""

import pkgutil

from fresh_python import modules_after

import tfrecord_dataset


def test_no_module_of_it_loads_what_is_heavy():
    names = [
        module.name
        for module in pkgutil.walk_packages(tfrecord_dataset.__path__, "tfrecord_dataset.")
    ]
    loaded = modules_after(f"import {', '.join(names)}")
    assert set(names) <= loaded
    assert not loaded & {"apache_beam", "beam_pipeline", "pyarrow", "tensorflow", "trainer"}
