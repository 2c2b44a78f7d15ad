"""Data in forms that nothing reads is refused by name; what the refusals say helps was tried."""

import io
import pickle
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from cases.reading import records_of
from PIL import Image

from beam_pipeline.errors import ConfigError
from beam_pipeline.records import ClassLabel, Objects
from beam_pipeline.sources import detection

PAGE = Path(__file__).parents[3] / "docs" / "archives-and-arrays.md"


def cifar(number: int) -> bytes:
    """As CIFAR-10's batches are, of so many images."""
    pixels = np.arange(number * 3072, dtype=np.uint64).astype(np.uint8).reshape(number, 3072)
    return pickle.dumps({b"data": pixels, b"labels": [3, 5] * (number // 2)}, protocol=2)


def of_torch() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
    return buffer.getvalue()


def labels_of_flowers(path: Path) -> None:
    scipy.io.savemat(path, {"labels": np.array([[77, 3]], np.uint8)})
    for number in (1, 2):
        save_image(path.parent / f"jpg/image_{number:05}.jpg")


def boxes_of_cars(path: Path) -> None:
    fields = [(f"bbox_{side}", object) for side in ("x1", "y1", "x2", "y2")]
    rows = np.zeros((1, 2), [*fields, ("class", object), ("fname", object)])
    rows[0] = [(3, 4, 8, 9, 14, "00001.jpg"), (2, 2, 9, 5, 3, "00002.jpg")]
    scipy.io.savemat(path, {"annotations": rows})
    for number in (1, 2):
        save_image(path.parent / f"cars_train/{number:05}.jpg")


def save_image(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", (12, 10)).save(path)


FILES = {
    "cifar-10-batches-py/data_batch_1": (lambda: cifar(2), "a pickle"),
    "cifar-10-batches-py/batches.meta": (lambda: cifar(2), "a pickle"),
    "cifar-100-python/train": (lambda: cifar(2), "a pickle"),
    "x.pkl": (lambda: cifar(2), "a pickle"),
    "x.pickle": (lambda: pickle.dumps([1]), "a pickle"),
    "model.pt": (of_torch, "a file of PyTorch"),
    "x/data.mdb": (lambda: bytes(16) + b"\xde\xc0\xef\xbe" + bytes(80), "an LMDB"),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("is_folder", [True, False])
def test_what_is_refused_by_name(tmp_path, name, is_folder):
    make, what = FILES[name]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(make())
    (path.parent / "README").write_text("About it.")
    with pytest.raises(ConfigError, match=rf"{name} is {what}.*, and is not read: .*\(docs"):
        detection.detect(str(tmp_path if is_folder else path))


def test_other_files_of_these_names_are_no_pickles(tmp_path):
    (tmp_path / "x.pkl").write_bytes(b"no")
    with pytest.raises(ConfigError, match="cannot tell the layout"):
        detection.detect(str(tmp_path))


@pytest.fixture
def run_snippet(tmp_path, monkeypatch):
    """Runs the page's snippet of a file, which lies in `tmp_path`, as it stands."""

    def run(file):
        page = PAGE.read_text("utf-8").partition("## What is not read")[2]
        [snippet] = [each for each in page.split("```python\n")[1:] if file in each]
        monkeypatch.chdir(tmp_path)
        exec(compile(snippet.partition("```")[0], file, "exec"), {})

    return run


def test_what_the_page_says_of_cifar_helps(tmp_path, run_snippet):
    (tmp_path / "data_batch_1").write_bytes(cifar(4))
    run_snippet("data_batch_1")
    [made] = tmp_path.glob("*.npz")
    assert detection.detect(str(made)).layout.name == "arrays"
    assert np.load(made)["x"].shape[1:] == (32, 32, 3)


@pytest.mark.parametrize(
    ("file", "make", "name", "expected"),
    [
        ("imagelabels.mat", labels_of_flowers, "label", [ClassLabel("77"), ClassLabel("3")]),
        (
            "cars_train_annos.mat",
            boxes_of_cars,
            "boxes",
            [
                Objects(boxes=((3, 4, 8, 9),), labels=("14",)),
                Objects(boxes=((2, 2, 9, 5),), labels=("3",)),
            ],
        ),
    ],
)
def test_what_the_page_says_of_annotations_helps(tmp_path, run_snippet, file, make, name, expected):
    make(tmp_path / file)
    run_snippet(file)
    records = records_of(tmp_path)
    assert [each.features[name] for each in records] == expected


def test_the_command_makes_texts_of_files_without_a_suffix(tmp_path):  # 20 Newsgroups
    texts = {"ascii": b"a\n", "utf-8": "é\n".encode(), "cp1252": "’é\n".encode("cp1252")}
    for name, data in {**texts, "latin-1": b"\x81\n"}.items():
        (tmp_path / "two words").mkdir(exist_ok=True)
        (tmp_path / "two words" / name).write_bytes(data)
    with pytest.raises(ConfigError, match="texts without a suffix") as caught:
        detection.detect(str(tmp_path))
    subprocess.run(str(caught.value).partition(" by ")[2], shell=True, check=True)
    found = {path.stem: path.read_text("utf-8") for path in tmp_path.glob("two words/*.txt")}
    assert found == {"ascii": "a\n", "utf-8": "é\n", "cp1252": "’é\n", "latin-1": "\x81\n"}
    assert len([*tmp_path.rglob("*")]) == 5
