"""Preparation of batches by each kind of input, on the CPU and on the device."""

import dataclasses
import io
import re
import struct
import zlib

import keras
import numpy as np
import pytest
import tensorflow as tf
from file_bytes import image_bytes
from kinds_of_learning import training
from PIL import Image as Pixels
from PIL import ImageOps

from tfrecord_dataset.format.declaration import features_from_json
from trainer.errors import ConfigError, DatasetDamagedError
from trainer.predicting import read_items
from trainer.tasks.inputs import input_type
from trainer.tasks.inputs.image import ArrayInput, ImageInput, exif_orientation, upright
from trainer.tasks.inputs.sequences import (
    AudioInput,
    Ids,
    Series,
    Words,
    before_last_zeros,
    log_mel,
)
from trainer.tasks.inputs.tabular import (
    Category,
    Date,
    Numbers,
    encode_together,
    restore_unit,
    standardize,
)

TEXTS = np.array([b"The cat, sat!", b"the dog sat", b""], object)


@pytest.mark.parametrize(
    ("kind", "dtype", "shape", "expected"),
    [
        ("image", None, None, ImageInput),
        ("audio", None, None, AudioInput),
        ("class_label", None, None, Category),
        ("class_label", None, [None], None),
        ("text", None, None, Words),
        ("scalar", "string", None, Words),
        ("scalar", "bytes", None, None),
        ("scalar", "int64", None, Numbers),
        ("sequence", "int64", None, Ids),
        ("sequence", "float32", None, Series),
        ("sequence", "int64", [None, 2], Series),
        ("sequence", "string", None, Words),
        ("tensor", "int64", [3], Numbers),
        ("tensor", "string", [3], None),
        ("tensor", "float32", [3, 3], ArrayInput),
        ("tensor", "float32", [2] * 4, None),
        ("boxes", None, None, None),
        ("bytes", None, None, None),
    ],
)
def test_the_kind_of_input_that_a_feature_is(kind, dtype, shape, expected):
    stated = {"kind": kind, "dtype": dtype, "shape": shape}
    declared = {name: each for name, each in stated.items() if each is not None}
    (feature,) = features_from_json({"x": declared}).values()

    kind = input_type(feature)

    assert kind is expected
    if kind is not None:
        assert kind.from_feature(feature, training()).name == "x"


@pytest.mark.parametrize(
    ("each", "values", "expected"),
    [
        (
            ImageInput(name="x", height=1, width=1, channels=3),
            *(np.array([[[[0, 51, 255]]]], np.uint8), [[[[0, 0.2, 1]]]]),
        ),
        (Numbers(name="x", size=1), [3, 4], [[3], [4]]),
        (Numbers(name="x", size=2), [[True, False]], [[1, 0]]),
        (ArrayInput(name="x", sizes=(2, 1, 1)), [[[3], [4]]], [[[[3]], [[4]]]]),
        (Series(name="x", size=1), [[1.0, 2.0]], [[[1], [2]]]),  # gets an axis of columns
        (Series(name="x", size=4), np.zeros([1, 5, 2, 2]), np.zeros([1, 5, 4])),
        # Ids start at 1, unknown ones share a number, padding is 0.
        (Ids(name="x", num_ids=6), [[0, 5, 6, 99, -1, -1]], [[1, 6, 7, 7, 0, 0]]),
        (Ids(name="x", num_ids=6), np.array([[2**63 - 1, 1 - 2**63]]), [[7, 0]]),
        (Category(name="x", num_classes=2), np.array([0, 1, 2, -1]), [[1], [2], [3], [0]]),
        # The pipeline has one channel.
        (AudioInput(name="x", sample_rate=8000), [[[0.5], [1.0]]], [[0.5, 1.0]]),
    ],
)
def test_what_models_take(each, values, expected):
    made = each.prepare(tf.constant(values))

    np.testing.assert_allclose(made, expected)
    assert made.dtype.name == each.dtype
    assert len(made.shape) == 1 + len(each.shape)
    for size, wanted in zip(made.shape[1:], each.shape, strict=True):
        assert wanted in (None, size)


