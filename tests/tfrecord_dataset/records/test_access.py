"""Records by number: selection, processes, threads, imports, and messages about damage."""

import dataclasses
import gzip
import io
import json
import multiprocessing
import pickle
import pkgutil
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from damages import edit
from fresh_python import modules_after
from PIL import Image
from testdata.make_golden import GOLDEN
from tiers import first_in_ci

import tfrecord_dataset
import trainer
from tfrecord_dataset.errors import (
    ConfigError,
    DatasetChangedError,
    DatasetDamagedError,
    NotADatasetError,
    UnknownNameError,
)
from tfrecord_dataset.format import example
from tfrecord_dataset.format.frames import framed


@pytest.fixture(scope="module")
def split():
    return tfrecord_dataset.open(GOLDEN)["train"]


@pytest.fixture
def copied(tmp_path):
    """A copy of the golden dataset, to damage."""
    return Path(shutil.copytree(GOLDEN, tmp_path / "golden/1.0.0"))


def captions(records):
    return [record["caption"] for record in records]


def shards_of(directory, split="train"):
    stated = json.loads((directory / "metadata.json").read_text())["splits"][split]["shards"]
    return [directory / each["file"] for each in stated]


def test_a_dataset_says_what_it_has():
    dataset = tfrecord_dataset.open(GOLDEN)

    assert list(dataset.splits) == list(dataset) == ["test", "train"]
    assert list(dataset.features) == ["image", "label", "boxes", "age", "caption", "weight"]
    assert {name: len(dataset[name]) for name in dataset.splits} == {"test": 3, "train": 7}


def test_how_a_dataset_is_shown():
    dataset = dataclasses.replace(tfrecord_dataset.open(GOLDEN), path="a\n<b>")

    expected = "<Dataset a <b>: 3 in test, 7 in train; image, label, boxes, age, caption, weight>"
    assert repr(dataset) == expected
    shown = dataset._repr_html_()
    assert shown.startswith("<p>a\n&lt;b&gt;</p><table><tr><th>split</th><th>records</th></tr>")
    assert "<tr><td>age</td><td>scalar int64</td></tr>" in shown


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param([0, 1, 2], [0, 1, 2], id="a list"),
        pytest.param([5, 2, 5], [5, 2, 5], id="in any order, and twice"),
        pytest.param([-1, -7], [6, 0], id="from the end"),
        pytest.param(np.array([3, 1], np.uint8), [3, 1], id="an array"),
        pytest.param(np.array([-1]), [6], id="an array, from the end"),
        pytest.param(range(2, 4), [2, 3], id="a range"),
        pytest.param(slice(5, None), [5, 6], id="a slice"),
        pytest.param(slice(None, None, -3), [6, 3, 0], id="a slice backwards"),
        pytest.param([], [], id="none"),
    ],
)
def test_several_records(split, asked, expected):
    everything = captions(iter(split))

    assert captions(split[asked]) == [everything[number] for number in expected]


@pytest.mark.parametrize("number", [3, -4, np.int64(3), np.uint8(3), np.array(3)])
def test_one_record(split, number):
    assert split[number]["caption"] == captions(split)[3]


@pytest.mark.parametrize("number", [7, -8, [0, 7], np.array([-8]), np.int64(7), 2**70])
def test_records_that_are_not_there(split, number):
    with pytest.raises(IndexError, match=r"no record .* in split 'train', which has 7"):
        split[number]


def test_what_is_not_a_number(split):
    for asked in ([True, False], [0.5], np.array([1.0]), ["a"], 1.5, "a", None):
        with pytest.raises(TypeError):
            split[asked]


def test_encoded_values_and_some_features():
    dataset = tfrecord_dataset.open(GOLDEN)
    plain = dataset.records("train", features=["label", "image"], decode=False)[0]

    assert list(plain) == ["label", "image"]
    with Image.open(io.BytesIO(plain["image"])) as image:
        assert np.array_equal(np.asarray(image), dataset["train"][0]["image"])


def test_wrong_names():
    dataset = tfrecord_dataset.open(GOLDEN)

    with pytest.raises(UnknownNameError, match="did you mean 'train'"):
        dataset["trian"]
    with pytest.raises(UnknownNameError, match="did you mean 'caption'"):
        dataset.records("train", features=["captoin"])
    with pytest.raises(ConfigError, match="several splits"):
        dataset.records()
    with pytest.raises(NotADatasetError):
        tfrecord_dataset.open(GOLDEN / "missing")
    with pytest.raises(AttributeError, match="opne"):
        _ = tfrecord_dataset.opne


def test_a_record_of_another_form_is_named(copied):
    def lie(metadata):
        (age,) = (each for each in metadata["features"] if each["name"] == "age")
        age["dtype"] = "float32"

    edit(copied / "metadata.json", lie)

    with pytest.raises(
        DatasetDamagedError, match=r"record 0 of .*: key 'age' holds an int64 list of 1, where a fl"
    ):
        tfrecord_dataset.open(copied)["train"][0]


