"""Small files that would take gigabytes or hours are refused, or read in bounded memory."""

import dataclasses
import json
import re
from pathlib import Path

import apache_beam as beam
import numpy as np
import pytest
from file_bytes import array_bytes
from fresh_python import printed
from hostile_files import FILES, Hostile
from inspecting import inspect_record

from beam_pipeline import BuildConfig, build
from beam_pipeline.errors import RecordError
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.images import ImageOptions
from beam_pipeline.records import Array, Audio, FileRef, Image, Record

# Limit on memory for turning a file into an Example, in addition to the file's own bytes.
_MAX_GROWTH_BYTES = 1 << 30


def record_of(path: str) -> Record:
    kinds = {"wav": Audio, "npy": Array, "npz": Array}
    value = kinds.get(path.rpartition(".")[2], Image)(file=FileRef(path=path))
    return Record(key="x", features={"x": value})


def rules_of(hostile: Hostile) -> Rules:
    options = hostile.options
    return Rules(
        image=options if isinstance(options, ImageOptions) else ImageOptions(),
        audio=options if isinstance(options, AudioOptions) else AudioOptions(),
    )


@pytest.mark.parametrize(
    "name", [name for name, hostile in FILES.items() if hostile.reason and not hostile.large]
)
def test_it_is_refused_by_name(name, tmp_path):
    hostile = FILES[name]
    path = tmp_path / hostile.name
    path.write_bytes(hostile.make())
    with pytest.raises(RecordError) as refused:
        inspect_record(record_of(str(path)), rules_of(hostile))
    assert refused.value.reason == hostile.reason


def test_rejects_are_equal_in_every_build(tmp_path):
    """An object's address in the text of a library's error would differ."""
    hostile = [each for each in FILES.values() if each.reason and not (each.large or each.options)]
    records = []
    for number, each in enumerate([*hostile, Hostile("x.npy", lambda: array_bytes(np.ones(3)))]):
        path = tmp_path / f"{number}-{each.name}"
        path.write_bytes(each.make())
        records.append(dataclasses.replace(record_of(str(path)), key=path.name))
    config = BuildConfig(output=str(tmp_path), name="t", threads=1, max_bad_fraction=1.0)
    dataset = build(config, source=beam.Create(records))
    rejects = Path(dataset.path, "rejects.jsonl").read_text()
    reasons = [json.loads(line)["reason"] for line in rejects.splitlines()]
    assert sorted(reasons) == sorted(each.reason for each in hostile)
    assert "malformed node" in rejects
    assert not re.search("0x[0-9a-f]{6,}", rejects)


_MEASURED = """
import json, os, sys
import test_hostile_files as tests
from beam_pipeline.errors import RecordError
from inspecting import encoded, inspect_record, schema_of
from beam_pipeline.write.encoding import Encoder
from hostile_files import FILES
from PIL import Image

def peak():
    [line] = (line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10

def measure(name, path):
    hostile, before, reason = FILES[name], peak(), ""
    rules = tests.rules_of(hostile)
    try:
        record = inspect_record(tests.record_of(path), rules)
    except RecordError as error:
        reason = error.reason
    else:
        schema = schema_of(record)
        encoded(Encoder(schema=schema, rules=rules), record)
    print(json.dumps([name, reason, peak() - before]), flush=True)

Image.init()
for name, path in json.loads(sys.argv[1]).items():
    if not os.fork():
        measure(name, path)
        os._exit(0)
    assert os.wait()[1] == 0, name
"""


@pytest.mark.slow
def test_each_takes_bounded_memory(tmp_path, pytestconfig):
    """Each file gets its own process, since peak memory never decreases."""
    paths = {}
    for number, (name, hostile) in enumerate(FILES.items()):
        paths[name] = tmp_path / str(number) / hostile.name
        paths[name].parent.mkdir()
        paths[name].write_bytes(hostile.make())
    root = pytestconfig.rootpath
    folders = (root, root / "tests", root / "tests/beam_pipeline/media")
    environment = {"PYTHONPATH": ":".join(map(str, folders)), "OPENBLAS_NUM_THREADS": "1"}
    output = printed(_MEASURED, json.dumps(paths, default=str), env=environment)
    measured = {name: facts for name, *facts in map(json.loads, output.splitlines())}
    assert {name: reason for name, (reason, _) in measured.items()} == {
        name: hostile.reason for name, hostile in FILES.items()
    }
    for name, (_, grown) in measured.items():
        assert grown - paths[name].stat().st_size < _MAX_GROWTH_BYTES, name
