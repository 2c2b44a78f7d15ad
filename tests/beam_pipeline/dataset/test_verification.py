"""Any damage in a dataset is found, and reported by file and record."""

import hashlib
import math
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import soundfile
import tensorflow as tf
from damages import edit
from file_bytes import parquet_bytes

import beam_pipeline
from beam_pipeline import pipeline
from beam_pipeline.cli import commands
from beam_pipeline.dataset import shards
from beam_pipeline.dataset.shards import read_frames
from beam_pipeline.errors import ConfigError, DatasetDamagedError
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabel,
    ClassLabels,
    FileRef,
    Image,
    Objects,
    RawFile,
    Record,
    Rejected,
)
from tfrecord_dataset.format.example import encode
from tfrecord_dataset.format.frames import framed
from tfrecord_dataset.json_file import sealed

SHARD = "zoo-train.tfrecord-00000-of-00002"
ROWS = f"index/{SHARD}.parquet"
OPENING = "metadata.json"

NUM_RECORDS = 12


def records(folder: Path, write_image: Callable[..., Path], seed: int) -> list[Any]:
    """Records with a feature of every kind, in two splits, and some rejects."""
    rng = np.random.default_rng(seed)
    elements: list[Any] = []
    for number in range(NUM_RECORDS):
        image = write_image(folder / f"{number}.png", seed=100 * seed + number)
        sound = folder / f"{number}.wav"
        soundfile.write(sound, rng.uniform(-1, 1, (20 + number, 1)), 8000)
        raw = folder / f"{number}.bin"
        raw.write_bytes(rng.bytes(30))
        box = (1.0, 1.0, 5.0 + number % 3, 6.0)
        features = {
            "image": Image(file=FileRef(path=str(image))),
            "boxes": Objects(boxes=(box,) * (number % 3), labels=("red", "white")[: number % 3]),
            "label": ClassLabel("ant" if number % 2 else "bee"),
            "topics": ClassLabels(("x", "y")[: number % 3]),
            "audio": Audio(file=FileRef(path=str(sound))),
            "raw": RawFile(file=FileRef(path=str(raw))),
            "age": int(rng.integers(90)),
            "weight": math.nan if number == 7 else float(rng.normal()),
            "note": "" if number == 3 else f"note {rng.integers(99)}",
            "point": Array(dtype="float32", shape=(3,), data=rng.bytes(8) + bytes(4)),
            "walk": Array(dtype="int64", shape=(number % 4,), data=bytes(8 * (number % 4))),
            "grid": Array(dtype="uint16", shape=(20, 30), data=rng.bytes(1200)),
            "rows": Array(dtype="float32", shape=(number % 2, 4), data=bytes(16 * (number % 2))),
        }
        if number == 5:
            del features["note"], features["label"]
        split = "test" if number % 4 == 0 else "train"
        elements.append(Record(key=f"{number:02d}.png", features=features, split=split))
    elements += [
        Rejected(source=f"{number}.txt", reason="not an image", detail="text", bad=False)
        for number in range(3)
    ]
    return elements


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory, write_image: Callable[..., Path]) -> Any:
    """make(seed=0, name="zoo", **options) -> directory of a new dataset with every kind."""

    def run(seed: int = 0, name: str = "zoo", **options: Any) -> Path:
        folder = tmp_path_factory.mktemp("made")
        config = beam_pipeline.BuildConfig(
            output=str(folder), name=name, num_shards={"train": 2}, **options
        )
        source = beam.Create(records(folder / "input", write_image, seed))
        return Path(pipeline.build(config, source=source).path)

    return run


@pytest.fixture(scope="session")
def whole(make: Any) -> Path:
    """A dataset that tests do not change."""
    return make()


@pytest.fixture
def dataset(whole: Path, tmp_path: Path) -> Path:
    """A copy that may be changed."""
    return Path(shutil.copytree(whole, tmp_path / "copy"))


@pytest.fixture(scope="session")
def other(make: Any) -> Path:
    """A dataset with the same schema and other data."""
    return make(seed=1)


@pytest.fixture(scope="session")
def found() -> Callable[[Path | str], list[str]]:
    """found(dataset) -> its problems, one per line, including errors when opening it."""

    def said(directory: Path | str) -> list[str]:
        try:
            return beam_pipeline.verify(beam_pipeline.open(str(directory)))
        except (ConfigError, DatasetDamagedError) as error:
            return [str(error)]

    return said


def first_shard(dataset):
    return sorted(dataset.glob("*.tfrecord-*"))[0]