def with_statistics(each, *batches):
    statistic = each.statistic()
    for batch in batches:
        statistic.add(batch)
    return dataclasses.replace(each, **statistic.result())


def numbered(each, strings):
    return next(iter(tf.data.Dataset.from_tensors(strings).map(each.host_step()))).numpy().tolist()


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        pytest.param(None, [[2, 4, 3], [1, 3, 0], [0, 0, 0]], id="to the longest"),
        pytest.param(2, [[2, 4], [1, 3], [0, 0]], id="cut"),
        pytest.param(4, [[2, 4, 3, 0], [1, 3, 0, 0], [0, 0, 0, 0]], id="padded"),
    ],
)
def test_words_of_texts(length, expected):
    words = with_statistics(Words(name="x", is_text=True, length=length), TEXTS[:1], TEXTS[1:])

    assert set(words.vocabulary[:2]) == {"the", "sat"}
    assert set(words.vocabulary[2:]) == {"cat", "dog"}
    numbers = {word: number for number, word in enumerate(words.vocabulary, start=2)}
    assert words.num_tokens == 6
    made = numbered(words, ["the cat sat", "bird SAT.", ""])
    named = {2: numbers["the"], 3: numbers["sat"], 4: numbers["cat"], 1: 1, 0: 0}
    assert made == [[named[number] for number in row] for row in expected]


def test_strings_of_sequences_are_taken_as_they_are():
    words = with_statistics(
        Words(name="x", is_text=False), np.array([b"New York", b"b", b"b"], object)
    )

    assert words.vocabulary == ("b", "New York")
    assert numbered(words, [["New York", "new york", ""]]) == [[3, 1, 0]]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([b"", b"..."], "'x' has no word"),
        ([b"\xff\xfe word"], r"'x' of a record is not UTF-8 \(b'\\xff"),
    ],
)
def test_texts_that_have_no_words_are_an_error(texts, message):
    with pytest.raises(ConfigError, match=message):
        with_statistics(Words(name="x", is_text=True), np.array(texts, object))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([[1], [0], [2], [0], [0]], [1, 1, 1, 0, 0], id="zeros within are no padding"),
        pytest.param([[0], [0]], [0, 0], id="nothing but zeros"),
        pytest.param([[0, 1], [0, 0]], [1, 0], id="rows"),
    ],
)
def test_what_is_padding_in_a_series(rows, expected):
    mask = before_last_zeros(np.array([rows], "float32"))

    assert np.asarray(mask).astype(int).tolist() == [expected]


def test_log_mel_is_that_of_tf_signal():
    samples = np.random.default_rng(1).normal(0, 0.1, [1, 4000]).astype("float32")

    bands, mask, means = log_mel(samples, 8000)

    reflected = np.pad(np.pad(samples, [(0, 0), (0, 256)]), [(0, 0), (128, 128)], mode="reflect")
    # 25 ms, 200 samples, centred in a transform of 256.
    stft = tf.signal.stft(reflected[:, 28:-28], 200, 80, 256)
    matrix = tf.signal.linear_to_mel_weight_matrix(40, 129, 8000, 20.0, 4000.0)
    expected = np.log(np.abs(stft) ** 2 @ matrix.numpy() + 1e-3)
    kept = np.asarray(mask)[0]
    assert kept[:50].all()
    assert not kept[52:].any()
    frames = min(len(kept), expected.shape[1])
    expected = expected[0, :frames][kept[:frames]]
    made = np.asarray(bands)[0, :frames][kept[:frames]]
    np.testing.assert_allclose(made, expected - expected.mean(axis=0), atol=2e-2)
    np.testing.assert_allclose(np.asarray(means)[0], expected.mean(axis=0), atol=2e-2)


