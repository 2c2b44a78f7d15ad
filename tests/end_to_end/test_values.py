"""Every kind of value is written, read with TFDS and the trainer, and verified."""

import json
import math

import apache_beam as beam
import numpy as np
import pytest
import tensorflow as tf
from file_bytes import array_bytes, image_bytes, sound_bytes

import beam_pipeline
import tfrecord_dataset
import trainer
from beam_pipeline.kinds.masks import mask_of
from beam_pipeline.kinds.objects import MASK_NOT_KEPT
from beam_pipeline.pipeline import build
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Map,
    Objects,
    RawFile,
    Record,
)

# TFDS 4.9 calls functions deprecated in protobuf 6.
pytestmark = pytest.mark.filterwarnings(r"ignore:label\(\) is deprecated:DeprecationWarning")

COUNT = 6
WIDTH, HEIGHT = 12, 9
RAW_DTYPES = (
    "bool",
    "uint8",
    "int8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)


def sound(number):
    """Make a 16-bit mono WAV of 8 kHz, with a different length for each number."""
    return sound_bytes((np.arange(100 + number) * 10).astype(np.int16), "WAV")


def raw(dtype, number):
    """Make an array with more values than are stored as a list."""
    return (np.arange(300).reshape(20, 15) % (number + 2)).astype(dtype)


def inline(values):
    values = np.asarray(values)
    return Array(dtype=values.dtype.name, shape=values.shape, data=values.tobytes())


def rows(number):
    return np.arange(4.0 * (number % 3), dtype=np.float32).reshape(-1, 4)


def classes(number):
    """Make a map of three classes, one of which is ignored."""
    diagonals = np.add.outer(np.arange(HEIGHT), np.arange(number, WIDTH + number))
    return np.array([0, 1, 255], np.uint8)[diagonals % 3]


def depths(number):
    return (np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH) * 500 + number).astype(np.uint16)


def deep(number):
    """Make a 16-bit image whose lower bytes matter."""
    return (depths(number) * 3).astype(np.uint16)


# A box rotated by 30 degrees, and an upright one, in pixels.
TURNED = (6, 4, 4, 2, math.radians(30))
UPRIGHT = (2, 5, 4, 2, -math.pi / 2)
POLYGON = (1.0, 1.0, 6.0, 1.0, 6.0, 5.5)


def corners(cx, cy, width, height, angle):
    signs = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    turn = np.array([(math.cos(angle), math.sin(angle)), (-math.sin(angle), math.cos(angle))])
    return tuple(((signs * (width / 2, height / 2)) @ turn + (cx, cy)).ravel().tolist())


def pixels(number):
    """Make a mask of a few pixels."""
    return (np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH) % 7 == number).astype(np.uint8)


def objects(number):
    """Make two objects for even numbers, the first without an outline; none for odd ones."""
    if number % 2:
        return Objects(boxes=())
    eyes = ("left eye", "right eye") if number else ("right eye", "left eye")
    return Objects(
        boxes=((1, 2, 5, 8), (3, 1, 9.5, 6)),
        labels=("plane", "ship"),
        attributes={"area": (2.5, float(number)), "is_crowd": (0, 1)},
        keypoints=((), (1.0, 2.0, 2.0, 3.0, 4.0, 1.0)),
        keypoint_names=eyes,
        polygons=((), (POLYGON,)),
        rotated=(corners(*TURNED), corners(*UPRIGHT)),
        masks=(mask_of(pixels(number)), None),
    )


def features(folder, write_image, number):
    def file(name, data):
        path = folder / f"{number}.{name}"
        path.write_bytes(data)
        return FileRef(path=str(path))

    def npy(name, values):
        return Array(file=file(name, array_bytes(values)))

    image = write_image(folder / f"{number}.png", seed=number)
    return {
        "image": Image(file=FileRef(path=str(image))),
        "segmentation": Map(file=file("map.png", image_bytes(classes(number)))),
        "deep": Image(file=file("deep.png", image_bytes(deep(number)))),
        "depth": Map(file=file("depth.png", image_bytes(depths(number))), shows="depth"),
        "boxes": objects(number),
        "audio": Audio(file=file("wav", sound(number))),
        "label": ClassLabel("ab"[number % 2]),
        "topics": ClassLabels(tuple("xyz"[: number % 4])),
        "age": number,
        "weight": number / 4,
        "caption": f"caption {number}",
        "words": tuple(f"caption {number}".split()[: number % 3]),
        "blob": RawFile(file=file("bin", bytes([number, 255]))),
        "vector": inline(np.arange(5, dtype=np.float32) + number),
        "grid": inline(np.arange(6).reshape(2, 3) * number),
        "tokens": inline(np.arange(number)),
        "rows": inline(rows(number)),
        **{f"raw_{dtype}": npy(f"{dtype}.npy", raw(dtype, number)) for dtype in RAW_DTYPES},
    }


@pytest.fixture(scope="module")
def records(tmp_path_factory, write_image):
    folder = tmp_path_factory.mktemp("input")
    return [
        Record(key=f"{number:02d}", features=features(folder, write_image, number))
        for number in range(COUNT)
    ]


def built(records, folder, **options):
    config = beam_pipeline.BuildConfig(
        output=str(folder),
        name="values",
        num_shards=2,
        image=beam_pipeline.ImageOptions(depth_scale=0.001),
        **options,
    )
    return build(config, source=beam.Create(records))


@pytest.fixture(scope="module")
def info(tmp_path_factory, records):
    return built(records, tmp_path_factory.mktemp("values"), masks=True)


def test_every_reader_gets_every_kind(info, readers_agree):
    readers_agree(info)
    seen = list(tfrecord_dataset.open(info.path)["train"])
    assert sorted(int(each["age"]) for each in seen) == list(range(COUNT))
    for each in seen:
        number = int(each["age"])
        expected = np.frombuffer(sound(number)[44:], "<i2")[:, None] / np.float32(2**15)
        assert (each["audio"] == expected).all()
        assert each["label"] == number % 2
        assert list(each["topics"]) == list(range(number % 4))
        assert each["caption"] == f"caption {number}".encode()
        assert list(each["words"]) == [
            w.encode() for w in f"caption {number}".split()[: number % 3]
        ]
        assert each["blob"] == bytes([number, 255])
        assert (each["vector"] == number + np.arange(5)).all()
        assert (each["grid"] == np.arange(6).reshape(2, 3) * number).all()
        assert (each["tokens"] == np.arange(number)).all()
        assert each["rows"].shape == rows(number).shape
        assert (each["rows"] == rows(number)).all()
        assert (each["segmentation"][..., 0] == classes(number)).all()
        assert (each["depth"][..., 0] == depths(number)).all()
        assert (each["deep"] == deep(number)[..., None]).all()
        check_objects(each, number)
        for dtype in RAW_DTYPES:
            assert each[f"raw_{dtype}"].dtype == dtype
            assert (each[f"raw_{dtype}"] == raw(dtype, number)).all()


def check_objects(record, number):
    if number % 2:
        assert record["rotated"].shape == (0, 5)
        return
    size = np.array([WIDTH, HEIGHT])
    assert record["box_labels"].tolist() == [0, 1]
    np.testing.assert_allclose(record["boxes"][1] * np.tile(size, 2), (3, 1, 9.5, 6), rtol=1e-6)
    eyes = [(1, 2, 2), (3, 4, 1)][:: 1 if number else -1]
    np.testing.assert_allclose(record["keypoints"][1] * [*size, 1], eyes, rtol=1e-6)
    (ring,) = json.loads(record["polygons"][1])
    np.testing.assert_allclose(
        np.reshape(ring, (-1, 2)) * size, np.reshape(POLYGON, (-1, 2)), atol=1e-4
    )
    assert record["polygons"][0] == b"[]"
    rotated = record["rotated"] * [*size, *size, 1]
    np.testing.assert_allclose(rotated, [TURNED, UPRIGHT], atol=1e-5)
    assert (record["masks"][0] == pixels(number)).all()


