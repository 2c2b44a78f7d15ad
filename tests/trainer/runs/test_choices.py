"""Defaults that a run derives from its data, and the records to validate on."""

import dataclasses
import functools
import json
from collections import Counter

import keras
import pytest
from tiers import first_in_ci

import trainer
from tfrecord_dataset.format.declaration import features_from_json
from tfrecord_dataset.image_size import ImageSize
from trainer.errors import ConfigError
from trainer.options.train_options import TrainConfig
from trainer.progress import Progress
from trainer.report.history import Best
from trainer.runs import choices
from trainer.runs.directory import RunConfig, RunDirectory
from trainer.tasks import choose_task


@pytest.mark.parametrize(
    ("num_records", "multiple", "of_table", "size"),
    [
        pytest.param(1, 1, False, 8, id="few records"),
        pytest.param(157, 1, False, 8, id="twenty steps of an epoch need fewer"),
        pytest.param(400, 1, False, 16, id="twenty steps"),
        pytest.param(20_000, 1, False, 32, id="usual"),
        pytest.param(100_000, 1, False, 64, id="many records"),
        pytest.param(10**8, 1, False, 256, id="most"),
        pytest.param(157, 3, False, 9, id="three replicas"),
        pytest.param(400, 1, True, 16, id="a small table"),
        pytest.param(10_500, 1, True, 256, id="a table"),
    ],
)
def test_batch_size(num_records, multiple, of_table, size):
    assert choices.batch_size(num_records, multiple, of_table=of_table) == size


def completed(task, num_records=1000, *, is_validated=True, **options):
    config = TrainConfig(data="", output="", **options)
    return choices.with_plan(config, task, num_records, num_replicas=1, is_validated=is_validated)


TABLE, IMAGE = "x=float label", "image label"


@pytest.mark.parametrize(
    ("feature", "num_records", "epochs"),
    [
        pytest.param(IMAGE, 640, 100, id="a small dataset, as often as is useful"),
        pytest.param(IMAGE, 3200, 20, id="2,000 steps"),
        pytest.param(TABLE, 3200, 40, id="2,000 steps of a table"),
        pytest.param(IMAGE, 10**6, 10, id="a large one"),
    ],
)
def test_epochs(choose, feature, num_records, epochs):
    assert completed(choose(feature)[0], num_records).epochs == epochs


@pytest.mark.parametrize(
    ("size", "epochs"), [("160x160", 20), ("192x128", 20), ("224x160", 13), ("320", 13)]
)
def test_boxes_of_small_images_take_more_steps(choose, size, epochs):
    task, _ = choose("image boxes", image_size=ImageSize.parse(size))
    assert completed(task, 1280).epochs == epochs


def test_the_plan_in_a_line(choose):
    config = completed(choose(IMAGE)[0], 3200)
    assert choices.describe_plan(config, 100) == (
        "plan: 2,000 steps in 20 epochs, batches of 32, cosine learning rate 0.001 after 100 steps "
        "of warm-up, ends after 5 epochs without a better accuracy"
    )
    once = dataclasses.replace(config, early_stopping=1)
    assert choices.describe_plan(once, 100).endswith("after 1 epoch without a better accuracy")


GIVEN = {
    **{"batch_size": 5, "schedule": "constant", "warmup_steps": 0, "early_stopping": 1},
    "best_by": "loss",
}
EPOCHS = {"epochs": 3, "schedule": "constant", "warmup_steps": 0, "early_stopping": None}


@pytest.mark.parametrize(
    ("feature", "options", "expected"),
    [
        (IMAGE, {"is_validated": False}, {"early_stopping": None, "best_by": "loss"}),
        (IMAGE, GIVEN, GIVEN),
        (IMAGE, {}, {"class_weights": None, "best_by": "accuracy"}),
        (IMAGE, {"epochs": 3}, EPOCHS),
        ("image boxes", {}, {"learning_rate": 0.002}),
        ("image boxes", {"weights": "imagenet"}, {"learning_rate": 0.001}),
        ("image boxes", {"epochs": 3}, {"learning_rate": 0.001}),
        ("image boxes", {"learning_rate": 0.1}, {"learning_rate": 0.1}),
    ],
)
def test_the_rest_of_the_plan(choose, feature, options, expected):
    config = completed(choose(feature)[0], **options)
    assert {name: getattr(config, name) for name in expected} == expected


