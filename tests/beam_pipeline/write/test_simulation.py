"""Two concurrent builds, stopped and killed between any two calls, leave a dataset intact.

Both are `pipeline.build` with everything that a commit needs: receipts, lock or claim, the exchange
of datasets. Only Beam's run is replaced: it writes the output of an earlier run of its stages.
The store is the store library's own in-memory store, with its condition for creating an object.
"""

import contextlib
import dataclasses
import functools
import itertools
import json
import os
import random
import shutil
import uuid
from pathlib import Path

import apache_beam as beam
import interleaving
import obstore
import pytest
from obstore.store import MemoryStore
from tiers import first_in_ci

import beam_pipeline
from beam_pipeline import pipeline as building
from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.errors import BeamTFRecordsError, ConfigError, DatasetExistsError
from beam_pipeline.files import local, storage
from beam_pipeline.running import parallel
from beam_pipeline.running.runner import PLAIN_JOB
from beam_pipeline.write import commit as committing
from beam_pipeline.write.claim import check_held, others_named
from beam_pipeline.write.directories import shards_dir, working_dir
from beam_pipeline.write.receipts import Receipt, finished_part, write_receipt
from tfrecord_dataset import durable
from tfrecord_dataset.json_file import check_seal
from tfrecord_dataset.store import clients, objects, requests, threads

DATASET = "pets/1.0.0"
BUILDING = "/.building/"
OTHERS = ["same", "other input", "other options"]
WAYS = ["kill", "pause"]


@dataclasses.dataclass(frozen=True)
class Work:
    """Output of the stages of a build.

    Attributes:
        config: The build's options.
        found: Arguments of its commit: plan, statistics, shards, rejects, records read.
        files: The bytes of its shards and their indexes, by path below its working directory.
        dataset: The bytes of all files of its dataset, by path.
    """

    config: BuildConfig
    found: dict
    files: dict
    dataset: dict

    def at(self, output):
        return dataclasses.replace(self.config, output=output, overwrite=False)


@pytest.fixture(scope="module")
def works(tmp_path_factory, class_folders):
    """An older and a new dataset; one from other images with the same options; one with others."""
    root = tmp_path_factory.mktemp("works")
    for name, each in (("these", 3), ("others", 4)):
        class_folders(root / name, each=each)
        (root / name / f"cat/{name}.jpg").write_bytes(b"no image")
    new = worked(root / "these", root / "1", num_shards=2)
    return {
        "old": worked(root / "others", root / "0", num_shards=3),
        "new": new,
        "same": new,
        "other input": worked(root / "others", root / "3", num_shards=2),
        "other options": worked(root / "these", root / "4", num_shards=2, seed=1),
    }


def worked(source, output, **options):
    config = BuildConfig(
        input=str(source),
        output=str(output),
        name="pets",
        split={"train": 1.0},
        max_bad_fraction=0.5,
        threads=1,
        overwrite=True,
        **options,
    )
    committed = []

    def kept(config, **found):
        start = len(working_dir(config)) + 1
        paths = [file.path for info in found["shards"] for file in info.temporary.values()]
        files = {path[start:]: Path(path).read_bytes() for path in paths}
        runs = [[*run] for run in found["rejects"].runs]  # runs end with the job
        found["rejects"] = dataclasses.replace(found["rejects"], runs=runs)
        committed.append((config, found, files))
        return commit(config, **found)

    commit = committing.commit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committing, "commit", kept)
        info = beam_pipeline.build(config)
    assert beam_pipeline.verify(info) == []
    [(config, found, files)] = committed
    return Work(config, found, files, files_below(info.path))


def files_below(folder):
    paths = [path for path in Path(folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


class Run:
    """Replaces Beam's run of a build."""

    def __init__(self, works):
        self._works = works
        self._config = None
        self._claim = ""

    def __or__(self, step):
        if isinstance(step.transform, building.WriteDataset):
            self._config = step.transform.config
            self._claim = step.transform.job.claim
            building.check_output(self._config)
        return self

    def end(self):
        work = work_of(self._config, self._works)
        written = [
            write_shard(self._config, work, info, self._claim) for info in work.found["shards"]
        ]
        found = {**work.found, "shards": written, "claim": self._claim}
        committing.commit(self._config, **found)


def work_of(config, works):
    return next(
        work
        for work in works
        if (work.config.fingerprint, work.config.input) == (config.fingerprint, config.input)
    )


def write_shard(config, work, info, claim=""):
    """Write a shard like `WriteShards`."""
    part = f"{info.split}-{info.shard:05d}"
    found = finished_part(config, part, info.sha256, info.temporary)
    if found:
        return dataclasses.replace(info, temporary=found.files)
    temporary = {}
    check_held(config, claim)
    for final, file in info.temporary.items():
        data = work.files[file.path[len(working_dir(work.config)) + 1 :]]
        if storage.is_remote(config.output):
            path = storage.join(shards_dir(config), final)
            with others_named(config):
                version = requests.put_new(path, data)
        else:
            path = storage.join(shards_dir(config), os.path.dirname(final), uuid.uuid4().hex)
            version = ""
            storage.write_bytes(path, data)
        temporary[final] = TemporaryFile(path, file.num_bytes, file.sha256, version)
    receipt = Receipt(digest=info.sha256, num_bytes=info.num_bytes, files=temporary)
    write_receipt(config, part, receipt)
    return dataclasses.replace(info, temporary=temporary)


@pytest.fixture
def alone(monkeypatch, works):
    """Replace Beam's run and threads, so that a build can be stopped at any call."""

    @contextlib.contextmanager
    def job_pipeline(*_):
        run = Run(works.values())
        yield run
        run.end()

    @contextlib.contextmanager
    def watched(*_):
        yield PLAIN_JOB

    monkeypatch.setattr(building, "job_pipeline", job_pipeline)
    monkeypatch.setattr(building, "watched", watched)
    monkeypatch.setattr(building, "collecting_rarely", contextlib.nullcontext)
    monkeypatch.setattr(threads, "ThreadPoolExecutor", interleaving.OneAtATime)
    monkeypatch.setattr(parallel, "ThreadPoolExecutor", interleaving.OneAtATime)
    return monkeypatch


class OnDisk:
    """A local output."""

    def __init__(self, root):
        self.output = str(root)

    def lay(self, dataset):
        for path, data in dataset.items():
            place = Path(self.output, DATASET, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)

    def files(self):
        return files_below(self.output)

    def folders(self):
        return {path.name for path in Path(self.output, "pets").iterdir()}

    def forget(self):
        shutil.rmtree(self.output, ignore_errors=True)


class InStore:
    """An output in its own store."""

    numbers = itertools.count()

    def __init__(self):
        self._root = f"s3://simulated-{next(self.numbers)}"
        self.output = f"{self._root}/out"

    def _store(self):
        return clients.client_of(self._root).store

    def files(self):
        store = self._store()
        paths = [each["path"] for page in obstore.list(store) for each in page]
        return {path[4:]: bytes(obstore.get(store, path).bytes()) for path in paths}

    def forget(self):
        """Delete the objects named in the message, like a user."""
        obstore.delete(self._store(), [f"out/{path}" for path in self.files()])


@pytest.fixture
def in_disk(alone, tmp_path):
    interleaving.stop_at_file_calls(alone, str(tmp_path / "out"), (durable, local))
    exchange = durable.exchange

    def stopping(one, other):
        interleaving.stop("exchange")
        return exchange(one, other)

    alone.setattr(durable, "exchange", stopping)
    numbers = itertools.count()
    return lambda: OnDisk(tmp_path / "out" / str(next(numbers)))


@pytest.fixture
def in_store(alone):
    made = functools.cache(lambda root: clients.Client(MemoryStore(), root, "AWS", ""))
    alone.setattr(clients, "_made", lambda root: (made(root), os.getpid()))
    for module in (requests, objects):
        alone.setattr(module, "obstore", StoppingStore())
    return InStore


class StoppingStore:
    """The store library, with a stop before every call."""

    def __getattr__(self, name):
        call = getattr(obstore, name)

        def stopping(store, path="", *args, **options):
            interleaving.stop(f"{name} {path}")
            return call(store, path, *args, **options)

        return stopping


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Schedule of two builds.

    Attributes:
        first_calls: Number of calls that the first build makes.
        then: "pause" or "kill": what happens to it afterwards.
        second_calls: Number of calls that the second build makes; None for all.
        at_last: "pause" or "kill": what happens to it afterwards. Builds not killed then continue.
    """

    first_calls: int
    then: str = "pause"
    second_calls: int | None = None
    at_last: str = "pause"


class Simulation:
    """Two builds with one output: on a disk, over an older dataset or none."""

    def __init__(self, make_place, works, second, *, overwrite=False):
        self._make_place = make_place
        self._works = works
        self._second = second
        self._overwrite = overwrite
        self._known = [build_files(work.dataset) for work in works.values()]

    def _program(self, place, name, **options):
        config = dataclasses.replace(self._works[name].config, output=place.output, **options)
        return interleaving.Program(lambda: building.build(config, source=beam.Create([])))

    def run(self, schedule):
        """Run a schedule, and check the output during and after it.

        Returns whether the first build had ended before it was stopped.
        """
        place = self._make_place()
        if self._overwrite:
            place.lay(self._works["old"].dataset)
        names = ("new", self._second)
        first, second = [self._program(place, name, overwrite=self._overwrite) for name in names]
        try:
            first.go(schedule.first_calls)
            had_ended = first.ended
            self._check_reader(place)
            if schedule.then == "kill":
                first.kill()
            second.go(schedule.second_calls)
            self._check_reader(place)
            if schedule.at_last == "kill":
                second.kill()
            while not (first.ended and second.ended):
                for each in (first, second):
                    each.go()
            self._check_end(place, dict(zip(names, (first, second), strict=True)))
        except AssertionError as error:
            for each in (first, second):
                error.add_note(f"{each.calls[-3:]} {each.error!r}")
            error.add_note(f"{self._second} {schedule}")
            raise
        finally:
            for each in (first, second):
                each.kill()
            place.forget()
        return had_ended

    def _check_reader(self, place):
        """Check that a reader with the dataset's metadata.json finds all its files."""
        files = dataset_files(place.files())
        if metadata.FILE in files:
            [known] = [each for each in self._known if each[metadata.FILE] == files[metadata.FILE]][
                :1
            ]
            wrong = {path for path, data in known.items() if files.get(path) != data}
            assert not wrong
        elif isinstance(place, OnDisk):
            assert not self._overwrite, "there was one before"
            assert not files

    def _check_end(self, place, builds):
        for build in builds.values():
            assert build.killed or build.error is None or isinstance(build.error, Exception)
        self._check_reader(place)
        if isinstance(place, InStore):
            self._check_end_in_store(place, builds)
            return
        finished = [name for name, build in builds.items() if not build.error]
        assert finished or any(build.killed for build in builds.values())
        if finished:
            differ = {name: different(place, self._works[name]) for name in builds}
            assert set() in differ.values(), (finished, differ)
        self._ended(place, "new", overwrite=True)
        assert different(place, self._works["new"]) == set()
        assert place.folders() == {"1.0.0"}, sorted(place.files())

    def _ended(self, place, name, **options):
        """Run a build to its end, and check that it succeeds."""
        program = self._program(place, name, **options)
        while not program.ended:
            program.go()
        assert program.error is None, program.error

    def _check_end_in_store(self, place, builds):
        for build in builds.values():
            assert build.killed or isinstance(build.error, BeamTFRecordsError | None), build.error
        is_there = metadata.FILE in dataset_files(place.files())
        assert is_there or not [name for name, build in builds.items() if not build.error]
        made = [name for name in builds if is_there and self._is_of(place, name)]
        if not made:
            assert not is_there
            place.forget()
            made = ["new"]
        if any(BUILDING in path for path in place.files()) or not is_there:
            self._ended(place, made[0], overwrite=False)
        assert different(place, self._works[made[0]]) == set()
        assert not [path for path in place.files() if BUILDING in path]

    def _is_of(self, place, name):
        return (
            place.files()[f"{DATASET}/{metadata.FILE}"] == self._works[name].dataset[metadata.FILE]
        )


def different(place, work):
    """Return the paths of files that differ from the dataset of `work`."""
    found, expected = dataset_files(place.files()), build_files(work.dataset)
    return {path for path in found | expected if found.get(path) != expected.get(path)}


def dataset_files(files):
    start = f"{DATASET}/"
    return build_files(
        {path.removeprefix(start): data for path, data in files.items() if path.startswith(start)}
    )


def build_files(dataset):
    """Return a dataset's files; for build.json, which has a time, whether it is intact."""
    if build := dataset.get("build.json"):
        check_seal(build)
        stated = json.loads(build)["metadata_sha256"]
        dataset = {**dataset, "build.json": stated.encode()}
    return dataset


@pytest.fixture
def simulate(request, alone, works):
    """simulate(place, work of the other build) -> Simulation on a disk or store."""

    def make(place, second, **options):
        return Simulation(request.getfixturevalue(f"in_{place}"), works, second, **options)

    return make


@pytest.mark.parametrize("place", ["store", pytest.param("disk", marks=pytest.mark.slow)])
def test_some_moments(simulate, place):
    """The other build has the same options and other images."""
    simulation = simulate(place, "other input", overwrite=place == "disk")
    for number, first_calls in enumerate(range(5, 70, 9)):
        simulation.run(Schedule(first_calls, WAYS[number % 2]))


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("place", "second", "then"),
    [
        ("disk", "other options", "pause"),
        ("disk", "other input", "kill"),
        ("disk", "other options", "kill"),
        ("store", "same", "kill"),
        ("store", "same", "pause"),
        ("store", "other input", "pause"),
        ("store", "other input", "kill"),
        ("store", "other options", "pause"),
    ],
)
def test_every_moment(simulate, place, second, then):
    """The first build stops before each call, or every third; the second runs to its end."""
    simulation = simulate(place, second, overwrite=place == "disk")
    # A build makes three times as many calls on a disk as on a store.
    start, step = (len(second + then) % 3, 3) if place == "disk" else (0, 1)
    for first_calls in itertools.count(start, step):
        if simulation.run(Schedule(first_calls, then)):
            assert first_calls > 30
            return


@pytest.mark.nightly
@pytest.mark.parametrize("second", OTHERS)
@pytest.mark.parametrize(("place", "num_calls"), [("disk", 200), ("store", 60)])
def test_two_moments(simulate, place, num_calls, second):
    """Both builds are stopped once, or killed, at pairs drawn from all pairs of moments."""
    draw = random.Random(second)
    for _ in range(20):
        simulation = simulate(place, second, overwrite=place == "disk" and draw.random() < 0.7)
        moments = draw.randrange(num_calls), draw.randrange(num_calls)
        then, at_last = draw.choice(WAYS), draw.choice(["pause", "kill"])
        simulation.run(Schedule(moments[0], then, moments[1], at_last))


def build_of(place, work):
    """Make a build on a store."""
    config = work.at(place.output)
    return interleaving.Program(lambda: building.build(config, source=beam.Create([])))


def test_the_claim_of_another_build_is_named_with_what_removes_it(in_store, works):
    place = in_store()
    first, second, third, fourth = [
        build_of(place, works[name]) for name in ("new", "other options", "other options", "new")
    ]
    first.go(20)
    first.kill()
    second.go()
    assert isinstance(second.error, ConfigError)
    assert "a build with other options, started 20" in str(second.error)
    assert f"{DATASET}; wait for it, build another --version, or delete" in str(second.error)
    place.forget()
    third.go()
    assert different(place, works["other options"]) == set()
    fourth.go()
    assert isinstance(fourth.error, DatasetExistsError)


@pytest.mark.parametrize("second", ["other input", "other options"])
def test_a_late_worker_of_another_build_changes_nothing(in_store, works, second):
    """Its build was killed, and a user has deleted its leftovers, as the message says."""
    calls, had_ended = 0, False
    while not had_ended:
        had_ended = late_worker(in_store(), works["new"], works[second], calls)
        calls += 1
    assert calls > 3


def late_worker(place, work, other, calls):
    """Return whether a worker had ended before it was stopped; it continues in another build."""
    config = work.at(place.output)
    late = interleaving.Program(lambda: write_shard(config, work, work.found["shards"][0]))
    late.go(calls)
    had_ended = late.ended
    place.forget()
    build = build_of(place, other)
    build.go(4 * calls)
    late.go()
    build.go()
    assert isinstance(late.error, BeamTFRecordsError | None)
    assert isinstance(build.error, BeamTFRecordsError | None)
    if build.error:  # the late object was first: it is named, deleted, and the build runs again
        assert f"delete {place.output}/{DATASET} once no build runs" in str(build.error)
        place.forget()
        build = build_of(place, other)
        build.go()
    assert different(place, other) == set(), build.error
    return had_ended


@pytest.mark.parametrize("second", first_in_ci(["other options", "other input", "same"]))
def test_a_build_whose_folder_was_deleted_while_it_was_suspended(in_store, works, second):
    """No build ends without an error while the folder holds files of both."""
    had_ended, calls = False, 0
    while not had_ended:
        for others_calls in (None, calls % 45):
            had_ended = suspended(in_store(), works["new"], works[second], calls, others_calls)
        calls += 1
    assert calls > 30


def suspended(place, work, other, calls, others_calls):
    """Return whether the first build had ended before it was suspended."""
    first, second = build_of(place, work), build_of(place, other)
    first.go(calls)
    had_ended = first.ended
    place.forget()
    second.go(others_calls)
    first.go()
    second.go()
    errors = [build.error for build in (first, second)]
    again = build_of(place, other)
    again.go()
    for error in (*errors, again.error):
        assert isinstance(error, BeamTFRecordsError | OSError | None)
    if None in (*errors[had_ended:], again.error):
        moments = f"after {calls} and {others_calls} calls: {errors} {again.error!r}"
        differ = [different(place, made) for made in (work, other)]
        # A receipt that the suspended build has just written may stay.
        assert any(all(path.startswith(BUILDING[1:]) for path in paths) for paths in differ), (
            moments
        )
    return had_ended
