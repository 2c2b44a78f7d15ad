"""Near-duplicate images are found, reported, and kept in one split."""

import json
from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from eager_runner import yielded
from PIL import Image
from tiers import first_in_ci

import beam_pipeline
from beam_pipeline.assign import columns, likeness
from beam_pipeline.assign.assign_shards import FindNearDuplicates
from beam_pipeline.assign.placement import SplitChooser
from beam_pipeline.config import BuildConfig
from beam_pipeline.running.runner import PLAIN_JOB

CHOOSER = SplitChooser({"train": 0.5, "test": 0.5}, seed=0)


def alike(key, place, content=""):
    return likeness.Alike(key, place, (content or key).encode())


def looks_at(looks, places):
    rows = [
        {"look": look, "key": f"{number:03d}", "place": place, "content": b"%016d" % number}
        for number, (look, place) in enumerate(zip(looks, places, strict=True))
    ]
    return columns.to_bytes(pa.Table.from_pylist(rows, schema=likeness.SCHEMA))


class Grouped(beam.PTransform):
    """Find near-duplicates in tables of perceptual hashes."""

    def __init__(self, looks, buckets):
        super().__init__()
        self.looks, self.buckets = looks, buckets

    def expand(self, root):
        config = BuildConfig(near_duplicates="group")
        buckets = root.pipeline | "Buckets" >> beam.Create([self.buckets])
        chooser = root.pipeline | "Chooser" >> beam.Create([CHOOSER])
        return (
            root.pipeline
            | "Looks" >> beam.Create(self.looks)
            | FindNearDuplicates(config, buckets, chooser, PLAIN_JOB.spill)
        )


@pytest.mark.parametrize("buckets", [1, 7])
def test_all_that_differ_in_four_bits_are_found_and_come_into_one_split(buckets):
    rng = np.random.default_rng(0)
    first = rng.integers(0, 1 << 63, 90, np.uint64).tolist()
    flips = [sum(1 << int(bit) for bit in rng.choice(64, 4, replace=False)) for _ in first]
    others = [look ^ flip for look, flip in zip(first, flips, strict=True)]
    places = [likeness.open_place(f"{number}") for number in range(180)]

    [joined] = yielded(Grouped([looks_at(first + others, places)], buckets))
    chosen = [likeness.split_at(place, joined.splits, CHOOSER) for place in places]

    assert [list(map(int, example.keys)) for example in joined.found.examples] == [
        [number, number + 90] for number in range(90)
    ]
    assert chosen[:90] == chosen[90:]
    assert set(chosen) == set(CHOOSER.fractions)


