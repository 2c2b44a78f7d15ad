"""The summary that a build prints."""

import hashlib

import numpy as np
import pytest
from inspecting import Inspected, packed

from beam_pipeline.assign.dataset_plan import Preview, make_plan
from beam_pipeline.assign.duplicates import settle
from beam_pipeline.assign.packing import Packer
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.cli import summary
from beam_pipeline.config import BuildConfig
from beam_pipeline.kinds.numbers import rounding
from beam_pipeline.kinds.stored import summary as summary_of_list
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Objects,
    Rejected,
)
from tfrecord_dataset.format.feature import Feature


def plan_of(*elements, leaks="warn", **options):
    config = BuildConfig(name="t", max_bad_fraction=1, leaks=leaks, no_stratify=True, **options)
    found = packed(Packer(config), elements)
    statistics = found.statistics.take()
    if found.num_records:
        list(settle([found.records], config.duplicates, statistics, max_rows=1000))
    merged = Statistics()
    merged.merge(statistics)
    return summary.as_text(summary.of_plan(Preview(make_plan(merged, config), merged), config))


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def image(key, sha256, label, split):
    image = Image(file=FileRef(path=f"/{key}", sha256=sha256), format="jpeg", width=12, height=9)
    return Inspected(
        key=key,
        features={"image": image, "label": ClassLabel(label)},
        split=split,
        content_digest=digest(sha256),
        num_bytes=1500,
        notes={"box clipped": 2},
    )


BAD = Rejected(source="x.jpg", reason="truncated image", detail="10 bytes are missing")


def plain(**features):
    return Inspected(key="a", features=features, content_digest=digest("a"))


ACROSS = (image("a.jpg", "1", "cat", "train"), image("b.jpg", "1", "dog", "test"))


def test_splits_features_classes_rejects_and_changes():
    lines = plan_of(*(image(f"{i}", f"{i}", "cat", "train") for i in range(3)), BAD).splitlines()

    assert lines == [
        "train: 3 records in 1 shard, about 4.2 KiB",
        "feature image: image jpeg, 12×9 pixels",
        "feature label: class_label, 1 class",
        "1 class: cat",
        "rejected: 1 × truncated image",
        "  x.jpg: truncated image (10 bytes are missing)",
        "changed: 6 × box clipped",
    ]


@pytest.mark.parametrize(
    ("records", "options", "line"),
    [
        *(
            (
                (image("a.jpg", "1", "cat", "train"), image("b.jpg", "2", other, "train")),
                {},
                f"warning: {min('cat', other)} and {max('cat', other)} are two classes; rename",
            )
            for other in ("Cat", "cat ", "CAT")
        ),
        (
            tuple(image(f"{name}.jpg", name, name, "train") for name in ("1", "1.0", "01", "2")),
            {},
            "warning: 01 and 1 (and 1 more pairs) are two classes; rename one",
        ),
        ((image("a.jpg", "1", "c" * 1_000_000, "train"),), {}, "1 class: cccc"),
        ((plain(größe=1),), {}, "feature größe: scalar int64, always 1"),
        ((plain(**{" ": 1}),), {}, "feature ' ': scalar int64, always 1"),
        (ACROSS, {}, "duplicates: 2 records in 1 group of equal content"),
        (ACROSS, {}, "warning: leaks: 1 content in more than one split; pass --duplicates drop"),
        (
            *(ACROSS, {}),
            "warning: contradictions: 1 group of duplicates with different annotations, such as "
            "a.jpg (cat), b.jpg (dog); correct",
        ),
        ((plain(x=ClassLabel("a")),), {"masks": True}, "warning: masks (--masks): no object has"),
    ],
)
def test_a_line(records, options, line):
    text = plan_of(*records, **options)
    assert [each for each in text.splitlines() if each.startswith(line)]
    assert len(text) < 10_000


AUDIO = {"file": FileRef(path="/a.wav", sha256="0"), "format": "wav"}


def audio(num_samples, sample_rate=8000, channels=1):
    return Audio(num_samples=num_samples, sample_rate=sample_rate, channels=channels, **AUDIO)


def numbers(dtype, *values):
    array = np.array(values, dtype=dtype)
    low, high = (array.min().item(), array.max().item()) if array.size else (None, None)
    return Array(
        **{"dtype": dtype, "shape": array.shape, "data": array.tobytes()},
        **{"minimum": low, "maximum": high},
        **rounding(array.ravel())._asdict(),
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([17, 90], "scalar int64, 17 to 90"),
        ([29998, 29998], "scalar int64, always 29,998"),
        ([0.25, 1234567.5], "scalar float32, 0.25 to 1.23457e+06"),
        ([float("nan"), 1.0], "scalar float32, always 1, nan in 1 record"),
        ([float("nan")] * 2, "scalar float32, nan in 2 records"),
        (["abcde", "x" * 1200], "text, 5 to 1,200 characters"),
        ([b"a", b"b"], "bytes"),
        ([ClassLabel("a"), ClassLabel("b")], "class_label, 2 classes"),
        (
            [ClassLabels(()), ClassLabels(("a", "b"))],
            "class_label, 2 classes, 0 to 2 classes per record",
        ),
        ([numbers("int64", 1, 2), numbers("int64", 7)], "sequence int64, 1 to 2 values, 1 to 7"),
        (
            [numbers("float32", [1, 2]), numbers("float32", [0, 1], [3, 4])],
            "sequence float32 [n, 2], 1 to 2 rows, 0 to 4",
        ),
        ([numbers("float32", 1, 2.5)], "tensor float32 [2], 1 to 2.5"),
        ([numbers("float64", [0.5], [2])], "tensor float64 [2, 1] as bytes, 0.5 to 2"),
        ([("a", "b"), ()], "sequence string, 0 to 2 values"),
        ([audio(1148), audio(18262)], "audio wav, 8,000 Hz, 1 channel, 1,148 to 18,262 samples"),
        ([audio(5), audio(5, 16000, 2)], "audio wav, 5 samples"),
    ],
)  # fmt: skip
def test_features(values, expected):
    records = [
        Inspected(key=f"{i}", features={"x": value}, content_digest=digest(f"{i}"))
        for i, value in enumerate(values)
    ]
    assert f"feature x: {expected}" in plan_of(*records).splitlines()