FEW, MANY = {"cat": 760, "dog": 40}, {"cat": 7600, "dog": 400}
AS_USUAL = (None, None, "flip")
COLOR = {"kind": "image", "shape": [32, 32, 3]}


@pytest.mark.parametrize(
    ("x", "counts", "options", "expected"),
    [
        pytest.param(COLOR, FEW, {}, ("oversample", "auc", "jitter"), id="few images"),
        pytest.param(COLOR, MANY, {}, ("balanced", "macro_f1", "flip"), id="enough images"),
        pytest.param({"kind": "scalar"}, FEW, {}, ("balanced", "macro_f1", "none"), id="a table"),
        pytest.param(COLOR, {"cat": 70, "dog": 30}, {}, AS_USUAL, id="as many of all"),
        pytest.param(COLOR, {"cat": 9, "dog": 0}, {}, AS_USUAL, id="one class"),
        pytest.param(
            COLOR, FEW, {"class_weights": "none"}, ("none", "macro_f1", "flip"), id="turned off"
        ),
        pytest.param(
            COLOR, FEW, {"augment": "flip"}, ("oversample", "auc", "flip"), id="own augmentation"
        ),
        pytest.param(
            COLOR, FEW, {"best_by": "loss"}, ("oversample", "loss", "jitter"), id="own metric"
        ),
    ],
)
def test_what_lets_rare_classes_count(x, counts, options, expected):
    label = {"kind": "class_label", "classes": ["cat", "dog"]}
    features = features_from_json({"x": {"dtype": "float32"} | x, "y": label})
    config = TrainConfig(data="", output="", target="y", **options)
    task, _ = choose_task(features, config)
    counted = functools.partial(choices.for_uneven, config, task, Counter(counts))
    config, changed = counted(lambda: [0, 1], is_validated=True)
    assert (config.class_weights, config.best_by, changed.augment) == expected
    assert counted(lambda: None, is_validated=True)[0].class_weights != "oversample"


@pytest.fixture
def table(directory_of):
    return directory_of("table")


OPTIONS = ("--batch-size", 8, "--seed", 1, "--devices", "cpu")


@pytest.mark.parametrize(("name", "share"), [("boxes", 0.2), ("table", 0.1)])
def test_few_images_with_boxes_keep_more_for_validation(directory_of, name, share):
    dataset = trainer.open(directory_of(name))
    config = TrainConfig(data="", output="")

    _, held = choices.hold_out(dataset, config, "train", Progress(quiet=True))

    assert held.validation_share == share


@pytest.mark.slow
@pytest.mark.usefixtures("scikit_learn")
def test_a_share_is_held_out_and_evaluated(start, table, tmp_path):
    run = tmp_path / "run"
    code, out, err = start("train", "--data", table, "--output", run, "--epochs", 2, *OPTIONS)
    assert code == 0
    assert "validation: 10 % of train, 4 records, by their hashes" in err
    assert "; boosted trees: accuracy " in err
    assert "boosted trees" in (run / "report.html").read_text()
    stated = json.loads((run / "config.json").read_text())["options"]
    assert (stated["validation_share"], stated["validation_split"]) == (0.1, None)
    best = json.loads(out)["epoch"]
    losses = {row["epoch"]: row["val_loss"] for row in RunDirectory(str(run)).read_history()}
    on_share = ("evaluate", "--data", table, "--run", run, "--split", "validation", "--which")
    for which, epoch in (("best", best), ("last", 2)):
        found = json.loads(start(*on_share, which)[1])
        assert found["num_records"] == 4
        assert found["loss"] == pytest.approx(losses[epoch])
        assert 0 <= found["boosted_trees_accuracy"] <= 1
        low, high = found["accuracy_interval"]
        assert 0 <= low < found["accuracy"] < high <= 1 or found["accuracy"] in (0, 1)
    assert json.loads(start("evaluate", "--data", table, "--run", run)[1])["num_records"] == 13


