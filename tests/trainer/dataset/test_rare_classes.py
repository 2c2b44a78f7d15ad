"""Records of rare classes: their share held out, and how often a pass draws them."""

import dataclasses
import functools
import io
import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import trainer
from tfrecord_dataset.records.identities import labels_of_rows
from trainer.augmentation import POLICIES
from trainer.dataset.held_out import draw_held_out
from trainer.errors import ConfigError
from trainer.options.train_options import TrainConfig
from trainer.progress import Progress
from trainer.runs import choices
from trainer.tasks.data_checks import class_counts
from trainer.tasks.reading import OVERSAMPLE

# Numbers of 50 images in three shards.
BLUE, GREEN, RED = np.arange(4), np.arange(4, 6), np.arange(6, 50)
TIMES = {**dict.fromkeys(BLUE, 11), **dict.fromkeys(GREEN, 22), **dict.fromkeys(RED, 1)}


def rows_of(labels):
    data = io.BytesIO()
    texts = pyarrow.array(labels, pyarrow.list_(pyarrow.string()))
    pyarrow.parquet.write_table(pyarrow.table({"labels": texts}), data)
    return data.getvalue()


@pytest.fixture(scope="module")
def uneven(write_dataset, colored_records, schema, tmp_path_factory):
    """A dataset of 4 blue, 2 green and 44 red images, with the index of its labels."""
    names = np.repeat(["blue", "green", "red"], [4, 2, 44])
    records = [
        {**record, "image/class/label": schema["label"]["classes"].index(name)}
        for record, name in zip(colored_records(50), names.tolist(), strict=True)
    ]
    features = [schema[name] for name in ("image", "label", "number")]
    folder = tmp_path_factory.mktemp("uneven") / "1.0.0"
    dataset = trainer.open(write_dataset(folder, features, {"train": records}, num_shards=3))

    def rows(shard):
        return rows_of([[name] for name in names[shard::3].tolist()])

    split = dataclasses.replace(dataset.split("train"), read_rows=rows)
    counts = {"train": {"label": {"classes": {"blue": 4, "green": 2, "red": 44}}}}
    return dataclasses.replace(dataset, splits={"train": split}, read_statistics=lambda: counts)


def labels_of(dataset):
    return functools.partial(dataset.labels, "train", "label")


@pytest.fixture(scope="module")
def drawn(uneven, choose_image):
    config = TrainConfig(data="", output="", class_weights=OVERSAMPLE)
    return choices.oversampled(
        config, choose_image, uneven, "train", labels_of(uneven), Progress(quiet=True)
    )


@pytest.fixture(scope="module")
def choose_image(uneven):
    from trainer.tasks import choose_task

    task, _ = choose_task(uneven.features, TrainConfig(data="", output="", image_size=None))
    return task


def batches_of(dataset, **more):
    options = {"batch_size": 8, "shuffle": True, "seed": 3, "repeat": 3}
    return [*dataset.batches("train", image_size=8, **options | more).as_numpy_iterator()]


def numbers(batches):
    return np.concatenate([batch["number"] for batch in batches])


def test_each_pass_draws_the_records_of_all_classes_as_often(drawn):
    found = numbers(batches_of(drawn))
    length = drawn.num_records("train")
    assert length == len(found) / 3 == 11 * 4 + 22 * 2 + 44
    passes = found.reshape(3, length)
    for one in passes:
        assert dict(zip(*np.unique(one, return_counts=True), strict=True)) == TIMES
    assert (passes[0] != passes[1]).any()


@pytest.mark.parametrize("cache", ["none", "memory"])
def test_each_repeat_of_an_image_is_augmented_differently(drawn, cache):
    more = {"augment": POLICIES["jitter"].pixels, "image_dtype": "uint8", "cache": cache}
    batches = batches_of(drawn, **more)
    images = np.concatenate([batch["image"] for batch in batches])
    of_one = images[numbers(batches) == BLUE[0]]
    assert len(of_one) == 33
    assert len(np.unique(of_one, axis=0)) == 33
    again = batches_of(drawn, **more, first_record=40)
    assert all(
        (one["image"] == two["image"]).all() for one, two in zip(batches[5:], again, strict=True)
    )


def test_a_run_continues_at_any_draw_and_workers_share_them(drawn):
    batches = [batch["number"].tolist() for batch in batches_of(drawn)]
    rest = [batch["number"].tolist() for batch in batches_of(drawn, first_record=24)]
    assert rest == batches[3:]
    parts = [batches_of(drawn, worker=worker, num_workers=2) for worker in (0, 1)]
    joined = [[*one["number"], *two["number"]] for one, two in zip(*parts, strict=True)]
    assert joined == batches