def spans(dataset):
    spans = dataset / "idx" / f"{first_shard(dataset).name}.idx"
    return [tuple(map(int, line.split())) for line in spans.read_text().splitlines()]


def edit_metadata(dataset, change):
    edit(dataset / "metadata.json", change)


def test_a_dataset_that_is_built_again_of_its_own_shards(whole, found, tmp_path):
    """Some features have all keys, but no statistics."""
    again = beam_pipeline.build(input=str(whole), output=str(tmp_path), name="again")
    assert found(again.path) == []
    assert [*again.features] == [*beam_pipeline.open(whole).features]


def cut_shard(dataset, end):
    first_shard(dataset).write_bytes(first_shard(dataset).read_bytes()[:end])


def state(**counts):
    """Change the entry of the first split's first shard in metadata.json."""
    return lambda facts: facts["splits"]["test"]["shards"][0].update(counts)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(
            lambda dataset: cut_shard(dataset, -10),
            "truncated file: record {last}, at byte {offset}: it lacks its last 10 bytes",
            id="cut",
        ),
        pytest.param(
            lambda dataset: cut_shard(dataset, spans(dataset)[-1][0]),
            "{name}: it holds {last} records",
            id="without its last record",
        ),
        pytest.param(
            lambda dataset: edit_metadata(dataset, state(num_records=99)),
            "{name}: it holds",
            id="a wrong count",
        ),
        *(
            pytest.param(
                lambda dataset, count=count: edit_metadata(
                    dataset, lambda facts: facts["splits"]["test"].update({count: 99})
                ),
                "metadata.json: split test states 99",
                id=f"a split's {count}",
            )
            for count in ("num_records", "num_bytes")
        ),
    ],
)
def test_what_a_shard_holds(dataset, found, damage, message):
    (offset, _), last = spans(dataset)[-1], len(spans(dataset)) - 1
    damage(dataset)
    expected = message.format(name=first_shard(dataset).name, last=last, offset=offset)
    assert any(expected in line for line in found(dataset))


@pytest.mark.parametrize(
    ("text", "message", "code"),
    [
        (None, "is not a finished dataset", 2),
        ("{", "metadata.json is not a dataset's metadata: it is not JSON", 3),
        ("{}", "metadata.json is not a dataset's metadata: it does not end with its checksum", 3),
        (
            sealed({"a": 1}),
            "metadata.json is not a dataset's metadata: format_version is null, not a whole number",
            3,
        ),
        (sealed({"format_version": 99}), "format version 99, but this version reads 3", 2),
    ],
)
def test_what_cannot_be_opened(dataset, capsys, text, message, code):
    (dataset / "metadata.json").unlink()
    if text is not None:
        (dataset / "metadata.json").write_text(text)
    for command in ("verify", "show"):
        assert commands.main([command, str(dataset)]) == code
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "kind", "values", "message"),
    [
        ("audio/sample_rate", "int64", [9], "sample_rate is 8000, audio/sample_rate states 9"),
        ("audio/num_samples", "int64", [9], r"num_samples is \d+, audio/num_samples states 9"),
        ("audio/channels", "int64", [9], "channels is 1, audio/channels states 9"),
        ("audio/format", "bytes", [b"ogg"], "format is wav, audio/format states ogg"),
        (
            "audio/encoded",
            "bytes",
            [b"RIFF\0\0\0\0WAVE"],
            "'audio/encoded' holds truncated audio: ",
        ),
        ("audio/encoded", "bytes", [b"noise"], "'audio/encoded' holds 5 bytes that start with"),
        ("image/class/label", "int64", [2], "'image/class/label' holds the class 2"),
        ("image/class/label", "int64", [0, 0], "an int64 list of 2, where an int64 list of 1"),
        ("topics/label", "int64", [0, 7], "'topics/label' holds the class 7"),
        ("topics/label", "bytes", [b"x"], "a bytes list of 1, where an int64 list"),
        ("grid", "bytes", [bytes(1198)], r"holds 1,198 bytes, where uint16 \[20, 30\] has 1,200"),
        ("grid", "int64", [1], "an int64 list of 1, where a bytes list of 1"),
        ("point", "float", [1.0, 2.0], "a float list of 2, where a float list of 3"),
        ("rows", "float", [1.0, 2.0], "a float list of 2, where a float list in rows of 4"),
        ("rows", "", [], "the Example lacks rows"),
    ],
)
def test_a_record_that_is_not_as_the_schema_says(dataset, found, key, kind, values, message):
    first, *others = [frame.payload for frame in read_frames(str(first_shard(dataset)), False)]
    example = tf.train.Example.FromString(first)
    del example.features.feature[key]
    if kind:
        getattr(example.features.feature[key], f"{kind}_list").value.extend(values)
    with tf.io.TFRecordWriter(str(first_shard(dataset))) as writer:
        for payload in (example.SerializeToString(), *others):
            writer.write(payload)
    assert any(re.search(f"record 0, at byte 0: .*{message}", each) for each in found(dataset))