def test_several_splits_without_a_test_need_a_choice(table):
    dataset = trainer.open(table)
    splits = {
        "train": dataset.splits["train"],
        "val": dataclasses.replace(dataset.splits["test"], name="val"),
    }
    dataset = dataclasses.replace(dataset, splits=splits)
    options = TrainConfig(data=str(table), output="run")
    data = {"train split": "train"}
    run = RunConfig(options=options, data=data, window=1, class_weights=(), own={})
    with pytest.raises(ConfigError, match=r"splits train, val, .* such as --split val$"):
        choices.of_run(dataset, run, None)
    assert choices.of_run(dataset, run, "val")[1] == "val"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["TEST", "TRAIN"], ("TRAIN", None, "TEST")),
        (["Test", "Training", "Valid"], ("Training", "Valid", "Test")),
        (["Train", "test", "train", "Val", "val"], ("train", "val", "test")),
    ],
)
def test_usual_splits_are_found_in_any_case(table, names, expected):
    dataset = trainer.open(table)
    split = dataset.splits["test"]
    splits = {name: dataclasses.replace(split, name=name) for name in names}
    dataset = dataclasses.replace(dataset, splits=splits)
    options = TrainConfig(data=str(table), output="run")
    run = RunConfig(options=options, data={}, window=1, class_weights=(), own={})
    chosen = (
        choices.train_split(dataset, None),
        choices.validation_split(dataset, options),
        choices.of_run(dataset, run, None)[1],
    )
    assert chosen == expected


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_share(start, table, tmp_path):
    run, share = tmp_path / "run", ("--validation-share", 0.25)
    held = "validation: 25 % of train, 10 records, by their hashes"
    assert (
        held in start("train", "--data", table, "--output", run, *share, "--epochs", 1, *OPTIONS)[2]
    )
    code, _, err = start("train", "--output", run, "--resume", "--epochs", 2)
    assert (code, held in err) == (0, True), err


def test_options_reach_the_training(start, table, tmp_path):
    """No record is held out, gradients of almost no length change no weight, all in bfloat16."""
    words = ("train", "--data", table, "--output", tmp_path / "run", "--epochs", 2, *OPTIONS)
    still = ("--optimizer", "sgd", "--learning-rate", 1, "--clip-norm", 1e-9)
    bfloat16 = ("--precision", "mixed_bfloat16")
    code, _, err = start(*words, "--validation-share", 0, *still, *bfloat16)
    assert (code, "by their hashes" in err) == (0, False)
    first, second = RunDirectory(str(tmp_path / "run")).read_history()
    assert first.keys() == {"epoch", "step", "loss", "accuracy"}
    assert first["loss"] == pytest.approx(second["loss"], rel=1e-4)
    assert keras.config.dtype_policy().name == "mixed_bfloat16"


SLOW = ("--steps-per-epoch", 200, "--optimizer", "sgd", "--learning-rate", 1e-4, "--quiet")


@pytest.mark.parametrize(
    ("more", "epochs"),
    first_in_ci(
        [
            pytest.param((), 15, id="the plan"),
            pytest.param(
                ("--epochs", 10, "--schedule", "cosine", "--early-stopping", 5), 10, id="given"
            ),
        ]
    ),
)
def test_a_plan_of_few_epochs_trains_on_while_it_improves(
    start, write_dataset, tmp_path, more, epochs
):
    numbers = [{"name": name, "kind": "scalar", "dtype": "float32", "key": name} for name in "xy"]
    records = [{"x": float(number), "y": 2.0 * number} for number in range(40)]
    splits = {"train": records, "validation": records[::4]}
    data = write_dataset(tmp_path / "line" / "1.0.0", numbers, splits)
    run = tmp_path / "run"
    options = ("--data", data, "--target", "y", "--output", run, *OPTIONS, *SLOW)
    options += ("--best-by", "loss")
    code, out, _ = start("train", *options, *more)
    assert code == 0
    assert json.loads((run / "config.json").read_text())["options"]["epochs"] == epochs
    losses = [row["val_loss"] for row in RunDirectory(str(run)).read_history()]
    assert len(losses) == epochs == json.loads(out)["epoch"]
    assert losses == sorted(losses, reverse=True)


HISTORY = [{"val_loss": 1 / epoch, "loss": 1.0, "epoch": epoch} for epoch in range(1, 11)]


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        pytest.param(HISTORY, {}, 15, id="better to the end"),
        pytest.param(HISTORY[::-1], {}, None, id="worse"),
        pytest.param(HISTORY[:9], {}, None, id="stopped early"),
        pytest.param(HISTORY, {"epochs": 20}, None, id="a longer plan"),
        pytest.param(HISTORY, {"schedule": "constant"}, None, id="no plan"),
    ],
)
def test_what_is_trained_on(choose, rows, options, expected):
    config = completed(choose(IMAGE)[0], 10**6)
    config = dataclasses.replace(config, **options)
    assert choices.epochs_to_train_on(config, rows, Best()) == expected
