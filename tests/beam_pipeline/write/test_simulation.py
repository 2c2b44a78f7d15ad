"""Two builds at once, stopped and killed between any two of their calls: a dataset is whole.

Both are `pipeline.build` with all that it commits by: receipts, lock or lease, the exchange of
datasets. Beam's run alone is left out: what its stages found and encoded once is written again.
The store is the store library's own in memory, with its conditions for making an object.
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
from tiers import first_quick

import beam_pipeline
from beam_pipeline import pipeline as building
from beam_pipeline.config import BuildConfig
from beam_pipeline.describe import metadata
from beam_pipeline.describe.shard_info import TemporaryFile
from beam_pipeline.files import lease, local, storage
from beam_pipeline.running import parallel
from beam_pipeline.running.runner import PLAIN_JOB
from beam_pipeline.running.spill import NOT_SPILLED
from beam_pipeline.write import commit as committing
from beam_pipeline.write import final_files
from beam_pipeline.write.receipts import Receipt, finished_part, write_receipt
from beam_pipeline.write.working_directory import working_dir
from tfrecord_dataset import durable, replacement
from tfrecord_dataset.sealed_json import check_seal
from tfrecord_dataset.store import at_once, clients, requests

DATASET = "pets/1.0.0"
OTHERS = ["same", "other input", "other options"]
WAYS = ["kill", "sleep", "pause"]
LONGER_THAN_A_LEASE_S = 2 * lease.EXPIRES_S


@dataclasses.dataclass(frozen=True)
class Work:
    """What a build found and encoded.

    Attributes:
        config: The build's.
        found: What it committed: plan, statistics, shards, rejects, records read.
        files: The bytes of its shards and their indexes, by path below its working directory.
        dataset: The bytes of all files of its dataset, by path.
    """

    config: BuildConfig
    found: dict
    files: dict
    dataset: dict

    def at(self, output):
        return dataclasses.replace(self.config, output=output)


@pytest.fixture(scope="module")
def works(tmp_path_factory, class_folders):
    """An older dataset, a new one; one of other images by the same options; one by others."""
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
        found["rejects"] = [
            dataclasses.replace(each, text=found["spill"].get(each.text))
            for each in found["rejects"]
        ]
        found["spill"] = NOT_SPILLED
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
    """Stands for Beam's run of a build."""

    def __init__(self, works):
        self._works = works
        self._config = None

    def __or__(self, step):
        if isinstance(step.transform, building.WriteDataset):
            self._config = step.transform.config
            building.check_output(self._config)
        return self

    def end(self):
        config = self._config
        work = next(
            each
            for each in self._works
            if (each.config.fingerprint, each.config.input) == (config.fingerprint, config.input)
        )
        written = [self._written(work, info) for info in work.found["shards"]]
        files = {final: file for info in written for final, file in info.temporary.items()}
        moved = [final_files.move(config, each) for each in final_files.shared_moves(config, files)]
        committing.commit(config, **{**work.found, "shards": written, "moved": moved})

    def _written(self, work, info):
        """A shard as `WriteShards` leaves it."""
        config, part = self._config, f"{info.split}-{info.shard:05d}"
        found = finished_part(config, part, info.sha256, info.temporary)
        if found:
            return dataclasses.replace(info, temporary=found.files)
        temporary = {}
        for final, file in info.temporary.items():
            inner = file.path[len(working_dir(work.config)) + 1 :]
            path = storage.join(working_dir(config), os.path.dirname(inner), uuid.uuid4().hex)
            with storage.writing(path) as handle:
                handle.write(work.files[inner])
            temporary[final] = TemporaryFile(path, file.num_bytes, file.sha256)
        receipt = Receipt(digest=info.sha256, num_bytes=info.num_bytes, files=temporary)
        write_receipt(config, part, receipt)
        return dataclasses.replace(info, temporary=temporary)


@pytest.fixture
def alone(monkeypatch, works):
    """All that a build calls is stopped, or leaves nothing."""

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
    monkeypatch.setattr(at_once, "ThreadPoolExecutor", interleaving.OneAtATime)
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
    """An output in a store of its own."""

    numbers = itertools.count()

    def __init__(self):
        self._root = f"s3://simulated-{next(self.numbers)}"
        self.output = f"{self._root}/out"

    def _store(self):
        return clients.client_of(self._root).store

    def lay(self, dataset):
        for path, data in dataset.items():
            obstore.put(self._store(), f"out/{DATASET}/{path}", data)

    def files(self):
        store = self._store()
        paths = [each["path"] for page in obstore.list(store) for each in page]
        return {path[4:]: bytes(obstore.get(store, path).bytes()) for path in paths}

    def folders(self):
        return {path.split("/")[1] for path in self.files()}

    def forget(self):
        pass


@pytest.fixture
def in_disk(alone, tmp_path):
    interleaving.stop_at_file_calls(alone, str(tmp_path / "out"), (durable, local))
    exchange = replacement.exchange

    def stopping(one, other):
        interleaving.stop("exchange")
        return exchange(one, other)

    alone.setattr(replacement, "exchange", stopping)
    numbers = itertools.count()
    return lambda: OnDisk(tmp_path / "out" / str(next(numbers)))


@pytest.fixture
def in_store(alone):
    made = functools.cache(lambda root: clients.Client(MemoryStore(), root, "AWS", ""))
    alone.setattr(clients, "_made", lambda root: (made(root), os.getpid()))
    send = requests.send

    def stopping(operation, client, url, *more):
        interleaving.stop(f"{operation} {url.partition('/out')[2]}")
        return send(operation, client, url, *more)

    alone.setattr(requests, "send", stopping)
    alone.setattr(lease.Lease, "_keep", lambda _: None)  # its thread would be outside
    return InStore


@dataclasses.dataclass(frozen=True)
class Schedule:
    """What happens to two builds.

    Attributes:
        first_calls: The first build makes so many calls.
        then: "pause", "kill", or "sleep": stopped for longer than a lease lasts.
        second_calls: The second one makes so many; None: all.
        at_last: "pause" or "kill": what happens to the second. Whoever is left goes on.
    """

    first_calls: int
    then: str = "pause"
    second_calls: int | None = None
    at_last: str = "pause"


class Simulation:
    """Two builds over an older dataset, or none, on a place."""

    def __init__(self, make_place, works, clock, second, *, overwrite=True):
        self._make_place = make_place
        self._works = works
        self._clock = clock
        self._second = second
        self._overwrite = overwrite
        self._known = [build_files(work.dataset) for work in works.values()]

    def _program(self, place, name, **options):
        config = dataclasses.replace(self._works[name].config, output=place.output, **options)
        return interleaving.Program(lambda: building.build(config, source=beam.Create([])))

    def run(self, schedule):
        """Runs it, and checks what is there on the way and at the end.

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
            if schedule.then == "sleep":
                self._clock.now += LONGER_THAN_A_LEASE_S
            is_alone = schedule.then != "pause"
            self._go(second, schedule.second_calls, is_alone)
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

    def _go(self, program, calls, is_alone):
        """For so many calls; one that waits for the other goes on only if that is gone."""
        end = None if calls is None else len(program.calls) + calls
        left = calls
        while left is None or left > 0:
            program.go(left)
            if program.ended or not (program.waits and is_alone):
                return
            left = None if end is None else end - len(program.calls)

    def _check_reader(self, place):
        """Whoever opens the dataset by its metadata.json finds all that belongs to it."""
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
        finished = [name for name, each in builds.items() if not each.error]
        for each in builds.values():
            assert each.killed or each.error is None or isinstance(each.error, Exception)
        assert finished or any(each.killed for each in builds.values())
        self._check_reader(place)
        # One that replaces the other's on a store, and is killed, may leave a moment without any.
        was_replaced = isinstance(place, InStore) and any(each.killed for each in builds.values())
        if finished and not (was_replaced and metadata.FILE not in dataset_files(place.files())):
            differ = {name: different(place, self._works[name]) for name in builds}
            assert set() in differ.values(), (finished, differ)
        third = self._program(place, "new", overwrite=True)
        while not third.ended:
            third.go()
        assert third.error is None, third.error
        assert different(place, self._works["new"]) == set()
        expected = {"1.0.0"}
        if isinstance(place, InStore):  # another build's, which may be alive for all that is known
            expected |= {".building-1.0.0"} & place.folders()
        assert place.folders() == expected, sorted(place.files())


def different(place, work):
    """The paths of what is not there as the dataset of that work has it."""
    found, expected = dataset_files(place.files()), build_files(work.dataset)
    return {path for path in found | expected if found.get(path) != expected.get(path)}


def dataset_files(files):
    start = f"{DATASET}/"
    return build_files(
        {path.removeprefix(start): data for path, data in files.items() if path.startswith(start)}
    )


def build_files(dataset):
    """The files of a dataset; of build.json, which has a time in it, that it is whole."""
    if build := dataset.get("build.json"):
        check_seal(build)
        stated = json.loads(build)["metadata_sha256"]
        dataset = {**dataset, "build.json": stated.encode()}
    return dataset


@pytest.fixture
def simulate(request, alone, works):
    """A function from a place, disk or store, and the other build's work to a Simulation.

    With `shares`, files are moved in batches of two, as workers of a cluster do it, one by one.
    """
    clock = interleaving.Clock()
    alone.setattr(lease, "time", clock)

    def make(place, second, *, shares=False, **options):
        alone.setattr(final_files, "FILES_A_BATCH", 2 if shares else 1000)
        return Simulation(request.getfixturevalue(f"in_{place}"), works, clock, second, **options)

    return make


@pytest.mark.parametrize(
    ("place", "shares"), first_quick([("store", True), ("store", False), ("disk", False)])
)
def test_some_moments(simulate, place, shares):
    """The other build has the same options and other images."""
    simulation = simulate(place, "other input", shares=shares)
    for number, first_calls in enumerate(range(5, 70, 9)):
        simulation.run(Schedule(first_calls, WAYS[number % 3]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "shares", "second", "then"),
    [
        ("disk", False, "other input", "kill"),
        ("disk", False, "other options", "kill"),
        ("disk", False, "other options", "pause"),
        *(
            ("store", shares, *case)
            for shares in (False, True)
            for case in (
                ("same", "sleep"),
                ("other input", "pause"),
                ("other input", "kill"),
                ("other input", "sleep"),
                ("other options", "sleep"),
            )
        ),
    ],
)
def test_every_moment(simulate, place, shares, second, then):
    """The first build is stopped before each call, or each third; the second goes on to its end."""
    simulation = simulate(place, second, shares=shares)
    # A build makes thrice as many calls on a disk as to a store.
    start, step = (len(second + then) % 3, 3) if place == "disk" else (0, 1)
    for first_calls in itertools.count(start, step):
        if simulation.run(Schedule(first_calls, then)):
            assert first_calls > 50
            return


@pytest.mark.slow
@pytest.mark.parametrize("second", OTHERS)
@pytest.mark.parametrize(("place", "num_calls"), [("disk", 200), ("store", 75)])
def test_two_moments(simulate, place, num_calls, second):
    """Both builds are stopped once, or killed: drawn among all pairs of moments."""
    draw = random.Random(second)
    for _ in range(20):
        options = {"overwrite": draw.random() < 0.7, "shares": draw.random() < 0.5}
        simulation = simulate(place, second, **options)
        moments = draw.randrange(num_calls), draw.randrange(num_calls)
        then, at_last = draw.choice(WAYS), draw.choice(["pause", "kill"])
        simulation.run(Schedule(moments[0], then, moments[1], at_last))
