"""Reading a dataset during its rebuild gives only old records, or an error."""

import contextlib
import itertools
import re
from concurrent.futures import ThreadPoolExecutor

import keras
import pytest
from tiers import first_in_ci

import beam_pipeline
import trainer
from beam_pipeline.files import storage
from tfrecord_dataset.store import pinned_files
from trainer.errors import DatasetChangedError
from trainer.input_pipeline.tensorflow_errors import readable_errors

RECORDS = 400
NAMED = re.compile(
    "was (changed or deleted while it was read; start again to read what is there now"
    "|deleted, or is being built again, while it was read; start again once it is there"
    "|built again while it was read; start again, or build another --version, which leaves)"
)


@pytest.fixture
def build(tmp_path):
    """build(which, output): builds equal records, except for the feature `which`."""

    def run(which, output, **options):
        manifest = tmp_path / f"{which}.csv"
        rows = [f"{number:05},{which},{number % 3}" for number in range(RECORDS)]
        manifest.write_text("\n".join(["key,which,label", *rows]))
        config = beam_pipeline.BuildConfig(
            input=str(manifest),
            output=output,
            name="d",
            split={"train": 0.8, "test": 0.2},
            num_shards={"train": 8, "test": 2},
            overwrite=not storage.is_remote(output),
            threads=1,
            **options,
        )
        if not config.overwrite:  # the user deletes it, not a build
            storage.delete([config.dataset_dir])
        beam_pipeline.build(config)

    return run


PLACES = ["held", "opened each time", "gzip", "s3", "s3 by ranges"]


@pytest.fixture
def place(request, monkeypatch, tmp_path):
    """(output, options of the build, options of `trainer.open`)."""
    if request.param == "opened each time":
        monkeypatch.setattr(pinned_files, "most_open_files", lambda: 0)
    if not request.param.startswith("s3"):
        compression = "gzip" if request.param == "gzip" else "none"
        return str(tmp_path / "out"), {"compression": compression}, {}
    url, _ = request.getfixturevalue("bucket")
    too_small = {"cache_bytes": 1} if "ranges" in request.param else {}
    return f"{url}/out", {}, {"cache_dir": str(tmp_path / "cache"), **too_small}


def batches(dataset, split="train", **options):
    """Batches of 8 records."""
    yield from dataset.batches(split, batch_size=8, **options)


# Shuffled in windows of 32 records.
SHUFFLED = {"shuffle": True, "seed": 1, "shuffle_buffer": 32, "repeat": 3}


@contextlib.contextmanager
def change_is_named():
    """Checks that the block fails only for another build, with an error that names it."""
    try:
        with readable_errors():
            yield
    except DatasetChangedError as error:
        if not NAMED.search(str(error)):
            raise


def builds(found):
    """Return the builds that records of batches are from, until an error names another."""
    seen = set()
    with change_is_named():
        for batch in found:
            seen.update(map(int, batch["which"].numpy()))
    return seen


@pytest.mark.parametrize(
    ("place", "read_before"),
    first_in_ci([*((place, 1) for place in PLACES), ("held", 50), ("s3", 0)]),
    indirect=["place"],
)
def test_a_reader_never_mixes_two_builds(build, place, read_before):
    output, built, opened = place
    build(1, output, **built)
    dataset = trainer.open(output, **opened)
    found = batches(dataset, **SHUFFLED)
    assert builds(itertools.islice(found, read_before)) == ({1} if read_before else set())

    build(2, output, **built)

    assert builds(found) <= {1}
    assert builds(batches(dataset)) <= {1}
    assert builds(batches(dataset, "test", **SHUFFLED)) <= {1}
    assert builds(batches(trainer.open(output, **opened), **SHUFFLED)) == {2}


@pytest.mark.slow
def test_a_training_ends_with_the_data_that_it_began_with(build, tmp_path):
    """The same holds for validation, whose first pass was before."""
    output = str(tmp_path / "out")

    class Rebuild(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            build(2 + epoch, output)

    def train(name, callbacks):
        options = {"epochs": 3, "batch_size": 32, "seed": 1, "devices": "cpu", "quiet": True}
        options["target"] = "label"
        return trainer.train(output, tmp_path / name, callbacks=callbacks, **options)

    build(1, output)
    expected = train("undisturbed", [])
    assert train("disturbed", [Rebuild()]) == expected


@pytest.mark.slow
@pytest.mark.parametrize("place", first_in_ci(["opened each time", "s3"]), indirect=True)
def test_every_pass_is_of_one_build_while_builds_go_on(build, place):
    output, built, opened = place
    build(1, output, **built)
    passes = []
    # On a store the commit is not one step.
    absent = trainer.NotADatasetError if output.startswith("s3://") else ()
    with ThreadPoolExecutor(1) as builder:
        again = [builder.submit(build, which, output, **built) for which in (2, 1, 2, 1, 2)]
        while not again[-1].done():
            with contextlib.suppress(absent), change_is_named():
                dataset = trainer.open(output, **opened)
                passes.append(builds(batches(dataset, **SHUFFLED)))
    for each in again:
        each.result()

    assert all(len(each) <= 1 for each in passes), passes
    assert any(passes)
    assert builds(batches(trainer.open(output, **opened))) == {2}
