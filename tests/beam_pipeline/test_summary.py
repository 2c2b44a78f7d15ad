"""What a person is told of a build."""

import pytest

from beam_pipeline import summary
from beam_pipeline.assign import settle
from beam_pipeline.census import Census, make_plan
from beam_pipeline.config import BuildConfig
from beam_pipeline.records import ClassLabel, FileRef, Image, Record, Rejected


def plan_of(*elements, **options):
    config = BuildConfig(name="t", max_bad_fraction=1, **options)
    census = Census()
    list(settle(elements, config, census))
    merged = Census()
    merged.merge(census)
    return summary.of_plan(make_plan(merged, config), config.split)


def picture(key, sha256, label, split):
    image = Image(file=FileRef(path=f"/{key}", sha256=sha256), format="jpeg")
    return Record(
        key=key,
        features={"image": image, "label": ClassLabel(label)},
        split=split,
        num_bytes=1500,
        notes={"box clipped": 2},
    )


BAD = Rejected(source="x.jpg", reason="truncated image", detail="10 bytes are missing")
ACROSS = (picture("a.jpg", "1", "cat", "train"), picture("b.jpg", "1", "dog", "test"))


def test_splits_features_classes_rejects_and_changes():
    told = plan_of(*(picture(f"{i}", f"{i}", "cat", "train") for i in range(3)), BAD).splitlines()

    assert told[0] == "train: 3 records in 1 shard, about 4.4 KiB"
    assert "feature image: image" in told
    assert "1 class: cat" in told
    assert "rejected: 1 × truncated image" in told
    assert "  x.jpg: truncated image (10 bytes are missing)" in told
    assert "changed: 6 × box clipped" in told


def test_the_same_picture_in_two_splits_is_warned_of():
    told = plan_of(*ACROSS)
    assert "duplicates: 2 records share 1 contents" in told
    assert "1 contents are in more than one split" in told
    assert "--duplicates drop removes them" in told
    assert "1 contents are annotated in several ways: a.jpg (cat), b.jpg (dog)" in told


def test_what_was_dropped_is_in_one_split_alone():
    told = plan_of(*ACROSS, duplicates="drop")
    assert "rejected: 1 × duplicate" in told
    assert "in more than one split" not in told


@pytest.mark.parametrize(
    ("num_bytes", "expected"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 << 30, "5.0 GiB"), (3 << 40, "3.0 TiB")],
)
def test_sizes(num_bytes, expected):
    assert summary._size(num_bytes) == expected
