"""Features that a caller declares, held against the first records."""

import numpy as np
import pytest
import tensorflow as tf

import trainer

FLOATS = np.linspace(0, 1, 16, dtype="<f4").tobytes()
RECORD = {
    "n": 3,
    "label": 1,
    "x": 0.5,
    "ints": [1, 2, 3],
    "floats": [0.25] * 4,
    "boxes": [0.5] * 8,
    "caption": b"text",
    "raw": FLOATS,
    "image": tf.io.encode_png(np.zeros((2, 2, 3), np.uint8)).numpy(),
    "sound": tf.audio.encode_wav([[0.5]], 8000).numpy(),
    "words": [b"a", b"b"],
}


@pytest.fixture
def file(tmp_path, write_records):
    """Two records with values of every kind."""
    write_records(tmp_path / "a.tfrecord", [RECORD] * 2)
    return tmp_path / "a.tfrecord"


def scalar(dtype):
    return {"kind": "scalar", "dtype": dtype}


def sequence(dtype):
    return {"kind": "sequence", "dtype": dtype}


def tensor(dtype, *shape):
    return {"kind": "tensor", "dtype": dtype, "shape": shape}


def fixed(shape, dtype=tf.string):
    return tf.io.FixedLenFeature(shape, dtype)


ROWS = tf.io.FixedLenSequenceFeature([4], tf.float32, allow_missing=True)


@pytest.mark.parametrize(
    ("name", "spec", "kind", "dtype", "shape"),
    [
        ("n", fixed([], tf.int64), "scalar", "int64", ()),
        ("label", fixed((), tf.int64), "class_label", "int64", ()),
        ("x", fixed([], tf.float32), "scalar", "float32", ()),
        ("ints", fixed([3], tf.int64), "tensor", "int64", (3,)),
        ("floats", fixed([2, 2], tf.float32), "tensor", "float32", (2, 2)),
        ("caption", fixed([]), "text", "string", ()),
        ("raw", fixed([]), "tensor", "float32", (4, 4)),
        ("image", fixed([]), "image", "uint8", (None, None, 3)),
        ("sound", fixed([]), "audio", "float32", (None, None)),
        ("ints", tf.io.VarLenFeature(tf.int64), "sequence", "int64", (None,)),
        ("words", tf.io.RaggedFeature(tf.string), "sequence", "string", (None,)),
        ("boxes", ROWS, "sequence", "float32", (None, 4)),
    ],
)
def test_specs_of_tensorflow(file, name, spec, kind, dtype, shape):
    dataset = trainer.open(file, features={name: spec})

    feature = dataset.features[name]
    assert (feature.kind, feature.dtype, feature.shape) == (kind, dtype, shape)
    (batch,) = dataset.batches(image_size=4)
    assert batch.keys() == {name}
    if dtype in ("int64", "string", "float32") and kind != "audio" and name != "raw":
        expected = np.array(RECORD[name], object).reshape(
            [-1 if size is None else size for size in shape]
        )
        assert batch[name].numpy().tolist() == [expected.tolist()] * 2


def test_a_ragged_spec_has_its_own_key(file):
    spec = tf.io.RaggedFeature(tf.int64, value_key="ints")

    (batch,) = trainer.open(file, features={"tokens": spec}).batches()

    assert batch["tokens"].numpy().tolist() == [[1, 2, 3]] * 2


def test_default_values(tmp_path, write_records):
    write_records(tmp_path / "a.tfrecord", [{"n": 5, "s": [1]}, {"s": [1, 2]}])
    features = {
        "n": tf.io.FixedLenFeature([], tf.int64, default_value=7),
        "v": tf.io.FixedLenFeature([2], tf.float32, default_value=[0.5, 1.5]),
        "s": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=-3),
    }

    (batch,) = trainer.open(tmp_path / "a.tfrecord", features=features).batches()

    assert batch["n"].numpy().tolist() == [5, 7]
    assert batch["v"].numpy().tolist() == [[0.5, 1.5]] * 2
    assert batch["s"].numpy().tolist() == [[1, -3], [1, 2]]


def test_specs_declarations_and_features_mix(file):
    inferred = trainer.open(file)

    dataset = trainer.open(
        file,
        features={
            "x": tf.io.FixedLenFeature([], tf.float32),
            "image": {"kind": "image", "shape": [2, 2, 3]},
            "text": inferred.features["caption"],
        },
    )

    assert list(dataset.features) == ["x", "image", "text"]
    (batch,) = dataset.batches()
    assert batch["image"].shape == (2, 2, 2, 3)
    assert batch["text"].numpy().tolist() == [b"text"] * 2