def test_audio_that_is_not_as_the_schema_says(dataset, found):
    def state_other_audio(facts):
        [audio] = [each for each in facts["features"] if each["name"] == "audio"]
        audio.update(shape=[51, 2], sample_rate=9)

    edit_metadata(dataset, state_other_audio)
    message = r"audio \[\d+, 1\], where \[51, 2\] was expected"
    assert any(re.search(message, each) for each in found(dataset))


def put(dataset, path, data):
    """Write a file with correct size, hash and checksums."""
    (dataset / path).write_bytes(data)
    entry = {"num_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    edit_metadata_and_seal(dataset, lambda facts: facts["files"].update({path: entry}))


def edit_metadata_and_seal(dataset, change):
    edit(dataset / "metadata.json", change)
    sha256 = hashlib.sha256((dataset / "metadata.json").read_bytes()).hexdigest()
    edit(dataset / "build.json", lambda facts: facts.update(metadata_sha256=sha256))


def rows(dataset):
    return pyarrow.parquet.read_table(dataset / ROWS, use_threads=False)


def put_rows(dataset, table, path=ROWS):
    put(dataset, path, parquet_bytes(table))


def with_cell(table, column, row, value):
    values = table.column(column).to_pylist()
    values[row] = value
    at = table.schema.get_field_index(column)
    array = pyarrow.array(values, table.schema.field(column).type)
    return table.set_column(at, column, array)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        pytest.param(lambda table: table.slice(1), "its row 0 is (", id="first"),
        pytest.param(lambda table: with_cell(table, "offset", -1, 1), "is (1, ", id="offset"),
        pytest.param(lambda table: with_cell(table, "length", 0, 1), "is (0, 1), ", id="length"),
        pytest.param(
            lambda table: table.slice(0, 2), "its row 2 is None, the shard has (", id="cut"
        ),
        pytest.param(
            lambda table: pyarrow.concat_tables([table, table.slice(0, 1)]),
            "its row 5 is (0, ",
            id="longer",
        ),
        pytest.param(lambda table: table.drop_columns("age"), "lacks the column age", id="column"),
        pytest.param(
            lambda table: table.set_column(
                table.schema.get_field_index("age"), "age", table.column("age").cast("int32")
            ),
            "its column age is of the type int32, not int64",
            id="type",
        ),
    ],
)
def test_the_rows_of_the_index(dataset, found, change, cause):
    put_rows(dataset, change(rows(dataset)))
    [line] = found(dataset)
    assert line.startswith(f"{ROWS}: ")
    assert cause in line


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda data: data.replace(b"0 ", b"1 ", 1), "its line 0 is '1 "),
        (lambda data: data[: data.index(b"\n") + 1], "its line 1 is '', the shard has"),
        (lambda data: data + b"1 2\n", "is '1 2', the shard has ''"),
        (lambda data: b"\xff" + data, "its line 0 is '�0 "),
    ],
)
def test_spans(dataset, found, change, cause):
    path = f"idx/{SHARD}.idx"
    put(dataset, path, change((dataset / path).read_bytes()))
    [line] = found(dataset)
    assert line.startswith(f"{path}: ")
    assert cause in line


@pytest.mark.parametrize(
    "path",
    [
        "dataset_info.json",
        "features.json",
        "schema.pbtxt",
        "topics.label.labels.txt",
        "label_map.csv",
    ],
)
def test_descriptions(dataset, found, path):
    put(dataset, path, (dataset / path).read_bytes() + b"\n")
    [line] = found(dataset)
    assert line.startswith(f"{path}: it does not match metadata.json; ")


def test_a_file_that_metadata_does_not_list(dataset, found):
    edit_metadata_and_seal(
        dataset, lambda facts: [facts["files"].pop(each) for each in (ROWS, "README.md")]
    )
    assert [line.partition("; ")[0] for line in found(dataset)] == [
        "metadata.json: it states no hash of README.md",
        f"metadata.json: it states no hash of {ROWS}",
    ]


@pytest.mark.parametrize(
    "path",
    ["../zoo", "/etc/passwd", "s3://bucket/key", "http://169.254.169.254/x", "a\0b", "..", ""],
)
def test_paths_stay_in_the_dataset(dataset, found, path):
    edit_metadata_and_seal(
        dataset, lambda facts: facts["splits"]["train"]["shards"][0].update(file=path)
    )
    [line] = found(dataset)
    assert "splits.train.shards[0].file" in line
    assert "and was not read" in line


