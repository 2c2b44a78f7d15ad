"""Archives yield the same records and bytes as the same files in folders."""

import bz2
import dataclasses
import gzip
import hashlib
import io
import lzma
import re
import tarfile
import zipfile
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
import pytest
from eager_runner import yielded

from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files import storage
from beam_pipeline.files.remote import Remote
from beam_pipeline.records import FileRef, Record
from cases.inputs import make
from cases.reading import options_of_case, source_at
from cases.test_cases import CASES

COMPRESSIONS = {
    "tar": bytes,
    "tar.gz": gzip.compress,
    "tgz": gzip.compress,
    "tar.bz2": bz2.compress,
    "tar.xz": lzma.compress,
    "tar.zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}
# A suggested command for a local file, which archives do not have.
_OF_FILES = re.compile(r", by iconv \S+ \S+ -t UTF-8 \S+ > \S+ && mv \S+ [^\s:]+")


@pytest.fixture(autouse=True)
def _no_store(monkeypatch):
    """Never ask a store whether a file exists."""
    monkeypatch.setattr(Remote, "exists", lambda self, path: False)


def packed(folder, how):
    """Pack the contents of a folder into an archive."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if how in COMPRESSIONS:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", dereference=True) as archive:
            for path in files:
                archive.add(path, path.relative_to(folder))
        packed = Path(f"{folder}.{how}")
        packed.write_bytes(COMPRESSIONS[how](buffer.getvalue()))
        return str(packed)
    method = {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED}[how]
    with zipfile.ZipFile(f"{folder}.zip", "w", method) as archive:
        for path in files:
            archive.write(path, path.relative_to(folder))
    return f"{folder}.zip"


def with_contents(value):
    """Replace file references in a value by their contents."""
    if isinstance(value, FileRef):
        try:
            return hashlib.sha256(storage.read_bytes(value)).hexdigest()
        except BeamTFRecordsError as error:
            return str(error)
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return type(value).__name__, with_contents(fields)
    if isinstance(value, dict):
        return {name: with_contents(each) for name, each in value.items()}
    return value


def read(options, root, scratch):
    """Return what is found at `root` and its elements, or the error."""

    def text(each):
        shown = str(each).replace(root, "INPUT").replace("INPUT:", "INPUT")
        return _OF_FILES.sub("", shown)

    try:
        found, source = source_at(root, options, scratch)
        elements = yielded(source)
    except BeamTFRecordsError as error:
        return text(str(error))
    return text(found.summary), sorted(text(repr(with_contents(element))) for element in elements)


# A case of each layout whose source reads several files, or parts of them.
PACKED = """
    arrays/as-keras-has-mnist arrays/npy-in-folders-of-splits coco/roboflow coco/two-splits
    csv/a-box-a-row csv/table folders/npz-of-several folders/splits jsonl/hugging-face-objects
    kitti/lists labelme/image-path voc/devkit yolo/data-yaml
"""


@pytest.mark.parametrize("name", PACKED.split())
def test_a_zip_is_read_as_its_files_are(tmp_path, name):
    make(CASES[name] / "input", tmp_path / "in")
    text = options_of_case(CASES[name])
    archive = packed(tmp_path / "in", "deflated")
    of_files = read(text, f"{tmp_path}/in", f"{tmp_path}/scratch")
    of_archive = read(text, archive, f"{tmp_path}/scratch")
    assert of_archive == of_files
    assert not isinstance(of_files, str)


def in_any_order(found):
    """Normalise the order of files in the summary that `read` returns."""
    if isinstance(found, str):
        return found
    summary, elements = found
    return sorted(summary.replace(":", ",").split(", ")), elements


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("how", ["tar", "stored"])
def test_every_case_is_read_alike_from_an_archive(tmp_path, how):
    differ = []
    for number, (name, case) in enumerate(CASES.items()):
        root = tmp_path / str(number)
        make(case / "input", root)
        text = (case / "options").read_text() if (case / "options").exists() else "INPUT"
        if "INPUT/" in text and ".tar/" in text:
            continue
        of_files = read(text, str(root), f"{root}.scratch")
        of_archive = read(text, f"{packed(root, how)}:", f"{root}.scratch")
        if isinstance(of_archive, str) and "unpack it once" in of_archive:
            continue  # there is an archive in the archive
        if in_any_order(of_archive) != in_any_order(of_files):
            differ.append(name)
    assert differ == []


def test_images_of_a_table_are_in_a_zip(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.jpg").write_bytes(name.encode() * 50)
    packed(folder, "deflated")
    (tmp_path / "train.csv").write_text("image,label\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\n")
    options = f"{tmp_path}/train.csv --image-root {tmp_path}/images"
    of_files = read(options, "INPUT", f"{tmp_path}/scratch")
    of_archive = read(f"{options}.zip", "INPUT", f"{tmp_path}/scratch")
    assert of_archive == of_files
    assert len(of_archive[1]) == 3


@pytest.mark.parametrize(("how", "between"), [("deflated", ":/"), ("deflated", "/"), ("tgz", ":/")])
def test_a_file_in_an_archive_is_an_input(tmp_path, how, between):
    folder = tmp_path / "data"
    (folder / "more").mkdir(parents=True)
    (folder / "rows.csv").write_text("x,label\n1,a\n2,b\n")
    (folder / "more.csv").write_text("y\n1\n2\n")
    (folder / "more/more.csv").write_text("y\n1\n")
    path = f"{packed(folder, how)}{between}rows.csv"
    summary, elements = read("INPUT", path, f"{tmp_path}/scratch")
    assert summary == "csv: rows.csv"
    assert len(elements) == 2
    beam.Pipeline() | source_at(path)[1]  # checks types


def test_records_know_where_their_files_lie(tmp_path):
    for path in ("cat/1.jpg", "dog/2.jpg"):
        (tmp_path / "in" / path).parent.mkdir(parents=True)
        (tmp_path / "in" / path).write_bytes(path.encode())
    archive = packed(tmp_path / "in", "stored")
    elements = yielded(source_at(archive)[1])
    files = [element.features["image"].file for element in elements if isinstance(element, Record)]
    assert len(files) == 2
    assert all(re.fullmatch(r".*/in\.zip:@\d+,9,9,stored,\w{8}/\d\.jpg", f.path) for f in files)


@pytest.fixture
def tree(tmp_path):
    """A folder of class folders."""
    for path in ("dogs/red/1.jpg", "dogs/red/2.jpg", "dogs/blue/3.jpg"):
        (tmp_path / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / path).write_bytes(path.encode() * 100)
    return tmp_path / "in"


@pytest.mark.parametrize("how", COMPRESSIONS)
def test_a_tar_of_a_tree_is_named_and_unpacked_once(tree, tmp_path, how):
    of_files = read("INPUT", str(tree), f"{tmp_path}/s")
    archive = packed(tree, how)
    for _ in range(2):
        assert read("INPUT", archive, f"{tmp_path}/s") == of_files
    assert len(of_files[1]) == 3
    unpacked = [path.name for path in tmp_path.glob("s/*/*")]
    assert unpacked == ([] if how == "tar" else ["in.tar"])


@pytest.mark.parametrize("how", ["tgz", "deflated"])
def test_a_question_names_the_archive_that_was_given(tmp_path, how):
    make(CASES["folders/names-with-a-class"] / "input", tmp_path / "in")
    of_files = read("INPUT --layout folders", f"{tmp_path}/in", f"{tmp_path}/s")
    archive = packed(tmp_path / "in", how)
    assert read("INPUT --layout folders", archive, f"{tmp_path}/s") == of_files
    assert "INPUT/images has no class folders" in of_files


@pytest.mark.parametrize("how", COMPRESSIONS)
@pytest.mark.parametrize("options", ["INPUT", "INPUT --layout tar"])
def test_webdataset_s_tars_are_not_trees(tmp_path, how, options):
    for name in ("a/1.jpg", "a/1.cls", "b/2.jpg", "b/2.cls"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(b"1")
    archive = packed(tmp_path / "in", how)
    summary, elements = read(options, archive, f"{tmp_path}/s")
    assert summary == f"tar: in.{how}"
    assert [re.search(r"'key': '(.*?)'", element)[1] for element in elements] == [
        f"in.{how}/a/1",
        f"in.{how}/b/2",
    ]


def test_a_compressed_tar_that_cannot_be_read_is_named(tree, tmp_path):
    archive = Path(packed(tree, "tgz"))
    for data, reason in ((archive.read_bytes()[:90], "truncated"), (b"no gzip", "damaged")):
        archive.write_bytes(data)
        refusal = read("INPUT", str(archive), f"{tmp_path}/out/.building/unpacked")
        assert refusal.startswith(f"INPUT cannot be read: {reason} file: in.tgz: ")
        assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []
