"""Whole manifests become records: columns of every kind, and manifests as others lay them out."""

import gzip
from pathlib import Path

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.records import Array, Audio, ClassLabel, ClassLabels, FileRef, Image, Objects
from beam_pipeline.sources.manifest.read import ReadCsv, ReadJsonl


def test_csv_columns_become_features_of_their_kinds(
    tmp_path, read_manifest, write, records_by_key, others
):
    path = write(
        tmp_path / "labels.csv",
        "\ufeffFile_Name;Label;split;age;score;plate;note\r\n"
        'a/1.jpg;cat;train;3;1;007;"two\r\nlines; and ""quotes"""\r\n'
        "\r\n"
        "a/2.jpg;dog;val;4;.5;12;\r\n",
    )

    records = records_by_key(read_manifest(ReadCsv(path)))

    first, second = records["a/1.jpg"], records["a/2.jpg"]
    assert first.features["image"].file.path == str(tmp_path / "a/1.jpg")
    assert others(first) == {
        "label": ClassLabel("cat"),
        "age": 3,
        "note": 'two\r\nlines; and "quotes"',
        "plate": "007",
        "score": 1.0,
    }
    assert isinstance(others(first)["score"], float)
    assert others(second) == {
        "label": ClassLabel("dog"),
        "age": 4,
        "note": "",
        "plate": "12",
        "score": 0.5,
    }
    assert (first.split, second.split) == ("train", "val")
    assert (first.source, second.source) == ("labels.csv:2", "labels.csv:5")


def test_csv_with_a_box_a_row(tmp_path, read_manifest, write, records_by_key, rejects):
    path = write(
        tmp_path / "boxes.csv",
        "filename,width,height,class,xmin,ymin,xmax,ymax,difficult\n"
        "b.jpg,640,480,dog,5,6,7,8.5,0\n"
        "a.jpg,,,,,,,,\n"
        "b.jpg,640,480,cat,1,2,3,4,1\n"
        "c.jpg,10,10,cat,1,2,3,,1\n"
        "d.jpg,10,10,,1,2,3,4,1\n"
        "e.jpg,10,10,cat,1,2,3,4,1\n"
        "e.jpg,20,10,cat,1,2,3,4,1\n",
    )

    elements = read_manifest(ReadCsv(path))

    records = records_by_key(elements)
    assert records["b.jpg"].features["boxes"] == Objects(
        boxes=((5.0, 6.0, 7.0, 8.5), (1.0, 2.0, 3.0, 4.0)),
        format="xyxy",
        labels=("dog", "cat"),
        attributes={"difficult": (0, 1)},
        image_size=(640, 480),
    )
    assert records["a.jpg"].features["boxes"] == Objects(
        boxes=(), labels=(), attributes={"difficult": ()}
    )
    assert {name: set(record.features) for name, record in records.items()} == {
        "a.jpg": {"image", "boxes"},
        "b.jpg": {"image", "boxes"},
    }
    found = rejects(elements)
    assert {source: reason for source, (reason, _) in found.items()} == {
        "boxes.csv:5": "malformed annotation",
        "boxes.csv:6": "missing value",
        "boxes.csv:7": "malformed annotation",
    }
    assert "'c" not in found["boxes.csv:5"][1]
    assert "''" in found["boxes.csv:5"][1]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_list_of_four_numbers_is_a_box(
    tmp_path, read_manifest, write, json_lines, records_by_key, rejects, form
):
    rows = [
        ("b.jpg", [10, 10, 20, 20], "dog"),
        ("b.jpg", [1.5, 2.5, 3, 4], "cat"),
        ("a.jpg", None, ""),
        ("a.jpg", [], ""),
        ("c.jpg", [1, 2, 3], "cat"),
    ]
    if form == "csv":
        lines = [f'{name},"{"" if box is None else box}",{label}\n' for name, box, label in rows]
        source = ReadCsv(write(tmp_path / "m.csv", "image,bbox,label\n" + "".join(lines)))
    else:
        objects = [{"image": name, "bbox": box, "label": label} for name, box, label in rows]
        source = ReadJsonl(write(tmp_path / "m.jsonl", json_lines(*objects)))

    elements = read_manifest(source)

    records = records_by_key(elements)
    assert records["b.jpg"].features["boxes"] == Objects(
        boxes=((10.0, 10.0, 20.0, 20.0), (1.5, 2.5, 3.0, 4.0)),
        format="xyxy",
        labels=("dog", "cat"),
    )
    assert records["a.jpg"].features["boxes"].boxes == ()
    ((reason, detail),) = rejects(elements).values()
    assert (reason, "[1, 2, 3]" in detail) == ("malformed annotation", True)


def test_lists_of_boxes_in_a_csv_are_refused_by_name(tmp_path, read_manifest, write):
    path = write(tmp_path / "m.csv", 'image,boxes\na.jpg,"[[1, 2, 3, 4], [5, 6, 7, 8]]"\n')
    with pytest.raises(ConfigError, match=r"'boxes' holds lists that .* write JSON Lines"):
        read_manifest(ReadCsv(path))