def test_stationary_sounds_differ_by_their_spectrum_at_any_loudness():
    keras.utils.set_random_seed(0)
    white = np.random.default_rng(0).normal(0, 0.1, [6, 4000])
    brown = np.cumsum(white[3:], axis=1)
    sounds = np.concatenate([white[:3], brown / np.abs(brown).max() / 2]).astype("float32")
    audio = AudioInput(name="sound", sample_rate=8000)
    taken = keras.Input(audio.shape)

    model = keras.Model(taken, audio.encode(taken))
    encoded, louder = (np.asarray(model(each))[:, -40:] for each in (sounds, sounds * 1.5))

    apart = np.linalg.norm(encoded[:, None] - encoded, axis=-1)
    assert apart[:3, 3:].min() > 3 * max(apart[:3, :3].max(), apart[3:, 3:].max())
    assert np.linalg.norm(encoded - louder, axis=-1).max() < apart[:3, 3:].min() / 10


@pytest.mark.parametrize("samples", [0, 1, 100, 5000])
def test_sounds_of_any_length_have_a_vector(samples):
    x = keras.Input((None,))
    model = keras.Model(x, AudioInput(name="x", sample_rate=16000).encode(x))

    vectors = model(np.full([2, samples], 0.1, "float32"))

    assert vectors.shape == (2, 192 + 40)
    assert np.isfinite(vectors).all()


def encoded(inputs, *columns):
    """Encode several inputs of numbers with a model that was saved as JSON and read."""
    taken = [keras.Input(each.shape) for each in inputs]
    model = keras.Model(taken, encode_together(inputs, taken))
    model = keras.models.model_from_json(model.to_json())
    return np.asarray(model([np.array(column, "float32") for column in columns]))


def test_numbers_of_several_columns_stay_apart_in_bfloat16(bfloat16):
    year = Numbers(name="year", size=1, mean=(2021.5,), variance=(2.25,))
    other = Numbers(name="other", size=1, mean=(0.0,), variance=(1.0,))
    x = encoded([year, other], [[2020], [2023]], [[0], [1]])

    np.testing.assert_array_equal(x, [[-1, 0], [1, 1]])


def test_missing_numbers_become_the_mean_and_are_marked():
    nan = np.nan
    vector = with_statistics(
        Numbers(name="v", size=2), np.array([[1, nan], [3, nan]]), np.array([[5, 7]])
    )
    age = with_statistics(Numbers(name="age", size=1), np.array([20, 40]))

    x = encoded([vector, age], [[nan, 7], [3, nan]], [[30], [nan]])

    assert vector.missing == (0, 2)
    assert (vector.mean, vector.variance) == ((3, 7), (8 / 3, 1))
    # Both columns of v, age, and whether the second of v is missing, as in the train split.
    np.testing.assert_allclose(x[:, :4], [[0, 0, 0, 0], [0, 0, 0, 1]], atol=1e-6)
    # The 16 bins of age: 30 is in the middle of 20 to 40, a missing age in none of them.
    np.testing.assert_allclose(x[:, 4:], [[1] * 8 + [0] * 8, [0] * 16], atol=1e-6)


def test_outliers_leave_the_other_numbers_apart():
    numbers = [*np.linspace(0, 10, 101), 1e6]
    price = with_statistics(Numbers(name="price", size=1), np.array(numbers))

    x = encoded([price], [[2], [8], [1e6], [1e9]])

    assert x[1, 0] - x[0, 0] > 0.5
    np.testing.assert_allclose(x[2:, 0], 3, atol=1e-3)
    np.testing.assert_allclose(x[2:, 1:], 1, atol=1e-6)  # beyond the last bin
    assert np.abs(x[1, 1:] - x[0, 1:]).sum() > 8