def test_the_schema_states_classes_units_and_geometry(info):
    named = info.features
    assert (named["depth"].unit, named["depth"].scale) == ("m", 0.001)
    assert named["segmentation"].key == "image/segmentation/class/encoded"
    assert named["boxes"].geometry == ("mask", "polygon", "rotated")
    assert named["boxes"].keypoint_names == ("left eye", "right eye")
    assert named["boxes"].keypoint_flips == (1, 0)


def test_images_of_16_bits_keep_them_in_views(info):
    dataset = trainer.open(info.path)
    order = {"shuffle": False, "batch_size": COUNT, "features": ["deep"]}
    (fractions,) = dataset.batches(**order)
    stored = [record["deep"] for record in tfrecord_dataset.open(info.path)["train"]]
    np.testing.assert_allclose(fractions["deep"] * 65_535, stored, atol=0.01)
    views = trainer.Views(area=(0.5, 2.0), mirror=True)
    (seen,) = dataset.batches(image_size=(18, 24), views=views, image_dtype="uint8", **order)
    assert seen["deep"].dtype == np.uint16
    assert np.unique(seen["deep"].numpy() % 256).size > 100


def test_the_keys_of_model_gardens_decoder_hold_objects(info):
    """Parses and decodes like TfExampleDecoder(include_mask=True)."""
    text, floats = tf.io.FixedLenFeature((), tf.string), tf.io.VarLenFeature(tf.float32)
    number, numbers = tf.io.FixedLenFeature((), tf.int64), tf.io.VarLenFeature(tf.int64)
    sides = [f"image/object/bbox/{side}" for side in ("xmin", "ymin", "xmax", "ymax")]
    features = {
        **dict.fromkeys(("image/encoded", "image/source_id"), text),
        **dict.fromkeys(("image/height", "image/width"), number),
        **dict.fromkeys((*sides, "image/object/area"), floats),
        **dict.fromkeys(("image/object/class/label", "image/object/is_crowd"), numbers),
        "image/object/mask": tf.io.VarLenFeature(tf.string),
    }
    files = [f"{info.path}/{shard.file}" for shard in info.splits["train"]]
    seen = [tf.io.parse_single_example(each, features) for each in tf.data.TFRecordDataset(files)]
    for each, record in zip(seen, tfrecord_dataset.open(info.path)["train"], strict=True):
        encoded = each["image/object/mask"].values
        masks = [tf.io.decode_png(mask, channels=1)[..., 0].numpy() for mask in encoded]
        np.testing.assert_array_equal(np.reshape(masks, record["masks"].shape), record["masks"])
        boxes = np.stack([each[side].values for side in sides], axis=-1)
        np.testing.assert_array_equal(boxes, record["boxes"])
        labels = each["image/object/class/label"].values.numpy()
        assert (labels - 1 == record["box_labels"]).all()


def test_batches_have_masks_unless_they_are_left_out(info):
    dataset = trainer.open(info.path)
    options = {"batch_size": COUNT, "image_size": (18, 24), "features": ["image", "boxes"]}
    for masks, shape in ((True, (COUNT, 2, 18, 24)), (False, None)):
        (batch,) = dataset.batches(masks=masks, **options)
        assert (batch["masks"].shape if "masks" in batch else None) == shape


def test_masks_are_stored_only_where_they_are_asked_for(records, tmp_path):
    without = built(records, tmp_path)
    assert without.features["boxes"].geometry == ("polygon", "rotated")
    assert without.metadata["changes"] == {MASK_NOT_KEPT: COUNT // 2}
