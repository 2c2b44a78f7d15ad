"""A foreign dataset cannot read files outside its directory, or cause a request."""

import functools
import json
import random
import shutil
import sys
from pathlib import Path

import pytest
from damages import edit

import beam_pipeline
import trainer
from beam_pipeline.cli.results import examples
from beam_pipeline.dataset.opening import Dataset
from beam_pipeline.errors import BeamTFRecordsError

OPENED: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def _watched():
    """Record everything that Python opens from now on."""
    sys.addaudithook(lambda event, args: OPENED.append(str(args[0])) if event == "open" else None)


def use(directory):
    """Run everything that reads a dataset, ignoring errors."""
    try:
        info = beam_pipeline.open(directory)
        assert isinstance(info, Dataset)
        beam_pipeline.verify(info)
        for split in info.splits:
            list(examples(info, split, 3))
    except BeamTFRecordsError:
        pass
    try:
        dataset = trainer.open(directory)
        for split in dataset.splits:
            list(dataset.numpy(split))
    except BeamTFRecordsError:
        pass


def places(value, place=()):
    """Yield (place, kind) of all names and paths: texts, and keys of objects."""
    if isinstance(value, str):
        yield (*place, "value")
    for name, each in value.items() if isinstance(value, dict) else ():
        yield (*place, name, "key")
        yield from places(each, (*place, name))
    for number, each in enumerate(value if isinstance(value, list) else ()):
        yield from places(each, (*place, number))


def put(facts, place, new):
    """Replace the text, or the key, in one place."""
    *above, last, kind = place
    for name in above:
        facts = facts[name]
    if kind == "key":
        facts[new] = facts.pop(last)
    else:
        facts[last] = new


def of_shards(place):
    """Whether a place has a shard's path."""
    return place[-2:] == ("file", "value")


@pytest.mark.slow
def test_no_name_leads_out(labelled, bucket, tmp_path, monkeypatch):
    """Replaces 15 texts and keys of metadata.json with the path of another file."""
    url, store = bucket
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    data = tmp_path / "data"
    directory = Path(shutil.copytree(labelled.path, data / "pets/1.0.0"))
    outside = tmp_path / "outside"
    shutil.copytree(labelled.path, outside)
    facts = json.loads((directory / "metadata.json").read_text())
    del facts["checksum"]
    found = list(places(facts))
    web = f"{store.endpoint}/{url.removeprefix('s3://')}"
    bases = [str(outside), url, "../../../outside", web, outside.as_uri()]
    changes = []
    for number, place in enumerate(random.Random(0).sample(found, 15)):
        name = next((each for each in reversed(place) if "." in str(each)), "x.tfrecord")
        changes.append((place, f"{bases[number % len(bases)]}/{name}"))
    changes += [(place, f"{base}/x") for place in filter(of_shards, found) for base in bases]
    OPENED.clear()

    whole = (directory / "metadata.json").read_text()
    for place, new in changes:
        (directory / "metadata.json").write_text(whole)
        edit(directory / "metadata.json", functools.partial(put, place=place, new=new))
        use(str(directory))

    assert any(str(directory) in path for path in OPENED)
    led_to = (directory / path.removeprefix("file://") for path in OPENED)
    assert [path for path in led_to if path.resolve().is_relative_to(outside)] == []
    assert store.requests == []


def test_no_name_leads_out_of_its_place_on_a_store(labelled, bucket, tmp_path, monkeypatch):
    url, store = bucket
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = Path(shutil.copytree(labelled.path, tmp_path / "1.0.0"))
    shard = "pets-train.tfrecord-00000-of-00003"
    other = f"s3://{store.new_bucket()}"
    for name in (f"{other}/{shard}", f"../other/{shard}", f"/{shard}"):
        edit(
            directory / "metadata.json",
            lambda facts, name=name: facts["splits"]["train"]["shards"][0].update(file=name),
        )
        store.put_folder(f"{url}/data/pets/1.0.0", directory)
        use(f"{url}/data/pets/1.0.0")
    own = f"{url.removeprefix('s3://')}/data/pets/1.0.0"
    strange = {place for kind, place in store.requests if kind != "list"} - {own}
    assert strange
    assert [place for place in strange if not place.startswith(f"{own}/")] == []
    assert {place for kind, place in store.requests if kind == "list"} <= {
        url.removeprefix("s3://")
    }