def test_dates_have_places_in_the_day_the_week_and_the_year():
    date, x = Date(name="date", quantiles=(0.0,) * 17), Numbers(name="x", size=2)
    x = dataclasses.replace(x, mean=(0.0, 0.0), variance=(1.0, 1.0))
    found = encoded([x, date], [[1, 2]] * 4, [[0], [7.25], [365.2425], [np.nan]])[:, 3:]
    day, week, year = (found[:, place : place + 2] for place in (0, 2, 4))
    quarter = [np.sin(2 * np.pi / 28), np.cos(2 * np.pi / 28)]
    np.testing.assert_allclose(day[:2], [[0, 1], [1, 0]], atol=1e-5)
    np.testing.assert_allclose(week[:2], [[0, 1], quarter], atol=1e-5)
    np.testing.assert_allclose(year[[0, 2]], [[0, 1], [0, 1]], atol=1e-3)
    np.testing.assert_array_equal(found[3], 0)


def test_vectors_and_wide_tables_have_no_bins():
    vector = with_statistics(Numbers(name="v", size=2), np.array([[1, 2], [3, 4]]))
    wide = [
        with_statistics(Numbers(name=f"x{number}", size=1), np.array([1, 2, 4]))
        for number in range(129)
    ]

    assert encoded([vector], [[1, 2]]).shape == (1, 2)
    assert encoded(wide, *[[[1]]] * 129).shape == (1, 129)


@pytest.mark.parametrize(
    ("each", "values", "wrong"),
    [
        pytest.param(Numbers(name="x", size=1), [1.0, np.inf], "inf", id="a number"),
        pytest.param(Numbers(name="x", size=1), [1.0, 1e39], "inf", id="beyond float32"),
        pytest.param(Series(name="x", size=1), [[1.0, np.nan]], "nan", id="a series"),
        pytest.param(
            ArrayInput(name="x", sizes=(1, 2, 1)), [[[1.0, -np.inf]]], "-inf", id="an array"
        ),
    ],
)
def test_numbers_that_are_none_are_an_error(each, values, wrong):
    batches = tf.data.Dataset.from_tensors(np.array(values)).map(each.host_step())

    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"x of a record is not finite .*\[{wrong}\]"
    ):
        next(iter(batches))


def test_missing_numbers_and_raw_pixels_pass_as_they_are():
    gaps = Numbers(name="x", size=1).host_step()(tf.constant([np.nan, 1.0]))
    np.testing.assert_array_equal(gaps, [np.nan, 1])
    pixels = np.zeros((1, 2, 2), np.uint8)
    assert ArrayInput(name="x", sizes=(2, 2, 1)).host_step()(tf.constant(pixels)).dtype == tf.uint8


@pytest.mark.parametrize(
    ("declared", "value", "message"),
    [
        ({"kind": "sequence", "dtype": "int64"}, [1, 2.5], "not a whole number; correct"),
        ({"kind": "scalar", "dtype": "int64"}, "[" * 100_000, "not of int64: max"),
        (
            {"kind": "scalar", "dtype": "int64"},
            float("nan"),
            "x of rows:3 is missing, but is in every record",
        ),
        ({"kind": "text"}, None, "x of rows:3 is None, which is not of string: not a text"),
        ({"kind": "text"}, "\ud800", "not of string: 'utf-8' codec can't encode"),
        ({"kind": "image"}, 5, "is 5, not the path of a file; correct"),
        ({"kind": "image"}, "no.png", "no.png is not a readable image: cannot identify image file"),
        ({"kind": "image"}, "bomb.png", "bomb.png is not a readable image: Image size"),
        ({"kind": "audio"}, None, "is None, not the path of a file; correct"),
    ],
)
def test_values_to_predict_for_that_do_not_fit(tmp_path, declared, value, message):
    size = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    head = struct.pack(">I", 13) + b"IHDR" + size + struct.pack(">I", zlib.crc32(b"IHDR" + size))
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + head + bytes(4) + b"IDAT")
    (tmp_path / "no.png").write_bytes(b"no image")
    (feature,) = features_from_json({"x": declared}).values()
    each = input_type(feature).from_feature(feature, training())

    with pytest.raises(DatasetDamagedError, match=message):
        each.stored(value, feature, tmp_path, "rows:3")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"t\n\xff\n", "a.csv:2: not utf-8; set encoding .*; correct the row"),
        ("a.jsonl", b"[" * 100_000, "a.jsonl:1 is not a JSON object: maximum recursion"),
        ("a.jsonl", b"\n[1, 2]", r"a.jsonl:2 is not a JSON object: it is \[1, 2\]; correct"),
        ("a.jsonl", b"\xff", "a.jsonl:1 is not a JSON object: it is not UTF-8; correct the line"),
        ("a.txt", b"\xff", "a.txt is not UTF-8: .*; save it as UTF-8"),
    ],
)
def test_files_to_predict_for_that_cannot_be_read(
    choose, declare, tmp_path, name, content, message
):
    (tmp_path / name).write_bytes(content)
    task, _ = choose("t=text label")

    [bad] = read_items([str(tmp_path / name)], task, declare("t=text label"))
    assert re.search(message, bad.error)


