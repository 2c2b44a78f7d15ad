"""Files of a tree: listed in batches, and rejected once if no element accounts for them."""

import dataclasses
import shlex

import apache_beam as beam
import pytest
from apache_beam.pipeline import PipelineVisitor
from eager_runner import yielded

from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.records import Consumed, FileRef, Image, Record, Rejected
from beam_pipeline.running.pickling import unpack
from beam_pipeline.sources.inputs import find_input, source_of
from beam_pipeline.sources.listing import ListNames
from beam_pipeline.sources.unread import AccountForFiles, not_read
from tfrecord_dataset.store.listing import paths_in


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        pytest.param([""], ["1.jpg", "a/2.jpg", "a/b/3.jpg", "c/4.jpg"], id="all"),
        pytest.param(["a/b", "c"], ["a/b/3.jpg", "c/4.jpg"], id="some folders"),
        pytest.param(["a"], ["a/2.jpg", "a/b/3.jpg"], id="a folder with folders"),
    ],
)
@pytest.mark.parametrize("place", ["local", "remote"])
def test_list_names(tmp_path, bucket, place, folders, expected):
    root = str(tmp_path) if place == "local" else f"{bucket[0]}/input"
    for path in ("1.jpg", "a/2.jpg", "a/b/3.jpg", "c/4.jpg"):
        storage.make_dirs(f"{root}/{path}".rpartition("/")[0])
        storage.write_bytes(f"{root}/{path}", b"")
    batches = yielded(ListNames(root, folders))
    assert sorted(path for batch in batches for path in paths_in(unpack(batch))) == expected


class Elements(beam.PTransform):
    def __init__(self, *elements):
        self._elements = elements

    def expand(self, pipeline):
        return pipeline | beam.Create(self._elements)


REASONS = {
    "data not read": "a/labels.csv a/b.bin a/1.npy train.yaml a/1.svg a/1.tga a/1.CR2",
    "unused image": "a/1.jpg",
    "unused audio": "a/1.wav",
    "not a data file": "README.txt LICENSE train.py settings.yaml",
}


def test_reasons():
    for reason, paths in REASONS.items():
        for path in paths.split():
            reject = not_read(path)
            assert (reject.source, reject.reason, reject.bad) == (path, reason, False)


@pytest.mark.parametrize("name", ["notes.txt", "a b/[1].csv"])
def test_what_leaves_out_a_file_that_is_not_read_can_be_typed(make_tree, name):
    tree = {f"{place}/{number}.jpg": "x" for place in ("cat", "dog") for number in range(3)}
    config = BuildConfig(input=str(make_tree({name: "x", **tree})))

    def sources(config):
        source = source_of(config, find_input(config), "")
        return {each.source: each.detail for each in yielded(source) if hasattr(each, "detail")}

    option, pattern = shlex.split(sources(config)[name].partition("pass ")[2])
    assert option == "--ignore"
    assert name not in sources(dataclasses.replace(config, ignore=(pattern,)))


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