def test_one_image_in_several_rows_makes_several_records(
    tmp_path, read_manifest, write, records_by_key
):
    path = write(tmp_path / "m.csv", "image,caption\n1.jpg,a\n2.jpg,b\n./1.jpg,c\n1.jpg,d\n")
    records = records_by_key(read_manifest(ReadCsv(path)))
    assert {key: record.features["caption"] for key, record in records.items()} == {
        "1.jpg": "a",
        "1.jpg#2": "c",
        "1.jpg#3": "d",
        "2.jpg": "b",
    }


def test_hugging_face_folder_of_splits(tmp_path, read_manifest, write, records_by_key, others):
    write(tmp_path / "train/metadata.csv", "file_name,label,n\nimg/1.jpg,0,1\n")
    write(tmp_path / "test/metadata.csv", "file_name,label,n\n1.jpg,1,2.5\n")

    records = records_by_key(read_manifest(ReadCsv(str(tmp_path))))

    assert {key: (r.split, r.source) for key, r in records.items()} == {
        "train/img/1.jpg": ("train", "train/metadata.csv:2"),
        "test/1.jpg": ("test", "test/metadata.csv:2"),
    }
    # A column's kind is one for all manifests.
    assert others(records["train/img/1.jpg"]) == {"label": ClassLabel("0"), "n": 1.0}


def test_hugging_face_objects(tmp_path, read_manifest, write, json_lines, records_by_key, others):
    objects = {
        "bbox": [[1, 2, 3, 4], [5, 6, 7, 8]],
        "category": [0, 3],
        "area": [12, 56.5],
        "iscrowd": [0, 1],
    }
    none = {"bbox": [], "category": [], "area": [], "iscrowd": []}
    path = write(
        tmp_path / "metadata.jsonl",
        json_lines(
            {"file_name": "a.jpg", "width": 64, "height": 48, "ok": True, "objects": objects},
            {"file_name": "b.jpg", "width": 64, "height": 48, "ok": False, "objects": none},
        ),
    )

    records = records_by_key(read_manifest(ReadJsonl(str(Path(path).parent))))

    assert others(records["a.jpg"]) == {
        "ok": 1,
        "boxes": Objects(
            boxes=((1.0, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0)),
            format="xywh",
            labels=("0", "3"),
            attributes={"area": (12.0, 56.5), "is_crowd": (0, 1)},
            image_size=(64, 48),
        ),
    }
    assert others(records["b.jpg"])["boxes"].boxes == ()


def test_sounds_of_hugging_face(tmp_path, read_manifest, write, records_by_key):
    path = write(tmp_path / "train/metadata.csv", "file_name,text\na/1.wav,one\na/2.mp3,two\n")
    records = records_by_key(read_manifest(ReadCsv(str(Path(path).parents[1]))))
    assert {key: dict(record.features) for key, record in records.items()} == {
        f"train/a/{name}": {
            "audio": Audio(file=FileRef(path=str(tmp_path / "train/a" / name))),
            "text": text,
        }
        for name, text in (("1.wav", "one"), ("2.mp3", "two"))
    }


@pytest.mark.slow
def test_vertex_rows_without_a_header(tmp_path, read_manifest, write, records_by_key):
    path = write(
        tmp_path / "v.csv",
        "TRAIN,gs://b/a.jpg,cat,0.1,0.2,,,0.3,0.4,,\nUNASSIGNED,/x/b.jpg,cat,.1,.2,,,.3,.4,,\n",
    )
    with pytest.raises(
        ConfigError, match=r"'gs://b/a\.jpg' is not the name of a column.*--column-names"
    ):
        read_manifest(ReadCsv(write(tmp_path / "h.csv", "TRAIN,gs://b/a.jpg,cat\n")))
    names = ["ml_use", "path", "label", "xmin", "ymin", "", "", "xmax", "ymax", "", ""]

    records = records_by_key(
        read_manifest(
            ReadCsv(
                path,
                column_names=names,
                box_format="rel_xyxy",
                allow_outside=["gs://b", "/x"],
            )
        )
    )

    record = records["gs://b/a.jpg"]
    assert record.split == "train"
    assert record.features["image"].file.path == "gs://b/a.jpg"
    assert record.features["boxes"] == Objects(
        boxes=((0.1, 0.2, 0.3, 0.4),), format="rel_xyxy", labels=("cat",)
    )
    assert records["/x/b.jpg"].split is None


def test_image_root_and_named_columns(tmp_path, read_manifest, write, others):
    path = write(tmp_path / "m.csv", "image, kind, part\nx/1.jpg, cat, a\n")
    source = ReadCsv(
        path,
        image_root=str(tmp_path / "images"),
        image_column="image",
        label_column="kind",
        split_column="part",
    )
    (record,) = read_manifest(source)
    assert (record.key, record.split, others(record)) == (
        "x/1.jpg",
        "a",
        {"label": ClassLabel("cat")},
    )
    assert record.features["image"].file.path == str(tmp_path / "images/x/1.jpg")


