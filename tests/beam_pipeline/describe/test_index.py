"""A shard's index: Parquet and DALI's offsets."""

import hashlib
import io

import numpy as np
import pyarrow.parquet
from inspecting import Inspected, examples_of, schema_of

from beam_pipeline.assign import columns
from beam_pipeline.batch import from_stream
from beam_pipeline.describe.index import IndexWriter, arrow_schema, rows
from beam_pipeline.records import (
    Array,
    Audio,
    ClassLabels,
    FileRef,
    Image,
    ListSummary,
    RawFile,
)


def index_of(*records, halves=1):
    """Return (table, text of the .idx file) of records with frames of 100 bytes."""
    schema = schema_of(*records)
    data = io.BytesIO()
    with pyarrow.parquet.ParquetWriter(data, arrow_schema(schema)) as parquet:
        writer = IndexWriter(parquet)
        for start in range(0, len(records), len(records) // halves):
            part = records[start : start + len(records) // halves]
            table = from_stream(columns.to_bytes(rows(schema, examples_of(*part))))
            writer.add(table, np.full(len(part), 100))
        writer.flush()
    assert writer.num_bytes == 100 * len(records)
    return pyarrow.parquet.read_table(io.BytesIO(data.getvalue())), b"".join(writer.spans())


def image(sha256, width=3):
    file = FileRef(path="/secret/place.jpg", sha256=sha256)
    return Image(file=file, format="jpeg", width=width, height=2)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def test_facts_of_every_kind():
    file = FileRef(path="/a", sha256="ab")
    audio = Audio(file=file, format="wav", sample_rate=8000, num_samples=50, channels=2)
    table, _ = index_of(
        Inspected(
            key="a",
            features={
                "audio": audio,
                "label": ClassLabels(("x", "y")),
                "raw": b"\0",
                "part": RawFile(file=file),
                "tensor": Array(dtype="int64", shape=(1,), file=file),
                "tokens": Array(dtype="int64", shape=(2,), data=bytes(16)),
                "words": ("a", "b", "c"),
                "raw_note": "n",
            },
        ),
        Inspected(
            key="b",
            features={
                "audio": audio,
                "raw": b"",
                "part": RawFile(file=file),
                "tensor": Array(dtype="int64", shape=(1,), data=bytes(8)),
                "tokens": Array(dtype="int64", shape=(0,)),
                "words": (),
                "raw_note": "",
            },
        ),
    )
    columns = table.select(table.column_names[4:]).to_pydict()
    assert columns == {
        "audio_sha256": ["ab", "ab"],
        "audio_sample_rate": [8000, 8000],
        "audio_num_samples": [50, 50],
        "audio_channels": [2, 2],
        "labels": [["x", "y"], []],
        "part_sha256": ["ab", "ab"],
        "raw_sha256": [sha256(b"\0"), sha256(b"")],
        "raw_note": ["n", ""],
        "tensor_sha256": ["ab", sha256(bytes(8))],
        "tokens_sha256": [sha256(bytes(16)), sha256(b"")],
        "tokens_length": [2, 0],
        "words_length": [3, 0],
    }


def test_long_texts_are_null():
    texts = ("a" * 1024, "b" * 1025, "")
    table, _ = index_of(*(Inspected(key=text[:1], features={"text": text}) for text in texts))
    assert table["text"].to_pylist() == ["a" * 1024, None, ""]


def test_what_others_stored():
    def stored(key, features):
        return Inspected(key=key, features=features, example=FileRef(path="/a"))

    def image(sha256):
        shape = (2, 3)
        return ListSummary(
            kind="bytes", length=1, form="png", num_bytes=9, sha256=sha256, shape=shape
        )

    long_text = ListSummary(kind="bytes", length=1, form="text", num_bytes=500, num_characters=500)
    many = ListSummary(kind="int64", length=3, minimum=1, maximum=9)
    table, _ = index_of(
        stored("a:0", {"image": image("aa"), "label": 1, "text": "short", "n": many, "age": 3}),
        stored("a:1", {"image": image("bb"), "label": -1, "text": long_text, "n": 7, "age": 4}),
    )
    found = table.to_pydict()

    assert (found["sha256"], found["height"], found["width"]) == (["aa", "bb"], [2, 2], [3, 3])
    assert found["labels"] == [["1"], []]
    assert found["text"] == ["short", None]
    assert found["age"] == [3, 4]
    assert found["n_length"] == [3, 1]
