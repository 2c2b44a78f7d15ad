"""The page of a dataset: its content, for any dataset, and that untrusted text is inert."""

import errno
import json
import re
import shlex
import shutil
import tempfile
from pathlib import Path

import apache_beam as beam
import numpy as np
import pytest
import soundfile
from testdata.make_golden import GOLDEN

import beam_pipeline
import tfrecord_dataset
from beam_pipeline import pipeline
from beam_pipeline.cli import commands
from beam_pipeline.errors import DatasetDamagedError
from beam_pipeline.files import storage
from beam_pipeline.report import page as report_page
from beam_pipeline.report import sampled_records
from beam_pipeline.report.page import write_report

HOSTILE = '<script>alert("x")<⁄script>'
LARGEST_BYTES = 5_000_000


def report(folder):
    return json.loads((Path(folder) / "report.json").read_text())


def page(folder):
    return (Path(folder) / "report.html").read_text()


def build(source, output, **options):
    return beam_pipeline.build(input=str(source), output=str(output), **options).path


@pytest.fixture
def golden(tmp_path):
    return shutil.copytree(GOLDEN, tmp_path / "golden")


def test_a_dataset(golden, capsys):
    assert commands.main(["report", str(golden)]) == 0
    assert capsys.readouterr().out == f"{golden}/report.html\n"

    facts, text = report(golden), page(golden)
    stated = json.loads((golden / "metadata.json").read_text())
    assert facts["fingerprint"] == stated["fingerprint"]
    assert {each["name"]: each["records"] for each in facts["figures"]["splits"]} == {
        name: split["num_records"] for name, split in stated["splits"].items()
    }
    label, boxes = facts["figures"]["classes"]
    assert label["exact"]
    assert {row["name"]: row["total"] for row in label["rows"]} == {"cat": 5, "dog": 5}
    assert boxes["of_objects"]
    [numbers] = [each for each in facts["figures"]["numbers"] if each["feature"] == "age"]
    assert numbers["splits"][0] == {
        "split": "test", "minimum": 7, "maximum": 9, "mean": 8.0, "missing": 0,
        "deviation": pytest.approx(0.8165, abs=1e-4),
    }  # fmt: skip
    assert len(text) < LARGEST_BYTES
    shown = re.findall(r"<summary>(\w+) \d+</summary>", text)
    assert {split: shown.count(split) for split in shown} == {"test": 3, "train": 6}
    assert text.count("data:image/jpeg") == 10
    assert "://" not in re.sub(r"data:[^\"]*", "", text)
    assert str(golden) not in text


@pytest.mark.parametrize("compression", ["gzip", pytest.param("none", marks=pytest.mark.nightly)])
def test_a_build_writes_it(tmp_path, class_folders, pages, compression):
    pets = class_folders(tmp_path / "pets")
    options = {"compression": compression, "split": {"train": 0.7, "test": 0.3}}
    drawn = build(pets, tmp_path / "drawn", **options)
    bare = build(pets, tmp_path / "bare", **options, no_report=True)
    facts = report(drawn)
    assert 0 < facts["figures"]["sampled"] == page(drawn).count("data:image/jpeg")
    assert not (Path(bare) / "report.json").exists()
    code = page(drawn)
    by_gzip = "TFRecordDataset(files, compression_type=&#34;GZIP&#34;)" in code
    assert by_gzip == ("tfds.builder_from_directory" not in code) == (compression == "gzip")
    same = [(Path(each) / "metadata.json").read_bytes() for each in (drawn, bare)]
    assert same[0] == same[1]
    assert commands.main(["verify", drawn]) == 0


@pytest.mark.slow
def test_a_page_that_fails_leaves_the_build_whole(
    tmp_path, class_folders, pages, monkeypatch, caplog, capsys
):
    with monkeypatch.context() as full:
        full.setattr(storage, "write_bytes", no_space_for_pages(storage.write_bytes))
        dataset = build(class_folders(tmp_path / "pets"), tmp_path / "data")
    [record] = caplog.records
    assert "No space left" in record.getMessage()
    (command,) = re.findall("`beam-tfrecords (.*)`", record.getMessage())
    assert commands.main(shlex.split(command)) == 0
    assert page(dataset)


def no_space_for_pages(write):
    def fail_at_pages(path, data, **options):
        if "report." in path:
            raise OSError(errno.ENOSPC, "No space left on device", path)
        write(path, data, **options)

    return fail_at_pages


def test_checks(tmp_path, write_image):
    for number in range(20):
        write_image(tmp_path / "pets/cat" / f"{number}.jpg", seed=number)
    for number in (0, 50):
        write_image(tmp_path / "pets/dog" / f"{number}.jpg", seed=number)
    (tmp_path / "pets/cat/broken.jpg").write_bytes(b"\xff\xd8")
    dataset = build(tmp_path / "pets", tmp_path / "data", max_bad_fraction=0.5)
    write_report(dataset)
    facts = report(dataset)
    levels = {each["title"]: each["level"] for each in facts["checks"]}
    assert levels == {
        "rejects": "red", "changes": "green", "duplicates": "amber", "contradictions": "red",
        "splits": "amber", "imbalance": "amber",
    }  # fmt: skip
    assert all(each["remedy"] for each in facts["checks"] if each["level"] != "green")
    assert [each["source"] for each in facts["rejects"]] == ["cat/broken.jpg"]
    [duplicate] = facts["duplicates"]
    assert sorted(duplicate["labels"]) == ["cat", "dog"]


