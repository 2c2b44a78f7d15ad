"""Other projects' readers: examples of docs/reading.md, and their values."""

import ast
import json
import pickle
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tiers import first_in_ci

import beam_pipeline
import tfrecord_dataset
from beam_pipeline.dataset.shards import read_examples

pytestmark = [pytest.mark.readers, pytest.mark.filterwarnings("default")]

_READING = (Path(__file__).parents[2] / "docs/reading.md").read_text()
PAGE = _READING.partition("\n## Other readers\n")[2]
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
assert len(EXAMPLES) > 7


@pytest.fixture(scope="module")
def demo(tmp_path_factory, class_folders, voc_input, write_image):
    """A folder with the datasets of the examples."""
    folder = tmp_path_factory.mktemp("readers")
    cells = class_folders(folder / "cells", each=12)
    inputs = {
        "cells": {"input": str(cells), "split": {"train": 0.7, "test": 0.3}},
        "packed": {"input": str(cells), "compression": "gzip", "num_shards": 2},
        "blood": {"input": str(voc_input), "max_bad_fraction": 0.5},
        "people": {"input": str(_people(folder / "people", write_image)), "masks": True},
    }
    for name, options in inputs.items():
        beam_pipeline.build(
            beam_pipeline.BuildConfig(output=str(folder / "demo/data"), name=name, **options)
        )
    return folder


def _people(folder, write_image):
    """Make images with masks, keypoints and captions, and one with only captions."""
    images = [{"id": n, "file_name": f"{n}.jpg", "width": 16, "height": 12} for n in range(5)]
    for image in images:
        write_image(folder / "val" / image["file_name"], seed=image["id"], size=(16, 12))
    ring = [2, 2, 9, 2, 9, 8.5, 2, 8]
    people = [
        {"id": 9 * n + m, "image_id": n, "category_id": 1, "bbox": [2, 2, 7, 6.5], "iscrowd": 0}
        | {"segmentation": [ring], "keypoints": [3, 3, 2, 8, 8, m], "num_keypoints": 2}
        for n in range(4)
        for m in range(n % 3)
    ]
    captions = [{"id": n, "image_id": n // 2, "caption": f"caption {n}"} for n in range(10)]
    category = {"id": 1, "name": "person", "keypoints": ["left_eye", "right_eye"]}
    (folder / "annotations").mkdir()
    for kind, annotations in (("person_keypoints", people), ("captions", captions)):
        content = {"images": images, "annotations": annotations, "categories": [category]}
        (folder / f"annotations/{kind}_val.json").write_text(json.dumps(content))
    return folder


@pytest.fixture
def opened(demo, monkeypatch):
    """opened(name) -> a dataset below the current directory."""
    monkeypatch.chdir(demo)
    return lambda name: beam_pipeline.open(f"demo/data/{name}")


@pytest.fixture(scope="module")
def ray():
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def module_of(code):
    """Return the first import of an example."""
    first = next(
        each for each in ast.walk(ast.parse(code)) if isinstance(each, ast.ImportFrom | ast.Import)
    )
    return first.module if isinstance(first, ast.ImportFrom) else first.names[0].name


@pytest.mark.parametrize("code", EXAMPLES, ids=module_of)
def test_the_examples_run(demo, code):
    done = subprocess.run([sys.executable, "-c", code], cwd=demo, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


LOADERS = {
    "torch": "torch.utils.data.DataLoader(train, batch_size=3, num_workers=2, collate_fn=list)",
    "torch, spawned": (
        "torch.utils.data.DataLoader(train, batch_size=3, num_workers=2, collate_fn=list, "
        "multiprocessing_context='spawn')"
    ),
    "grain": (
        "grain.MapDataset.source(train).to_iter_dataset().batch(3, batch_fn=list)"
        ".mp_prefetch(grain.MultiprocessingOptions(num_workers=2))"
    ),
    "grain, with its sampler": (
        "[[each] for each in grain.DataLoader(data_source=train, worker_count=2, "
        "sampler=grain.samplers.SequentialSampler(len(train), grain.sharding.NoSharding()))]"
    ),
}


@pytest.mark.parametrize(
    ("loader", "name"),
    first_in_ci([*zip(LOADERS, ["people", "blood", "packed", "cells"], strict=True)]),
)
def test_worker_processes_read_records_by_number(opened, tmp_path, loader, name):
    directory, split = opened(name).path, "val" if name == "people" else "train"
    script = tmp_path / "load.py"  # worker processes import it
    script.write_text(
        f"import pickle, sys, {loader.partition(',')[0]}, numpy, tfrecord_dataset\n"
        "def copied(record):\n"  # Grain's arrays are in shared memory
        "    return {name: numpy.array(value) if isinstance(value, numpy.ndarray) else value\n"
        "            for name, value in record.items()}\n"
        "if __name__ == '__main__':\n"
        f"    train = tfrecord_dataset.open({directory!r})[{split!r}]\n"
        f"    read = [copied(record) for batch in {LOADERS[loader]} for record in batch]\n"
        "    sys.stdout.buffer.write(pickle.dumps(read))\n"
    )
    done = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, check=True)
    expected = tfrecord_dataset.open(directory)[split][:]

    def in_order(records):
        return sorted(records, key=lambda record: record["image"].tobytes())

    found = in_order(pickle.loads(done.stdout))
    assert len(found) == len(expected) > 3
    for one, other in zip(found, in_order(expected), strict=True):
        assert one.keys() == other.keys()
        for value in one:
            np.testing.assert_array_equal(one[value], other[value])


def in_pytorch(**arguments):
    """Return records read by `tfrecord`, whose protos conflict with TensorFlow's in a process."""
    script = (
        "import pickle, sys; from tfrecord.reader import tfrecord_loader; "
        f"sys.stdout.buffer.write(pickle.dumps(list(tfrecord_loader(**{arguments!r}))))"
    )
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True)
    return pickle.loads(done.stdout)


@pytest.mark.parametrize(
    ("name", "compression"), first_in_ci([("blood", None), ("packed", "gzip")])
)
def test_pytorchs_tfrecord_reads_images_without_boxes(opened, name, compression):
    info = opened(name)
    files = [f"{info.path}/{shard.file}" for shard in info.splits["train"]]
    read = [
        record
        for file in files
        for record in in_pytorch(data_path=file, index_path=None, compression_type=compression)
    ]
    examples = list(read_examples(info, "train"))
    assert len(read) == len(examples)
    for record, example in zip(read, examples, strict=True):
        assert record.keys() == example.keys()
        for key, values in example.items():
            if values and isinstance(values[0], bytes):
                assert np.atleast_1d(record[key]).tolist() == values, key
            else:
                np.testing.assert_array_equal(record[key], np.array(values, record[key].dtype))
    if name == "blood":
        assert any(not example["image/object/bbox/xmin"] for example in examples)


@pytest.mark.parametrize(("name", "split"), first_in_ci([("packed", "train"), ("people", "val")]))
def test_ray_reads_every_value_by_the_schema(opened, ray, name, split):
    from google.protobuf import text_format
    from tensorflow_metadata.proto.v0 import schema_pb2

    info = opened(name)
    schema = text_format.Parse(Path(info.path, "schema.pbtxt").read_text(), schema_pb2.Schema())
    files = [f"{info.path}/{shard.file}" for shard in info.splits[split]]
    read = ray.data.read_tfrecords(files, tf_schema=schema, file_extensions=None).take_all()
    examples = {each["image/filename"][0]: each for each in read_examples(info, split)}
    assert len(read) == len(examples)
    for record in read:
        example = examples[record["image/filename"][0]]
        for key, values in example.items():
            assert np.allclose(record[key], values) if "bbox" in key else [*record[key]] == values


def test_dali_seeks_by_the_offsets(opened):
    from nvidia.dali import fn, pipeline_def, tfrecord

    info = opened("blood")
    shards = info.splits["train"]
    num_records = info.num_records("train")

    @pipeline_def(batch_size=num_records, num_threads=1, device_id=None)
    def names():
        return fn.readers.tfrecord(
            path=[f"{info.path}/{shard.file}" for shard in shards],
            index_path=[f"{info.path}/idx/{shard.file}.idx" for shard in shards],
            features={"image/filename": tfrecord.FixedLenFeature((), tfrecord.string, "")},
        )["image/filename"]

    pipeline = names()
    pipeline.build()
    (batch,) = pipeline.run()
    read = [bytes(np.array(batch.at(number))) for number in range(num_records)]
    assert read == [example["image/filename"][0] for example in read_examples(info, "train")]


def test_the_index_opens_as_one_table(opened):
    import duckdb
    import pandas
    import pyarrow.dataset

    info = opened("packed")
    folder = f"{info.path}/index"
    expected = {
        example["image/filename"][0].decode()
        for split in info.splits
        for example in read_examples(info, split)
    }
    rows = duckdb.sql(f"select key, labels[1] from '{folder}/*.parquet'").fetchall()
    tables = [
        pyarrow.dataset.dataset(folder).to_table(use_threads=False).to_pandas(),
        pandas.read_parquet(folder),
    ]
    assert {key for key, _ in rows} == expected
    assert Counter(label for _, label in rows) == {"cat": 12, "dog": 12}
    for table in tables:
        assert len(table) == len(expected)
        assert set(table["key"]) == expected


def test_hugging_face_does_not_take_the_index_for_the_data(opened, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    info = opened("packed")
    with pytest.raises(datasets.exceptions.DataFilesNotFoundError):
        datasets.load_dataset(info.path, cache_dir=str(tmp_path))
