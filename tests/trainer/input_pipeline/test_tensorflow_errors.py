"""Errors for records that do not fit, read one by one or in batches."""

import re

import pytest
import tensorflow as tf
from damages import edit
from tiers import first_in_ci

import trainer
from trainer.input_pipeline.tensorflow_errors import explain, readable_errors

USUAL = {"n": 1, "x": [0.5, 0.5], "s": b"a"}


def opened(tmp_path, write_records, last, features=None):
    """A dataset of usual records that ends with `last`."""
    write_records(tmp_path / "a.tfrecord", [USUAL] * 300 + [last])
    return trainer.open(tmp_path / "a.tfrecord", features=features)


def error_of(read):
    try:
        list(read)
    except tf.errors.OpError as error:
        return error
    pytest.fail("nothing was raised")


@pytest.mark.parametrize(
    ("last", "expected"),
    first_in_ci(
        [
            pytest.param({"x": [0.5] * 2, "s": b"a"}, "Feature: n .*is required", id="missing"),
            pytest.param({**USUAL, "n": 1.5}, "Key: n.*Data types don't match", id="type"),
            pytest.param({**USUAL, "n": [1, 2]}, r"Key: n[.,]", id="two integers"),
            pytest.param({**USUAL, "x": [0.5] * 3}, r"Key: x[.,]", id="three floats"),
            pytest.param({**USUAL, "s": [b"a", b"b"]}, r"Key: s[.,]", id="strings"),
        ],
        2,
    ),
)
def test_a_record_that_does_not_fit_what_was_inferred(tmp_path, write_records, last, expected):
    dataset = opened(tmp_path, write_records, last)

    with pytest.raises(
        trainer.DatasetDamagedError,
        match=rf"what is stated: {expected}.*inferred from the first records; declare that key",
    ):
        list(dataset.numpy())
    for batch_size in (32, None):
        error = error_of(dataset.batches(batch_size=batch_size))
        assert "inferred" in error.message  # users of `batches` see the remedy, too
        assert re.search(expected, str(explain(error)))


def test_of_a_declared_feature_another_declaration_is_asked_for(tmp_path, write_records):
    declared = {"n": {"kind": "scalar", "dtype": "int64"}}
    dataset = opened(tmp_path, write_records, {"n": [1, 2]}, declared)

    with pytest.raises(trainer.DatasetDamagedError, match="change the declaration of that key"):
        list(dataset.numpy())


def test_a_sound_that_cannot_be_decoded(tmp_path, write_records):
    dataset = opened(tmp_path, write_records, USUAL, {"s": {"kind": "audio"}})

    with pytest.raises(
        trainer.DatasetDamagedError,
        match=r"^'s' of a record is not audio that libsndfile can read: .*b'a'$",
    ):
        raise explain(error_of(dataset.batches(batch_size=None)))


PNG = tf.io.encode_png(tf.zeros([9, 9, 3], tf.uint8)).numpy()
JPEG = tf.io.encode_jpeg(tf.zeros([99, 99, 3], tf.uint8)).numpy()


IMAGE, ENCODED = {"kind": "image"}, "image/encoded"
MASKS = {"kind": "boxes", "geometry": ["mask"]}
BOX = {f"x/bbox/{side}": [0.5] for side in ("xmin", "ymin", "xmax", "ymax")}


@pytest.mark.parametrize(
    ("name", "declared", "record", "reason"),
    first_in_ci(
        [
            pytest.param("x", IMAGE, {"x": JPEG[:100]}, "Invalid JPEG data", id="JPEG"),
            pytest.param("x", MASKS, BOX | {"x/mask": [b"no PNG"]}, "", id="mask"),
            pytest.param(
                ENCODED, IMAGE, {ENCODED: b"text"}, "Unknown image file format", id="text"
            ),
            pytest.param("x", IMAGE, {"x": PNG[:50] + bytes(50)}, "Invalid PNG data", id="PNG"),
            pytest.param("x", IMAGE, {"x": b""}, "Input is empty;", id="empty"),
            pytest.param("x", {"kind": "map"}, {"x": b"no PNG"}, "", id="map"),
            pytest.param("x", IMAGE | {"dtype": "uint16"}, {"x": b"no PNG"}, "", id="16 bits"),
        ],
        3,
    ),
)
def test_an_image_that_cannot_be_decoded(tmp_path, write_records, name, declared, record, reason):
    write_records(tmp_path / "a.tfrecord", [record])
    dataset = trainer.open(tmp_path / "a.tfrecord", features={name: declared})

    for image_size in (None, 8):
        error = explain(error_of(dataset.batches(batch_size=None, image_size=image_size)))
        assert isinstance(error, trainer.DatasetDamagedError)
        assert re.fullmatch(
            f"'{name}' of a record is not an image that TensorFlow can read: .*{reason}.*build` "
            "rejects damaged images and lists them",
            str(error),
        )