def test_a_long_text_in_a_csv_and_the_name_of_a_file_are_read(choose, declare, tmp_path):
    (tmp_path / "a.csv").write_text("t\n" + "word " * 100_000)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/0a1b.txt").write_text("word")
    task, _ = choose("t=text label")
    paths = [str(tmp_path / name) for name in ("a.csv", "folder")]

    of_row, of_file = read_items(paths, task, declare("t=text label"))
    assert len(of_row.example) > 500_000
    assert of_file.row == {"stem": "0a1b"}


@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1.0, 1e15, 1e30])
def test_numbers_of_any_size_become_small_and_large_again(unit):
    values = np.array([[1 * unit], [3 * unit]], "float32")

    small = standardize(values, [2 * unit], [unit**2])

    np.testing.assert_allclose(small, [[-1], [1]], rtol=1e-5)
    np.testing.assert_allclose(restore_unit(small, [2 * unit], [unit**2]), values, rtol=1e-5)


def test_what_float32_cannot_tell_apart_stays_small():
    nanoseconds = 1_700_000_000_000_000_000 + np.array([[0.0], [1e6]])

    x = standardize(nanoseconds.astype("float32"), [nanoseconds.mean()], [nanoseconds.var()])

    assert np.abs(x).max() <= 1


PIXELS = np.kron(
    np.array([[0, 80, 160], [240, 40, 120]], np.uint8)[..., None], np.ones((16, 16, 3), np.uint8)
)


def photograph(orientation=None, byte_order="<", artist=""):
    """Make a JPEG of 48 x 32 pixels, with other tags around the orientation."""
    exif = Pixels.Exif()
    exif.endian = byte_order
    if artist:
        exif[0x013B] = artist
    exif[0x010F] = "a maker"
    if orientation is not None:
        exif[0x0112] = orientation
    return image_bytes(PIXELS, "JPEG", exif=exif, quality=95)


@pytest.mark.parametrize("byte_order", ["<", ">"])
@pytest.mark.parametrize("orientation", [None, *range(1, 9), 0, 9])
def test_orientation(orientation, byte_order):
    encoded = photograph(orientation, byte_order, artist="somebody with a long name")

    found = int(exif_orientation(tf.constant(encoded)))

    assert found == (orientation if orientation in range(1, 9) else 1)


def test_jpegs_without_exif_or_cut_in_it():
    whole = photograph(6)

    for encoded in (image_bytes(PIXELS, "JPEG"), whole[:40], whole[:4]):
        assert int(exif_orientation(tf.constant(encoded))) == 1


@pytest.mark.parametrize("orientation", range(1, 9))
def test_upright(orientation):
    encoded = photograph(orientation)
    expected = np.asarray(ImageOps.exif_transpose(Pixels.open(io.BytesIO(encoded))), int)

    turned = upright(tf.constant(encoded))

    found = tf.io.decode_image(turned).numpy()
    assert found.shape == expected.shape == ((32, 48, 3) if orientation < 5 else (48, 32, 3))
    np.testing.assert_allclose(found, expected, atol=3)
    assert (turned.numpy() == encoded) == (orientation == 1)


def test_other_formats_stay_as_they_are():
    png = tf.io.encode_png(PIXELS)

    assert upright(png).numpy() == png.numpy()