def test_what_was_inferred_can_be_overruled_key_by_key(file):
    inferred = trainer.open(file).features
    raw = {"kind": "tensor", "dtype": "float32", "shape": [16], "encoding": "bytes"}

    dataset = trainer.open(file, features={**inferred, "raw": raw})

    assert dataset.features.keys() == RECORD.keys()
    assert dataset.features["raw"].shape == (16,)
    assert dataset.notes == ()


def test_a_raw_square_of_a_spec_is_a_guess(file, caplog):
    dataset = trainer.open(file, features={"raw": tf.io.FixedLenFeature([], tf.string)})

    assert "raw: 64 raw bytes" in dataset.notes[0]
    assert caplog.records[0].name == "tfrecord_dataset.records.bare_files"


def test_flat_boxes(file):
    dataset = trainer.open(file, features={"objects": {"kind": "boxes", "key": "boxes"}})

    assert dataset.features["objects"].encoding == "flat"
    (batch,) = dataset.batches(max_boxes=3)
    expected = [[0.5] * 4, [0.5] * 4, [-1] * 4]
    assert batch["objects"].numpy().tolist() == [expected] * 2


PARTS = tf.io.RaggedFeature(tf.int64, partitions=[tf.io.RaggedFeature.RowSplits("a")])


@pytest.mark.parametrize(
    ("name", "declared", "message"),
    [
        (
            *("lable", {"kind": "class_label"}),
            r"no key \(of feature 'lable'\) 'lable' in the first records \(did you mean 'label'",
        ),
        ("intts", sequence("int64"), r"did you mean 'ints'\?\); there are: .*floats"),
        ("faces", {"kind": "boxes"}, "there is no .*'faces/bbox/xmin'"),
        ("x", scalar("int64"), "'x' is .* scalar of int64.*list of int64.*holds float32 in record"),
        ("n", fixed([]), "takes a list of bytes, but key 'n' holds int64"),
        ("ints", fixed([2], tf.int64), r"2 values per record, but key 'ints' holds 3 to 3"),
        ("raw", tensor("float32", 3, 3), r"float32 \[3, 3\], .* 36 bytes, but key 'raw' holds 64"),
        (
            *("ints", tf.io.SparseFeature("a", "b", tf.int64, 3)),
            r"SparseFeature.*cannot be used.*use one of tf\.io\.FixedLenFeature, VarLenFeature",
        ),
        ("ints", PARTS, "without partitions"),
        ("ints", tf.io.FixedLenSequenceFeature([], tf.int64), "allow_missing=True"),
        ("ints", fixed([None], tf.int64), "give every size, or use tf.io.VarLenFeature"),
        ("n", fixed([], tf.int32), "dtype int32, which Examples cannot store"),
        ("n", tf.int64, "cannot be used"),
        ("n", scalar("int32"), "dtype 'int32', which Examples cannot store"),
        ("raw", tensor("complex64", 8), "declare one of bool, int8"),
    ],
)
def test_wrong_declarations(file, name, declared, message):
    with pytest.raises(trainer.ConfigError, match=message):
        trainer.open(file, features={name: declared})


def test_a_key_that_some_records_lack(tmp_path, write_records):
    write_records(tmp_path / "a.tfrecord", [{"n": 5, "m": 1}, {"m": 1}])

    with pytest.raises(trainer.ConfigError, match=r"missing in 1 of the first 2 records.*default"):
        trainer.open(tmp_path / "a.tfrecord", features={"n": {"kind": "scalar", "dtype": "int64"}})


def test_one_key_is_not_read_in_two_ways(file):
    declared = {
        "fixed": {"kind": "tensor", "dtype": "int64", "shape": [3], "key": "ints"},
        "open": {"kind": "sequence", "dtype": "int64", "key": "ints"},
    }
    dataset = trainer.open(file, features=declared)

    with pytest.raises(trainer.ConfigError, match="'open' reads key 'ints' differently"):
        dataset.batches()
    (batch,) = dataset.batches(features=["open"])
    assert batch["open"].shape == (2, 3)


def test_empty_files_keep_their_declaration(tmp_path):
    (tmp_path / "a.tfrecord").touch()

    dataset = trainer.open(
        tmp_path / "a.tfrecord", features={"n": tf.io.FixedLenFeature([], tf.int64)}
    )

    assert list(dataset.batches()) == []