def test_images_that_are_not_there_are_told(tmp_path, read_manifest, caplog, write):
    path = write(tmp_path / "m.csv", "image_id,x\n1.jpg,2\n")
    (record,) = read_manifest(ReadCsv(path))
    assert record.features["image_id"] == "1.jpg"
    assert "in the input (see --image-root and --allow-outside): image_id" in caplog.text


def test_several_columns_of_one_kind(tmp_path, read_manifest, write, json_lines, records_by_key):
    for name in ("1.png", "mask/1.png", "left/1.npy"):
        write(tmp_path / name, "")
    remote, away = "gs://b/1.png", str(tmp_path / "mask/1.png")
    path = write(
        tmp_path / "m.jsonl",
        json_lines(
            {"image": "1.png", "mask": away, "left": "left/1.npy", "color": "red", "tags": ["a"]},
            {"image": remote, "mask": "../2.png", "left": "left/2.npy", "color": 3, "tags": []},
        ),
    )

    allowed = ["gs://b", str(tmp_path.parent)]
    elements = read_manifest(ReadJsonl(path, label_column="color,tags", allow_outside=allowed))

    first, second = records_by_key(elements)["1.png"], records_by_key(elements)[remote]
    assert first.features == {
        "image": Image(file=FileRef(path=str(tmp_path / "1.png"))),
        "mask": Image(file=FileRef(path=away)),
        "left": Array(file=FileRef(path=str(tmp_path / "left/1.npy"))),
        "color": ClassLabel("red"),
        "tags": ClassLabels(("a",)),
    }
    assert second.features["image"].file.path == remote
    assert second.features["mask"].file.path == str(tmp_path.parent / "2.png")
    assert second.features["tags"] == ClassLabels(())


def test_a_compressed_manifest(tmp_path, read_manifest, write, records_by_key):
    path = write(tmp_path / "m.csv.gz", gzip.compress(b"image,label\n1.jpg,a\n2.jpg,b\n"))
    assert sorted(records_by_key(read_manifest(ReadCsv(path)))) == ["1.jpg", "2.jpg"]


def test_a_table_goes_by_its_lines(tmp_path, read_manifest, write, records_by_key, rejects):
    path = write(
        tmp_path / "t.csv", 'x,y,note,x y,ß\r\n1,2,"a\r\nb",3,4\r\n\r\n5,6.5,,7,8\r\n1,x,,7,8,9\r\n'
    )
    elements = read_manifest(ReadCsv(path))
    records = records_by_key(elements)
    assert {key: (record.source, dict(record.features)) for key, record in records.items()} == {
        "t.csv:2": ("t.csv:2", {"x": 1, "y": 2.0, "note": "a\r\nb", "x y": 3, "ß": 4}),
        "t.csv:5": ("t.csv:5", {"x": 5, "y": 6.5, "note": "", "x y": 7, "ß": 8}),
    }
    assert list(rejects(elements)) == ["t.csv:6"]


def test_a_table_without_rows(tmp_path, read_manifest, write):
    assert read_manifest(ReadCsv(write(tmp_path / "t.csv", "x,y\n"))) == []


def test_a_long_field(tmp_path, read_manifest, write):
    numbers = list(range(100_000))
    (record,) = read_manifest(ReadCsv(write(tmp_path / "m.csv", f'x\n"{numbers}"\n')))
    long = record.features["x"]
    assert long.read(storage.read_bytes(long.file)).shape == (100_000,)


@pytest.mark.parametrize("kind", ["table", "images", "boxes", "json"])
def test_the_transform(tmp_path, write, json_lines, read_manifest, run_transform, kind):
    """Yields the same as its functions do without Beam, over several manifests."""
    for split in ("train", "test"):
        rows = [f"{split}{number % 7}.jpg,{number % 3},{number}" for number in range(40)]
        boxes = [f"{row},1,2,{number + 3},5" for number, row in enumerate(rows)]
        texts = {
            "table": "id,label,n\n" + "\n".join(rows) + "\nx,,\n",
            "images": "image,label,n\n" + "\n".join(rows) + "\n,,\n",
            "boxes": "image,label,n,xmin,ymin,xmax,ymax\n" + "\n".join(boxes) + "\n",
            "json": json_lines(*({"image": f"{n % 7}.jpg", "tokens": [n] * n} for n in range(40))),
        }
        write(tmp_path / f"{split}.{'jsonl' if kind == 'json' else 'csv'}", texts[kind])
    source = (ReadJsonl if kind == "json" else ReadCsv)(str(tmp_path))

    expected, found = read_manifest(source), run_transform(source)

    assert len(expected) == {"table": 82, "images": 82, "boxes": 14, "json": 80}[kind]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
