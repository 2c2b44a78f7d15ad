"""What no record, annotation or reject accounts for is rejected, once, wherever it is."""

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.pipeline import PipelineVisitor
from cases.reading import elements_of
from eager_runner import yielded
from pyarrow import csv

from beam_pipeline.config import BuildConfig
from beam_pipeline.records import Consumed, FileRef, Image, Record, Rejected
from beam_pipeline.sources.inputs import find_input, source_of
from beam_pipeline.sources.unread import AccountForFiles, not_read


class Elements(beam.PTransform):
    def __init__(self, *elements):
        self._elements = elements

    def expand(self, pipeline):
        return pipeline | beam.Create(self._elements)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("a/labels.csv", "data not read"),
        ("a/b.bin", "data not read"),
        ("a/1.npy", "data not read"),
        ("a/1.jpg", "unused image"),
        ("a/1.wav", "unused audio"),
        ("README.txt", "no data file"),
        ("LICENSE", "no data file"),
        ("train.py", "no data file"),
        ("train.yaml", "data not read"),
        ("settings.yaml", "no data file"),
    ],
)
def test_reasons(path, reason):
    assert not_read(path) == Rejected(
        source=path, reason=reason, detail=not_read(path).detail, bad=False
    )


def test_the_listing_minus_what_is_accounted_for(make_tree):
    names = ("cat/1.jpg", "cat/2.jpg", "lost.jpg", "boxes.json", "notes.csv", "beside/é.csv")
    root = make_tree(dict.fromkeys(names, "x"))
    image = Image(file=FileRef(path=f"{root}/cat/1.jpg"))
    record = Record(key="cat/1.jpg", features={"image": image})
    rejected = Rejected(source="2.jpg", reason="damaged", detail="")
    consumed = Consumed(paths=(f"{root}/boxes.json",))
    source = Elements(record, rejected, consumed)
    found = yielded(AccountForFiles(source, root, f"{root}/cat", (f"{root}/notes.csv",)))
    assert sorted(each.source for each in found if isinstance(each, Rejected)) == [
        "2.jpg",
        "beside/é.csv",
        "lost.jpg",
    ]
    assert [each for each in found if isinstance(each, Record)] == [record]
    assert consumed not in found


def test_many_files_are_all_accounted_for(make_tree):
    root = make_tree({f"{name}/{n}.jpg": "" for name in ("cat", "dog") for n in range(300)})
    reasons = [element for element in elements_of(root) if isinstance(element, Rejected)]
    assert reasons == []


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_tables_of_several_splits_are_accounted_for(tmp_path, suffix):
    write = {"parquet": pq.write_table, "csv": csv.write_csv}[suffix]
    (tmp_path / "in/data").mkdir(parents=True)
    for split in ("train", "test"):
        table = pa.table({"x": [1, 2], "word": ["a", "b"]})
        write(table, tmp_path / f"in/data/{split}-00000-of-00001.{suffix}")
    assert [
        element for element in elements_of(tmp_path / "in") if isinstance(element, Rejected)
    ] == []


def test_files_next_to_images_are_listed_once(make_tree):
    xml = "<annotation><object><name>cat</name></object></annotation>"
    root = make_tree({"Annotations/1.xml": xml, "JPEGImages/1.jpg": "x"})
    config = BuildConfig(input=str(root))
    labels = []

    class Visitor(PipelineVisitor):
        def visit_transform(self, node):
            labels.append(node.full_label.rpartition("/")[2])

    pipeline = beam.Pipeline()
    pipeline | source_of(config, find_input(config), "")
    pipeline.visit(Visitor())
    assert labels.count("ListFiles") == labels.count("PairFiles") == 1