def test_an_index_of_a_shard_in_a_folder_is_used(copied):
    metadata = copied / "metadata.json"
    for shard in shards_of(copied):
        text = metadata.read_text().replace(f'"{shard.name}"', f'"deep/{shard.name}"')
        metadata.write_text(text)
        for file in (shard, copied / f"idx/{shard.name}.idx"):
            (file.parent / "deep").mkdir(exist_ok=True)
            file.rename(file.parent / "deep" / file.name)
    edit(metadata, lambda facts: facts.update(files={}))
    assert captions(tfrecord_dataset.open(copied)["train"])
    (copied / f"idx/deep/{shard.name}.idx").write_text("0 17\n")

    with pytest.raises(DatasetDamagedError, match=r"the index .* of .*/deep/.* does not match it"):
        tfrecord_dataset.open(copied)["train"][-1]


def read_in_child(records, numbers):
    return captions(records[numbers])


@pytest.mark.slow
@pytest.mark.parametrize("start", first_in_ci(["spawn", "forkserver"]))
def test_worker_processes_read_the_same(split, start):
    before = captions(split)
    context = multiprocessing.get_context(start)
    with context.Pool(2) as pool:
        parts = pool.starmap(read_in_child, [(split, [number, -1]) for number in range(7)])

    assert parts == [[caption, before[-1]] for caption in before]


def use_inherited(queue):
    queue.put(captions(INHERITED[0]))


INHERITED = []


def test_a_forked_process_reads_what_it_inherits(split):
    INHERITED[:] = [split]
    before = captions(split)  # starts threads and opens files before the fork
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=use_inherited, args=(queue,))
    child.start()
    found = queue.get(timeout=60)
    child.join()

    assert found == before


def test_another_process_notices_a_rebuilt_dataset(copied):
    pickled = pickle.dumps(tfrecord_dataset.open(copied)["train"])
    edit(copied / "metadata.json", lambda facts: facts.update(fingerprint="another"))

    with pytest.raises(DatasetChangedError, match="was built again since it was opened"):
        pickle.loads(pickled)[0]


@pytest.fixture
def bare(tmp_path):
    """Two files without metadata, one per split, one of them gzip."""
    for name, numbers in (("train.tfrecord", range(5)), ("test.tfrecord.gz", range(5, 7))):
        content = b"".join(
            framed(example.encode({"n": [number], "text": [b"no. %d" % number]}))
            for number in numbers
        )
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    return tmp_path


def test_bare_files(bare):
    dataset = tfrecord_dataset.open(bare / "*.tfrecord*")

    assert {name: len(dataset[name]) for name in dataset.splits} == {"test": 2, "train": 5}
    assert dataset["train"][[0, -1]] == [{"n": 0, "text": b"no. 0"}, {"n": 4, "text": b"no. 4"}]
    assert pickle.loads(pickle.dumps(dataset["test"]))[0] == {"n": 5, "text": b"no. 5"}


def test_sources_of_records(bare):
    contents = trainer.open(GOLDEN).split("train")
    stated = [
        source
        for shard in range(len(contents.files))
        for source in pyarrow.parquet.read_table(io.BytesIO(contents.read_rows(shard)))[
            "source"
        ].to_pylist()
    ]
    assert len(set(stated)) == 7
    assert contents.sources([5, 0, 6, 5]) == [stated[number] for number in (5, 0, 6, 5)]
    assert trainer.open(bare / "train.tfrecord").split("train").sources([1]) == [""]


def test_the_working_directory_and_a_link_to_the_dataset_may_change(copied, monkeypatch):
    monkeypatch.chdir(copied.parent)
    link = copied.with_name("latest")
    link.symlink_to(copied)
    dataset = trainer.open("latest")
    link.unlink()
    monkeypatch.chdir("/")

    assert dataset.index("train").num_records == 7
    assert dataset.statistics("train")


def test_a_store(bucket, tmp_path, split):
    url, store = bucket
    for path in GOLDEN.rglob("*"):
        if path.is_file():
            name = f"golden/1.0.0/{path.relative_to(GOLDEN)}"
            store.put(f"{url}/{name}", path.read_bytes())
    records = tfrecord_dataset.open(f"{url}/golden", cache_dir=str(tmp_path / "cache"))["train"]

    assert captions(records[[6, 0]]) == [split[6]["caption"], split[0]["caption"]]


def test_it_loads_no_tensorflow_beam_or_pyarrow():
    loaded = modules_after(
        "import sys, tfrecord_dataset; assert 'numpy' not in sys.modules; "
        f"tfrecord_dataset.open({str(GOLDEN)!r})['train'][0]"
    )
    assert not loaded & {"apache_beam", "beam_pipeline", "pyarrow", "tensorflow", "trainer"}


def test_no_module_of_it_loads_what_is_heavy():
    names = [
        module.name
        for module in pkgutil.walk_packages(tfrecord_dataset.__path__, "tfrecord_dataset.")
    ]
    loaded = modules_after(f"import {', '.join(names)}")
    assert set(names) <= loaded
    assert not loaded & {"apache_beam", "beam_pipeline", "pyarrow", "tensorflow", "trainer"}
