"""Duplicates are settled, and every record gets its split: counted as it happens."""

from collections import Counter

import pytest

from beam_pipeline.assign.census import Census, make_plan
from beam_pipeline.assign.stage import content_bucket, settle, shard_key
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import DataError
from beam_pipeline.records import ClassLabel, DeclaredClasses, FileRef, Image, Record, Rejected


def image(key, sha256, label="cat", split=None, **more):
    image = Image(file=FileRef(path=f"/in/{key}", sha256=sha256), format="jpeg")
    features = {"image": image, "label": ClassLabel(label)}
    return Record(key=key, features=features, split=split, num_bytes=100, content=sha256, **more)


def settled(elements, **options):
    census = Census()
    found = list(settle(elements, BuildConfig(name="t", **options), census))
    records = [each for each in found if isinstance(each, Record)]
    rejects = [each for each in found if isinstance(each, Rejected)]
    return records, rejects, census


TWINS = [image("b.jpg", "1"), image("a.jpg", "1"), image("c.jpg", "2")]


def test_equal_contents_are_kept_and_counted():
    records, rejects, census = settled(TWINS)

    assert sorted(record.key for record in records) == ["a.jpg", "b.jpg", "c.jpg"]
    assert not rejects
    assert (census.num_records, census.duplicate_groups, census.duplicate_records) == (3, 1, 2)
    assert (census.conflicting, census.across_splits) == (0, 0)
    assert census.duplicates[0][1].keys == ("a.jpg", "b.jpg")


@pytest.mark.parametrize("elements", [TWINS, TWINS[::-1]], ids=["listed", "listed backwards"])
def test_of_equal_contents_drop_keeps_the_first_key(elements):
    records, rejects, census = settled(elements, duplicates="drop")

    assert sorted(record.key for record in records) == ["a.jpg", "c.jpg"]
    assert rejects == [
        Rejected(source="b.jpg", reason="duplicate", detail="same content as a.jpg", bad=False)
    ]
    assert (census.num_records, census.num_bad, census.rejected.total()) == (2, 0, 1)


def test_error_names_the_equal_ones():
    _, _, census = settled(TWINS, duplicates="error")
    problem = make_plan(census, BuildConfig(name="t", duplicates="error")).problem

    assert isinstance(problem, DataError)
    assert "2 records share 1 contents, such as a.jpg and b.jpg" in str(problem)


def test_no_duplicates_are_no_error():
    _, _, census = settled(TWINS[1:], duplicates="error")
    assert make_plan(census, BuildConfig(name="t", duplicates="error")).problem is None


def test_equal_contents_with_unlike_labels_conflict():
    conflict = [image("a.jpg", "1", "cat"), image("b.jpg", "1", "dog")]

    _, _, census = settled(conflict)
    assert census.conflicting == 1
    assert census.duplicates[0][1].labels == ("cat", "dog")

    _, [rejected], _ = settled(conflict, duplicates="drop")
    assert rejected.detail == "same content as a.jpg, annotated otherwise (cat)"


def test_conflicts_are_told_before_other_duplicates():
    _, _, agreeing = settled([image("a.jpg", "1"), image("b.jpg", "1")])
    _, _, conflicting = settled([image("y.jpg", "2", "cat"), image("z.jpg", "2", "dog")])
    agreeing.merge(conflicting)

    assert [group.keys for _, group in agreeing.duplicates] == [
        ("y.jpg", "z.jpg"),
        ("a.jpg", "b.jpg"),
    ]


def test_equal_contents_in_several_splits_of_the_layout_are_counted():
    across = [image("a.jpg", "1", split="train"), image("b.jpg", "1", split="test")]
    assert settled(across)[2].across_splits == 1


def test_equal_contents_without_a_stated_split_share_one():
    pairs = [image(f"{i}{twin}.jpg", str(i)) for i in range(50) for twin in "ab"]
    records, _, census = settled(pairs, split={"train": 0.5, "test": 0.5})

    split_of = {record.key: record.split for record in records}
    assert all(split_of[f"{i}a.jpg"] == split_of[f"{i}b.jpg"] for i in range(50))
    assert set(split_of.values()) == {"train", "test"}
    assert census.across_splits == 0


def test_a_group_is_in_one_split():
    records, _, _ = settled(
        [image(f"patient{i}/{n}.jpg", f"{i}-{n}") for i in range(20) for n in range(5)],
        split={"train": 0.5, "test": 0.5},
        group_by="1",
    )
    splits = {}
    for record in records:
        splits.setdefault(record.key.split("/")[0], set()).add(record.split)
    assert all(len(found) == 1 for found in splits.values())
    assert Counter(split for [split] in splits.values()).keys() == {"train", "test"}


def test_a_record_without_the_group_is_bad():
    records, [rejected], census = settled([image("flat.jpg", "1", source="x.csv:2")], group_by="2")

    assert not records
    assert (rejected.source, rejected.reason, rejected.bad) == ("x.csv:2", "no group", True)
    assert (census.num_records, census.num_bad) == (0, 1)


@pytest.mark.parametrize(
    ("stated", "expected"), [("val", "val"), ("train-set 1", "train_set_1"), (None, "all")]
)
def test_the_layouts_splits_are_kept_as_names_of_files(stated, expected):
    [record], _, census = settled([image("a.jpg", "1", split=stated)], split={"all": 1.0})
    assert record.split == expected
    assert list(census.histograms) == [expected]


def test_everything_is_counted_once():
    elements = [
        *TWINS,
        Rejected(source="x.jpg", reason="truncated image", detail="…"),
        Rejected(source="README", reason="not an image file", detail="…", bad=False),
        DeclaredClasses(feature="label", names={0: "cat", 1: "dog"}),
    ]
    records, rejects, census = settled(elements)

    assert len(records) + len(rejects) == 5
    assert census.num_records == 3
    assert census.rejected == {"truncated image": 1, "not an image file": 1}
    assert census.num_bad == 1
    assert census.declared == {"label": {0: {"cat"}, 1: {"dog"}}}


def test_equal_contents_meet_in_one_bucket():
    assert content_bucket(TWINS[0]) == content_bucket(TWINS[1])


def test_shard_key():
    records, _, census = settled([image(f"{i}.jpg", str(i)) for i in range(100)])
    plan = make_plan(census, BuildConfig(name="t", num_shards=3))

    keys = Counter(shard_key(record, plan, seed=0) for record in records)
    assert set(keys) == {"train/00000", "train/00001", "train/00002"}
    assert shard_key(Rejected(source="x", reason="y", detail="z"), plan, seed=0) == ""