def test_a_sample_is_limited(tmp_path, monkeypatch):
    (tmp_path / "numbers.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(300)))
    dataset = build(tmp_path / "numbers.csv", tmp_path / "data")
    monkeypatch.setattr(sampled_records, "_MOST_RECORDS", 60)
    drawn = sampled_records.sample(tfrecord_dataset.open(dataset), seed=0)
    assert len({record.number for record in drawn}) == 60


def test_duplicates_are_side_by_side_contradicting_ones_first(tmp_path, write_image, pages):
    for name, seed in (("cat/1", 1), ("cat/2", 1), ("cat/3", 2), ("dog/4", 2), ("dog/5", 3)):
        write_image(tmp_path / "pets" / f"{name}.jpg", seed=seed)
    dataset = build(tmp_path / "pets", tmp_path / "data", compression="gzip")
    table = page(dataset).partition('<table class="alike">')[2].partition("</table>")[0]
    groups = [row.partition("</tr>")[0] for row in table.split("<tr>")[2:]]
    keys = [re.findall(r"train \d+: ([\w/]+)", group) for group in groups]
    assert keys == [["cat/3", "dog/4"], ["cat/1", "cat/2"]]
    assert "<td>cat, dog</td><td>train</td>" in groups[0]
    assert groups[0].count("data:image/jpeg") == 2


@pytest.mark.parametrize("fails", ["a shard", "the page"])
def test_a_page_that_fails_leaves_nothing(golden, tmp_path, monkeypatch, fails):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    if fails == "a shard":
        for path in golden.glob("*.tfrecord-*"):
            path.write_bytes(b"damaged" * 100)
    else:
        monkeypatch.setattr(report_page, "html", lambda facts: facts["no such fact"])
    before = sorted(golden.rglob("*"))
    with pytest.raises((DatasetDamagedError, KeyError)):
        write_report(str(golden))
    assert sorted(golden.rglob("*")) == before
    assert list(temporary.iterdir()) == []


def test_texts_of_others_are_cut_and_do_not_act(tmp_path, write_image):
    file = beam_pipeline.FileRef(path=str(write_image(tmp_path / "a.png")))
    long = "x" * 1_000_000
    features = {
        "image": beam_pipeline.Image(file=file),
        "boxes": beam_pipeline.Objects(boxes=((1.0, 1.0, 5.0, 5.0),), labels=(long,)),
        "label": beam_pipeline.ClassLabel(f"{HOSTILE}{long}"),
    }
    config = beam_pipeline.BuildConfig(output=str(tmp_path / "data"), name="long")
    source = beam.Create([beam_pipeline.Record(key="a", features=features)])
    dataset = pipeline.build(config, source=source).path
    write_report(dataset)
    text = page(dataset)
    assert "x" * 200 in text
    assert "x" * 400 not in text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


@pytest.mark.nightly
def test_audio_and_tables(tmp_path):
    (tmp_path / "clips").mkdir()
    for number in range(4):
        wave = np.sin(np.arange(4000) * (number + 1) / 20)
        soundfile.write(tmp_path / "clips" / f"{number}.wav", wave, 8000)
    rows = ["audio,digit,note", *(f"clips/{n}.wav,{n % 2},say it {n}" for n in range(4))]
    (tmp_path / "clips.csv").write_text("\n".join(rows) + "\n")
    dataset = build(tmp_path / "clips.csv", tmp_path / "data")
    write_report(dataset)
    text = page(dataset)
    assert text.count("data:audio/wav") == 4
    assert text.count('aria-label="waveform"') == 4
    assert "0.5 s at 8,000 Hz, peak 1.0" in text


@pytest.mark.nightly
def test_a_wide_table_has_a_page_of_its_first_columns_and_the_label(tmp_path, pages):
    names = [f"c{number}" for number in range(300)]
    rows = [",".join([*names, "label"])]
    rows += [",".join([*map(str, range(row, row + 300)), "ab"[row % 2]]) for row in range(4)]
    (tmp_path / "wide.csv").write_text("\n".join(rows))
    folder = build(tmp_path / "wide.csv", tmp_path / "out", label_column="label")

    facts = report(folder)
    described = [each["name"] for each in facts["schema"]]
    assert described == ["label", *sorted(described[1:])]
    assert len(described) == 200
    assert facts["features"] == 301
    assert [each["feature"] for each in facts["figures"]["numbers"]] == described[1:]
    assert "200 of 301 features are described" in page(folder)
    assert len(page(folder)) < 500_000


def test_bare_files_and_a_store(golden, tmp_path, bucket):
    url, store = bucket
    shards = sorted(golden.glob("*.tfrecord-*"))
    (tmp_path / "page").mkdir()
    write_report(str(golden / "*.tfrecord-*"), str(tmp_path / "page"))
    facts = report(tmp_path / "page")
    assert facts["records"] == 10
    assert not any(each["exact"] for each in facts["figures"]["classes"])
    assert len(shards) == 3
    store.put_folder(f"{url}/golden", golden)
    assert write_report(f"{url}/golden") == f"{url}/golden/report.html"