def stored(lists):
    """Return records of existing TFRecords with a list under key "box", or without it."""
    kinds = {int: "int64", float: "float32", bytes: "bytes"}
    return [
        Inspected(
            key=f"{number}",
            features={"box": summary_of_list(kinds[type(lists[0][0])], values)}
            if values is not None
            else {},
            example=FileRef(path="a"),
            content_digest=digest(f"{number}"),
            num_bytes=9,
        )
        for number, values in enumerate(lists)
    ]


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([[1], [2, 3, 7]], "sequence int64, 1 to 3 values, 1 to 7"),
        ([[0.5] * 8, []], "sequence float32 [n, 4], 0 to 2 rows, always 0.5"),
        ([[b"some text"], [b"a", b"b"]], "sequence string, 1 to 2 values"),
        ([[b"some text"], [b"x" * 500]], "text, 9 to 500 characters"),
        ([[0.5], None], "sequence float32, 0 to 1 values, always 0.5"),
        ([[2.5, 1], None, [3.5]], "sequence float32, 0 to 2 values, 1 to 3.5"),
        ([[b"RIFF    WAVE" + b"x" * 500], [b"RIFF    WAVE"]], "audio wav"),
        ([[b"RIFF    WAVE"], [b""]], "audio wav"),
    ],
)
def test_features_that_others_wrote(lists, expected):
    assert f"feature box: {expected}" in plan_of(*stored(lists)).splitlines()


@pytest.mark.parametrize(
    ("lists", "expected"),
    [([[1], [2, 3]], "1 to 2 classes"), ([[1], None], "0 to 1 classes"), ([[1]], "1 class")],
)
def test_declared_lists_of_classes_in_existing_tfrecords(lists, expected):
    label = Feature(
        name="box", key="box", kind="class_label", dtype="int64", shape=(None,), classes=(*"abcd",)
    )
    lines = plan_of(*stored(lists), schema=(label,)).splitlines()
    assert f"feature box: class_label, 4 classes, {expected} per record" in lines


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([1700000061.5, 2.0], "1 of 2", id="floats"),
        pytest.param([1700000061, 2.5], "1 of 2", id="an int among floats"),
        pytest.param([1700000061, 2], None, id="ints are stored as they are"),
        pytest.param(["1700000061.5"], None, id="so are texts"),
        pytest.param(
            [numbers("float64", 1700000061.5), numbers("float64", 1, 2)], "1 of 3", id="sequences"
        ),
        pytest.param([numbers("float64", 1700000061.5)], None, id="float64 as bytes"),
        pytest.param([2.5, 16777216.0], None, id="nothing is rounded"),
    ],
)
def test_numbers_that_float32_rounds_are_noted(values, expected):
    records = [
        Inspected(key=f"{i}", features={"x": value}, content_digest=digest(f"{i}"))
        for i, value in enumerate(values)
    ]
    text = plan_of(*records)
    start = f"note: x: {expected} values change in float32, which keeps 7 digits: 1700000061"
    assert text.count(start) == (expected is not None)
    assert text.count("change in float32") == (expected is not None)


@pytest.mark.parametrize(
    ("splits", "fractions", "expected"),
    [
        (
            ["train", "test"],
            {"train": 0.5, "test": 0.5},
            "warning: --split ignored: the input has its own splits (test, train); leave it out",
        ),
        (
            ["train", "train"],
            {"train": 0.5, "test": 0.5},
            "warning: --split ignored: the input has its own splits (train); leave it out, or "
            "divide train with --split test=0.5",
        ),
        (["train", ""], {"test": 1.0}, "note: --split divides only records without a split"),
        (["", ""], {"train": 1e-9, "test": 1 - 1e-9}, "warning: --split: no records in train: "),
        (["train", "test"], {"train": 1.0}, ""),
        (["", ""], {"test": 1.0}, ""),
    ],
)
def test_notes_on_the_split_option(splits, fractions, expected):
    records = (image(f"{split}{i}", f"{i}", "a", split) for i, split in enumerate(splits))
    lines = [line for line in plan_of(*records, split=fractions).splitlines() if "--split" in line]

    assert [line[: len(expected)] for line in lines] == ([expected] if expected else [])


def test_images_without_boxes_are_counted_by_split():
    def photo(key, split, number):
        boxes = Objects(boxes=((0.0, 0.0, 1.0, 1.0),) * number, format="rel_xyxy")
        features = {"image": Image(file=FileRef(path=key), format="jpeg"), "boxes": boxes}
        return Inspected(key=key, features=features, split=split, content_digest=digest(key))

    text = plan_of(
        photo("1", "train", 1), photo("2", "train", 0), photo("3", "val", 0), photo("4", "val", 0)
    )
    assert "without boxes: 1 of 2 in train, 2 of 2 in val\n" in text
    assert "warning: no image of val has boxes; check its annotations" in text
    assert "without boxes" not in plan_of(photo("1", "train", 1))