def test_a_build_json_of_another_build(dataset, found):
    edit(dataset / "build.json", lambda facts: facts.update(metadata_sha256="0" * 64))
    [line] = found(dataset)
    assert line.startswith("build.json: it belongs to another metadata.json; ")


def test_of_very_many_damaged_records_some_are_named_and_all_counted(tmp_path, found):
    table = tmp_path / "points.jsonl"
    table.write_text("".join(f'{{"id": "{number}", "x": {number}}}\n' for number in range(25)))
    result = beam_pipeline.build(input=str(table), output=str(tmp_path / "data"))
    [shard] = Path(result.path).glob("*.tfrecord-*")
    shard.write_bytes(framed(b"") * 25)
    causes = [line.partition(": ")[2] for line in found(result.path) if shard.name in line]
    assert sum(cause.startswith("record ") for cause in causes) == 20
    assert sum(cause.startswith("5 more records are damaged") for cause in causes) == 1


def flip(data, rng):
    """Flip one bit."""
    bit = rng.randrange(8 * len(data))
    return data[: bit // 8] + bytes([data[bit // 8] ^ (1 << bit % 8)]) + data[bit // 8 + 1 :]


def swap(path, rng, other):
    """Swap a file with another file of the dataset."""
    others = sorted(each for each in path.parent.iterdir() if each.is_file() and each != path)
    partner = rng.choice([each for each in others if each.read_bytes() != path.read_bytes()])
    data = path.read_bytes()
    path.write_bytes(partner.read_bytes())
    partner.write_bytes(data)


# Other bytes of a file, then other things at its path.
CONTENTS = {
    **{f"flip {number}": flip for number in range(8)},
    "cut": lambda data, rng: data[: rng.randrange(len(data))],
    "extend": lambda data, rng: data + rng.choice([b"\n", b"\0", b"x" * 100]),
    "empty": lambda data, rng: b"",
    "zero": lambda data, rng: bytes(len(data)),
}
PLACES = {
    "delete": lambda path: None,
    "fold": lambda path: path.mkdir(),
    "pipe": os.mkfifo,
    "loop": lambda path: path.symlink_to(path),
    "dangle": lambda path: path.symlink_to("nowhere"),
}


def damage(path, name, rng, other):
    """Damage a file, or replace it by the `other` one of another build."""
    if name in CONTENTS:
        path.write_bytes(CONTENTS[name](path.read_bytes(), rng))
    elif name == "replace":
        shutil.copy(other, path)
    elif name == "swap":
        swap(path, rng, other)
    else:
        path.unlink()
        PLACES[name](path)


def damages(whole: Path, other: Path) -> Iterator[tuple[str, str]]:
    """Yield each file with each name of a damage that changes it."""
    files = (file for file in sorted(whole.rglob("*")) if file.is_file())
    for path, data in ((str(file.relative_to(whole)), file.read_bytes()) for file in files):
        for name in (*CONTENTS, *PLACES, "replace", "swap"):
            is_same = (other / path).exists() and (other / path).read_bytes() == data
            if (data or name in ("extend", *PLACES)) and not (name == "replace" and is_same):
                yield path, name


def check(whole, other, found, copy, path, name, rng):
    """Damage a file of a copy; every reported line names it, or its partner in a swap."""
    dataset = shutil.copytree(whole, copy)
    damage(dataset / path, name, rng, other / path)
    said = found(dataset)
    changed = {
        each
        for each in (str(file.relative_to(whole)) for file in whole.rglob("*") if file.is_file())
        if not (dataset / each).is_file()
        or (dataset / each).read_bytes() != (whole / each).read_bytes()
    }
    shutil.rmtree(dataset)
    assert path in changed
    assert said, (path, name)
    if OPENING not in changed or name != "replace":  # otherwise all other files differ from it
        assert all(any(each in line for each in changed) for line in said), said
        named = {each for each in changed if any(each in line for line in said)}
        assert named == changed or OPENING in named


@pytest.mark.slow
def test_every_file_in_every_way(whole, other, found, tmp_path):
    rng = random.Random(1)
    cases = list(damages(whole, other))
    assert len(cases) > 200
    for path, name in cases:
        check(whole, other, found, tmp_path / "copy", path, name, rng)


@pytest.mark.parametrize(
    ("source", "name", "is_extra"),
    [
        pytest.param(SHARD, "zoo-train.tfrecord-00002-of-00002", True, id="a copied shard"),
        pytest.param(SHARD, "zoo-train.tfrecord-00000-of-00003", True, id="of more shards"),
        pytest.param(SHARD, f"{SHARD}.bak", True, id="which patterns take"),
        pytest.param(SHARD, f"{SHARD}.gz", True, id="as if compressed"),
        pytest.param(SHARD, "zoo-val.tfrecord-00000-of-00001", True, id="of another split"),
        pytest.param(SHARD, "pets-train.tfrecord-00000-of-00002", True, id="of another dataset"),
        pytest.param(SHARD, "part-00000-of-00002", True, id="called otherwise"),
        pytest.param("README.md", "model.data-00000-of-00001", False, id="a checkpoint's"),
        pytest.param(f"index/{SHARD}.parquet", "index/pets.parquet", True, id="an index"),
        pytest.param(f"idx/{SHARD}.idx", f"idx/{SHARD}.gz.idx", True, id="spans"),
        pytest.param(
            f"index/{SHARD}.parquet", f"index/{SHARD}.parquet.{'0a' * 16}.partial", True, id="part"
        ),
        pytest.param("features.json", "label_map.csv", False, id="there already"),
        pytest.param("topics.label.labels.txt", "size.labels.txt", True, id="class names"),
        pytest.param("README.md", "notes.md", False, id="notes"),
        pytest.param(SHARD, f"mine/{SHARD}", False, id="in a folder of the user's"),
        pytest.param("rejects.jsonl", "failed-rejects.jsonl", False, id="of a failed build"),
        pytest.param("README.md", "index/README.md", False, id="notes in the index"),
        pytest.param("README.md", ".hidden.tfrecord-00000-of-00001", False, id="hidden"),
    ],
)
def test_extra_files(whole, found, tmp_path, source, name, is_extra):
    dataset = Path(shutil.copytree(whole, tmp_path / "copy"))
    if not (dataset / name).exists():
        (dataset / name).parent.mkdir(exist_ok=True)
        shutil.copy(dataset / source, dataset / name)
    said = found(dataset)
    expected = f"{name}: metadata.json does not list it; move it elsewhere, or delete it"
    assert said == ([expected] if is_extra else [])


@pytest.mark.slow
def test_damage_on_a_store(whole, found, bucket):
    url, store = bucket
    store.put_folder(f"{url}/zoo", whole)
    assert found(f"{url}/zoo") == []
    key = f"{url}/zoo/".removeprefix("s3://")
    del store.objects[key + ROWS]
    store.objects[key + SHARD] += b"x"
    store.objects[f"{key}README.md"] = b"#" + store.objects[f"{key}README.md"][1:] + b"\n"
    store.objects[f"{key}zoo-train.tfrecord-00000-of-00009"] = b""
    lines = found(f"{url}/zoo")
    named = ("README.md", ROWS, SHARD, "zoo-train.tfrecord-00000-of-00009: metadata.json does not")
    assert all(any(name in line for line in lines) for name in named), lines
    assert all(any(name in line for name in named) for line in lines), lines


def test_rows_of_a_table_are_checked_together(tmp_path, monkeypatch):
    """Each record is parsed separately only if one near it has a problem."""
    table = tmp_path / "rows.csv"
    rows = "".join(f"{n % 90},{n / 7},c{n % 3},note {n}\n" for n in range(3000))
    table.write_text(f"age,weight,label,note\n{rows}")
    info = beam_pipeline.build(input=str(table), output=str(tmp_path), name="rows")
    parsed = []
    parse = shards.parse_example
    monkeypatch.setattr(shards, "parse_example", lambda data: parsed.append(data) or parse(data))
    monkeypatch.setattr(shards, "_CHUNK_BYTES", 100_000)
    assert beam_pipeline.verify(info) == []
    assert parsed == []
    shard = Path(info.path, info.splits["train"][0].file)
    shard.write_bytes(shard.read_bytes().replace(b"note 1234", b"note 1235"))
    [damaged, *_] = beam_pipeline.verify(info)
    assert "damaged record: the payload's checksum is wrong" in damaged
    assert parsed == [], "the checksum is wrong, and its neighbours are fine"
    payload = encode(
        {"age": [1], "weight": [2.0], "label/label": [9], "label/text": [b""], "note": [b""]}
    )
    shard.write_bytes(shard.read_bytes() + framed(payload))
    problems = beam_pipeline.verify(info)
    assert any("holds the class 9, where 0 to 2 was expected" in each for each in problems)
    assert 0 < len(parsed) < 1000