@pytest.mark.parametrize(
    ("sets", "records", "across", "splits"),
    [
        pytest.param([[alike("a", "test"), alike("b", "train")]], 2, 1, {}, id="stated splits"),
        pytest.param(
            [[alike("a", "\0g"), alike("b", "test")]], 2, 0, {"\0g": "test"}, id="one is stated"
        ),
        pytest.param(
            [[alike("a", "\0g"), alike("b", "\0h")], [alike("c", "\0i"), alike("b", "\0h")]],
            3, 0, dict.fromkeys(("\0g", "\0h", "\0i"), "train"), id="over buckets",
        ),
        pytest.param(
            [[alike("a", "\0g"), alike("b", "\0h")], [alike("c", "\0h"), alike("d", "\0i")]],
            4, 0, dict.fromkeys(("\0g", "\0h", "\0i"), "train"), id="by their group",
        ),
        pytest.param(
            [[alike("a", "train", "x"), alike("b", "train", "x"), alike("c", "train")]],
            2, 0, {}, id="equal content counts once",
        ),
    ],
)  # fmt: skip
def test_join(sets, records, across, splits):
    joined = likeness.join(sets, CHOOSER, keep_together=True)
    assert (joined.found.groups, joined.found.records) == (1, records)
    assert joined.found.across_splits == across
    assert set(joined.splits) == set(splits)
    assert len(set(joined.splits.values())) <= 1
    backwards = [list(reversed(each)) for each in reversed(sets)]
    assert joined == likeness.join(backwards, CHOOSER, keep_together=True)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Eight scenes, each in two sizes and qualities, and two images of one colour."""
    root = tmp_path_factory.mktemp("pictures")
    for kind in ("large", "small"):
        (root / kind).mkdir()
    for seed in range(8):
        colours = np.random.default_rng(seed).integers(0, 256, (5, 5, 3), np.uint8)
        scene = Image.fromarray(colours).resize((240, 180), Image.Resampling.BICUBIC)
        scene.save(root / "large" / f"{seed}.jpg", quality=95)
        scene.resize((180, 135)).save(root / "small" / f"{seed}.jpg", quality=80)
    for number, colour in enumerate(("red", "navy")):
        Image.new("RGB", (64, 64), colour).save(root / "small" / f"plain{number}.png")
    return root


def built(pictures, output, mode, options=None, **more):
    config = BuildConfig(
        input=str(pictures),
        output=str(output),
        near_duplicates=mode,
        split=CHOOSER.fractions,
        **more,
    )
    return beam_pipeline.build(config, options)


def splits_of(info):
    """Return the split of each key."""
    return {
        key: split
        for split in info.splits
        for path in Path(info.path).glob(f"index/*-{split}.*.parquet")
        for key in pa.parquet.read_table(path).column("key").to_pylist()
    }


def scenes_across(splits):
    return [
        number
        for number in range(8)
        if splits[f"large/{number}.jpg"] != splits[f"small/{number}.jpg"]
    ]


@pytest.mark.slow
def test_report_names_them_and_group_keeps_them_together(pictures, tmp_path):
    reported = built(pictures, tmp_path / "report", "report")
    near = reported.metadata["near_duplicates"]
    apart = scenes_across(splits_of(reported))
    assert (near["groups"], near["records"], near["across_splits"]) == (8, 16, len(apart))
    assert apart, "else nothing is shown of groups that are kept together"
    keys = [each["keys"] for each in near["examples"]]
    assert sorted(keys) == [[f"large/{each}.jpg", f"small/{each}.jpg"] for each in range(8)]
    assert sorted(keys[: len(apart)]) == [[f"large/{n}.jpg", f"small/{n}.jpg"] for n in apart]
    beam_pipeline.write_report(reported.path)
    facts = json.loads(Path(reported.path, "report.json").read_text())
    [check] = [each for each in facts["checks"] if each["title"] == "near-duplicates"]
    assert (check["level"], check["link"]) == ("red", "near-duplicates")
    page = Path(reported.path, "report.html").read_text()
    assert page.partition('id="near-duplicates"')[2].count("<tr><td><ul><li>") == 8

    grouped = built(pictures, tmp_path / "group", "group")
    assert scenes_across(splits_of(grouped)) == []
    assert grouped.metadata["near_duplicates"]["across_splits"] == 0
    assert len(set(splits_of(grouped).values())) == 2
    stated = json.loads(Path(grouped.path, "statistics.json").read_text())
    assert {split: each["num_records"] for split, each in stated["splits"].items()} == {
        split: grouped.num_records(split) for split in grouped.splits
    }


@pytest.mark.slow
@pytest.mark.parametrize("mode", first_in_ci(["report", "group"]))
def test_bytes_are_equal_whatever_the_workers(pictures, tmp_path, digests, mode):

    one, again = (built(pictures, tmp_path / name, mode) for name in ("one", "again"))
    two = built(pictures, tmp_path / "two", mode, threads=2)
    dropped = built(pictures, tmp_path / "dropped", mode, duplicates="drop")
    assert digests(Path(one.path)) == digests(Path(again.path))
    assert digests(Path(one.path)) == digests(Path(two.path))
    assert splits_of(dropped) == splits_of(one)