def test_what_is_drawn_more_often_is_said(uneven, choose_image, capsys):
    config = TrainConfig(data="", output="", class_weights=OVERSAMPLE)
    choices.oversampled(config, choose_image, uneven, "train", labels_of(uneven), Progress())
    assert capsys.readouterr().err == (
        "drawn in each epoch: blue: 4 records, 11 times, green: 2 records, 22 times; "
        "--class-weights none: once\n"
    )


def test_drawing_needs_the_classes_of_the_index(dataset, choose_image):
    config = TrainConfig(data="", output="", class_weights=OVERSAMPLE)
    with pytest.raises(ConfigError, match="choose balanced"):
        choices.oversampled(
            config, choose_image, dataset, "train", labels_of(dataset), Progress(quiet=True)
        )


def test_the_first_label_of_each_row():
    rows = rows_of([["a"], ["b", "a"], [], ["c"], None])
    assert labels_of_rows(rows, ["b", "a"]).tolist() == [1, 0, -1, -1, -1]


IDENTITIES = np.random.default_rng(1).integers(0, 2**63, 1_000).astype(np.uint64)


@pytest.mark.parametrize("count", [2, 4, 40])
@pytest.mark.parametrize("share", [0.1, 0.2])
def test_a_share_of_each_rare_class_is_held_out(count, share):
    rare = np.full(1_000, -1)
    rare[:count] = 1
    rare[count : 2 * count] = 0
    held = draw_held_out(IDENTITIES, share, rare=rare)
    wanted = max(1, round(share * count))
    assert [np.sum(rare[held] == each) for each in (0, 1)] == [wanted, wanted]
    assert np.sum(rare[held] < 0) == pytest.approx(share * (1_000 - 2 * count), abs=1)


def test_the_share_held_out_has_each_rare_class(uneven):
    config = TrainConfig(data="", output="")
    divided, _ = choices.hold_out(uneven, config, "train", Progress(quiet=True))
    held, left = (np.bincount(divided.labels(name, "label")) for name in ("validation", "train"))
    assert held.tolist() == [1, 1, 4]
    assert (held + left).tolist() == [4, 2, 44]


def test_a_single_record_of_a_class_is_trained_on_and_groups_stay_together():
    groups = np.repeat(IDENTITIES[:100], 10)
    rare = np.full(1_000, -1)
    rare[[0, 55, 165, 166]] = [0, 1, 1, 1]
    held = draw_held_out(groups, 0.1, rare=rare)
    assert 0 not in held
    assert np.sum(rare[held] == 1) in (1, 2)
    assert {*groups[held]}.isdisjoint({*np.delete(groups, held)})


@pytest.mark.parametrize("folds", [2, 5, 10])
def test_folds_have_each_record_of_a_rare_class_once(folds):
    rare = np.where(np.arange(1_000) < 23, np.arange(1_000) % 3, -1)
    drawn = [draw_held_out(IDENTITIES, 1 / folds, fold, rare) for fold in range(folds)]
    assert sorted(np.concatenate(drawn)) == [*range(1_000)]


def test_both_sides_share_the_classes_that_the_index_states(uneven, choose_image):
    """Each shard's index is read once; the first also for digests, which it lacks."""
    reads = []

    def read_rows(shard):
        reads.append(shard)
        return uneven.split("train").read_rows(shard)

    split = dataclasses.replace(uneven.split("train"), read_rows=read_rows, _labels={})
    dataset = dataclasses.replace(uneven, splits={"train": split})
    config = TrainConfig(data="", output="")
    divided, _ = choices.hold_out(dataset, config, "train", Progress(quiet=True))
    for name in ("train", "validation"):
        assert class_counts(choose_image, divided, name)
    assert sorted(reads) == [0, 0, 1, 2]


def calls_of_draw(count):
    """Number of function calls that draw a tenth of `count` records, of which some are rare."""
    identities = np.random.default_rng(2).integers(0, 2**63, count).astype(np.uint64)
    rare = np.where(np.arange(count) % 40_000 == 7, 0, -1)
    calls = []
    sys.setprofile(lambda frame, event, arg: calls.append(event) if "call" in event else None)
    try:
        held = draw_held_out(identities, 0.1, rare=rare)
    finally:
        sys.setprofile(None)
    assert np.sum(rare[held] == 0) == round(0.1 * np.sum(rare == 0))
    return len(calls)


def test_the_share_of_a_class_takes_no_loop_over_records():
    assert calls_of_draw(3_000_000) - calls_of_draw(300_000) < 500
