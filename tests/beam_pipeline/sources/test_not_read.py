"""Data in forms that nothing reads is refused by name; what the refusals say helps was tried."""

import io
import pickle
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io

from beam_pipeline.errors import ConfigError
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


def of_matlab() -> bytes:
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"x": np.eye(3)})
    return buffer.getvalue()


def of_matlab_7() -> bytes:
    """As MATLAB writes it: HDF5 behind 512 bytes of its own."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=512) as file:
        file["x"] = np.zeros((4, 2, 3))
    return b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512) + buffer.getvalue()[512:]


FILES = {
    "cifar-10-batches-py/data_batch_1": (lambda: cifar(2), "a pickle"),
    "cifar-10-batches-py/batches.meta": (lambda: cifar(2), "a pickle"),
    "cifar-100-python/train": (lambda: cifar(2), "a pickle"),
    "x.pkl": (lambda: cifar(2), "a pickle"),
    "x.pickle": (lambda: pickle.dumps([1]), "a pickle"),
    "model.pt": (of_torch, "a file of PyTorch"),
    "x/data.mdb": (lambda: bytes(16) + b"\xde\xc0\xef\xbe" + bytes(80), "an LMDB"),
    "imagelabels.mat": (of_matlab, "a file of MATLAB"),
    "depths.mat": (of_matlab_7, "a file of MATLAB 7.3"),
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


@pytest.mark.parametrize(
    ("file", "make", "size"),
    [
        ("data_batch_1", lambda: cifar(4), (32, 32, 3)),
        ("imagelabels.mat", of_matlab, (3,)),
        ("depths.mat", of_matlab_7, (2, 3)),
    ],
)
def test_what_the_page_says_helps(tmp_path, monkeypatch, file, make, size):
    """The snippets of the page, run as they stand, make files that are read."""
    page = PAGE.read_text("utf-8").partition("## What is not read")[2]
    [snippet] = [each for each in page.split("```python\n")[1:] if file in each]
    (tmp_path / file).write_bytes(make())
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet.partition("```")[0], file, "exec"), {})
    [made] = tmp_path.glob("*.npz")
    assert detection.detect(str(made)).layout.name == "arrays"
    assert np.load(made)["x"].shape[1:] == size
