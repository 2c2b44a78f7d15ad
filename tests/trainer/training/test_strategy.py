"""Device names, and batches that replicas can share."""

import re

import pytest
import tensorflow as tf

from trainer.errors import ConfigError
from trainer.options import Devices, parse_devices
from trainer.options.train_options import TrainConfig
from trainer.training.strategy import check_global_batch, create_strategy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("auto", Devices(kind="auto")),
        pytest.param("cpu", Devices(kind="cpu", num_cpus=1)),
        pytest.param("CPU:4", Devices(kind="cpu", num_cpus=4)),
        pytest.param("gpu", Devices(kind="gpu")),
        pytest.param("gpu:2", Devices(kind="gpu", gpus=(2,))),
        pytest.param("gpu:0,1", Devices(kind="gpu", gpus=(0, 1))),
    ],
)
def test_devices(text, expected):
    assert parse_devices(text) == expected


@pytest.mark.parametrize(
    "text", ["", "tpu", "cpu:", "cpu:0", "cpu:65", "cpu:a", "gpu:", "gpu:1,1", "gpu:-1"]
)
def test_devices_that_cannot_be_read(text):
    with pytest.raises(ConfigError, match=re.escape(f"devices (--devices): {text!r}")):
        TrainConfig(data="D", output="R", devices=text)


@pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="a GPU is there")
def test_a_missing_gpu():
    with pytest.raises(ConfigError, match=r"--devices asks for GPU 0, 1, but TensorFlow has none"):
        create_strategy(parse_devices("gpu:0,1"))


def test_too_late_for_more_cpus(two_replicas):
    message = r"started with 4 CPU devices, but cpu:5 needs 5; .* before any other use"
    with pytest.raises(ConfigError, match=message):
        create_strategy(parse_devices("cpu:5"))


@pytest.mark.parametrize(
    ("batch_size", "num_replicas", "message"),
    [
        pytest.param(8, 2, None, id="even"),
        pytest.param(7, 2, "such as 6 or 8", id="uneven"),
        pytest.param(1, 4, "such as 4", id="less than one each"),
        pytest.param(0, 1, "such as 1", id="nothing"),
    ],
)
def test_the_global_batch_is_shared_evenly(batch_size, num_replicas, message):
    if message is None:
        check_global_batch(batch_size, num_replicas)
    else:
        with pytest.raises(ConfigError, match=message):
            check_global_batch(batch_size, num_replicas)