def test_own_checks_keep_their_message(tmp_path, write_records):
    dataset = opened(
        tmp_path, write_records, USUAL, {"x": {"kind": "sequence", "dtype": "float32"}}
    )

    error = explain(error_of(dataset.batches(pad={"x": 1})))

    assert str(error).startswith("x of a record is longer than 1, the limit of pad")
    assert str(error).endswith("Its length: 2")


def test_a_damaged_file(tmp_path, write_records):
    opened(tmp_path, write_records, USUAL)
    file = tmp_path / "a.tfrecord"
    data = bytearray(file.read_bytes())
    data[-20] ^= 1
    file.write_bytes(data)
    dataset = trainer.open(file)

    with pytest.raises(trainer.DatasetDamagedError, match=r"record 300 of .* has a wrong checksum"):
        list(dataset.numpy())


@pytest.mark.parametrize(
    ("stated", "compression", "expected"),
    [
        pytest.param(4, "", "states 3 records in .*, but it holds 2; ", id="fewer"),
        pytest.param(2, "", "states 1 record in .*, but it holds 2; ", id="more"),
        pytest.param(
            4, "GZIP", "expected to contain 4 elements but contained only 3", id="fewer, gzip"
        ),
        pytest.param(
            2, "GZIP", "expected to contain 2 elements but contained at least 3", id="more, gzip"
        ),
    ],
)
def test_another_number_of_records_than_metadata_states(
    tmp_path, write_dataset, schema, stated, compression, expected
):
    directory = write_dataset(
        tmp_path / "tiny" / "1.0.0",
        [schema["number"]],
        {"train": [{"number": 1}] * 3},
        compression=compression,
    )

    def change(metadata):
        train = metadata["splits"]["train"]
        train["shards"][0]["num_records"] += stated - train["num_records"]
        train["num_records"] = stated

    edit(directory / "metadata.json", change)

    with pytest.raises(trainer.DatasetDamagedError, match=expected):
        list(trainer.open(directory).numpy())


def test_a_full_disk_is_not_a_full_memory():
    with (
        pytest.raises(
            trainer.TrainerError, match=r"^/dev/full; No space left on device; free space"
        ),
        readable_errors(),
    ):
        tf.io.write_file("/dev/full", "x")


@pytest.mark.parametrize("root", ["", "2 root error(s) found.\n  (0) INVALID_ARGUMENT:  "])
def test_what_a_compiled_function_says_first_is_left_out(root):
    node = "cond/decode_image/image/encoded/DecodeImage"
    message = (
        f"Graph execution error:\n\nDetected at node {node} defined at (most recent call last):\n"
        f"<stack traces unavailable>\n{root}Invalid PNG data, size 100\n"
        f"\t [[{{{{node {node}}}}}]]\n"
        "\t [[MultiDeviceIteratorGetNextFromShard]] [Op:__inference_train_steps_2173]"
    )
    error = explain(tf.errors.InvalidArgumentError(None, None, message))
    assert str(error).startswith(
        "'image/encoded' of a record is not an image that TensorFlow can read: Invalid PNG data, "
        "size 100; "
    )


@pytest.mark.parametrize(
    ("message", "named"),
    [
        (
            "Graph execution error:\n\nCollective ops is aborted by: Error reported from "
            "/job:worker/task:1: The following tasks are unhealthy (stopped sending heartbeats):\n"
            "/job:worker/replica:0/task:1\nThe tasks have crashed.",
            "/task:1",
        ),
        (
            "Collective ops is aborted by: Failed to send RPC to coordination service. Either the "
            "leader task was preempted.\nAdditional GRPC error information from remote target "
            "/job:worker/replica:0/task:0 while calling /tensorflow.CoordinationService/Heartbeat:",
            "/task:0",
        ),
        (
            "Collective ops is aborted by: Socket closed\nAdditional GRPC error information from "
            "remote target /job:worker/replica:0/task:0 while calling "
            "/tensorflow.WorkerService/CompleteInstance:\n:UNKNOWN:Error received from peer",
            "/task:0",
        ),
    ],
)
def test_a_lost_worker_is_named(message, named):
    """Messages of TensorFlow 2.21 on the other workers."""
    error = explain(tf.errors.UnavailableError(None, None, message))
    assert re.match(f"a worker of TF_CONFIG has ended or cannot be reached; .*{named}", str(error))
