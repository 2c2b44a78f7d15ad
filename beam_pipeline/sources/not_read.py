"""Forms in which data lies that nothing here reads: told by name, with what helps."""

import re
import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources import text_forms
from beam_pipeline.sources.as_tables import making
from beam_pipeline.sources.paths import suffix
from beam_pipeline.sources.table_forms import form_of
from beam_pipeline.sources.tree import head

_LOOKED_INTO = 20
_TEXT = re.compile(rb"[^\0-\x08\x0e-\x1f]+")
# What is no UTF-8 is Windows-1252, or else Latin-1, which all bytes are.
_AS_TEXT = shlex.quote(
    '{ iconv -f UTF-8 -t UTF-8 "$1" > "$1.txt" 2> /dev/null '
    '|| iconv -f CP1252 -t UTF-8 "$1" > "$1.txt" 2> /dev/null '
    '|| iconv -f LATIN1 -t UTF-8 "$1" > "$1.txt"; } && rm "$1"'
)
_OF_BYTES = re.compile(
    r"(^|/)(data_batch_\d|test_batch|train|test|(train|test|unlabeled)_[Xy])\.bin$"
)
_DOCS = "docs/archives-and-arrays.md#what-is-not-read"


class _Form(NamedTuple):
    what: str
    remedy: str
    is_called: Callable[[str], bool]
    begins: re.Pattern[bytes] = re.compile(b"")


def _suffixes(*suffixes: str) -> Callable[[str], bool]:
    return lambda path: suffix(path) in suffixes


def _may_be_pickled(path: str) -> bool:
    """CIFAR's are called data_batch_1, batches.meta, train, test."""
    name = path.rpartition("/")[2]
    return suffix(path) in ("pkl", "pickle", "pt", "pth", "meta", "") or "batch" in name


_FORMS = (
    _Form(
        "a pickle, which may run any program when it is read",
        "load it where you trust it, save its arrays by numpy.savez, and give the .npz",
        _may_be_pickled,
        re.compile(rb"\x80[\x02-\x05]"),
    ),
    _Form(
        "a file of PyTorch, a pickle in a zip, which may run any program when it is read",
        "load it where you trust it, save its arrays by numpy.savez, and give the .npz",
        _suffixes("pt", "pth", "pkl"),
        re.compile(rb"PK\x03\x04"),
    ),
    _Form(
        "an LMDB, whose values are whatever its writer made of them",
        "write them as files in folders of their classes, as a .jsonl table, or as a tar",
        _suffixes("mdb", "lmdb"),
        re.compile(rb".{16}\xde\xc0\xef\xbe", re.DOTALL),
    ),
    _Form(
        "RecordIO of MXNet",
        "write its images as files in folders of their classes, by mxnet.recordio.unpack_img",
        _suffixes("rec"),
        re.compile(rb"\x0a\x23\xd7\xce"),
    ),
    _Form(
        "bytes of an array without its shape, as those of CIFAR and STL-10",
        "read it by numpy.fromfile, and save its arrays by numpy.savez, and give the .npz",
        lambda path: _OF_BYTES.search(path) is not None,
    ),
    _Form(
        "a video",
        "write its frames as images, in a folder of its name, by ffmpeg -i a.avi a/%05d.jpg",
        _suffixes("mp4", "avi", "mov", "mkv", "webm", "mpg", "m4v"),
    ),
    _Form(
        "a video of Caltech's pedestrians, or its boxes",
        "write its frames as images and its boxes as COCO's JSON or Pascal VOC's XML",
        _suffixes("seq", "vbb"),
    ),
    _Form(
        "an article with its highlights, as those of CNN and Daily Mail",
        "write all as a .jsonl table, with the columns text and summary",
        _suffixes("story"),
    ),
    _Form(
        "an archive that nothing here unpacks",
        "unpack it, such as by bsdtar -xf, and give its folder",
        _suffixes("rar", "7z"),
        re.compile(rb"Rar!|7z\xbc\xaf"),
    ),
    _Form(
        "a table of Weka or of time series",
        "write its rows as CSV, for example with scipy.io.arff or sktime, and DataFrame.to_csv",
        _suffixes("arff", "ts"),
        re.compile(rb"(?i)([#%][^\n]*\s+|\s+)*@(relation|problemname)\b"),
    ),
    _Form(
        "a table of a program of statistics",
        "write it as CSV or Parquet, for example with pandas",
        _suffixes("sav", "dta", "sas7bdat", "rds"),
    ),
    _Form(
        "a recording of EEG or the like",
        "write its signals as .npy, for example with mne or pyedflib and numpy.save",
        _suffixes("edf", "bdf", "fif", "gdf"),
    ),
    _Form(
        "a scan of MetaImage",
        "write each as .npy, for example with SimpleITK and numpy.save",
        _suffixes("mhd", "mha"),
        re.compile(rb"(ObjectType|NDims)\b"),
    ),
    _Form(
        "a recording of WFDB",
        "write each as .npy, for example with wfdb.rdsamp and numpy.save",
        _suffixes("hea"),
    ),
    _Form(
        "a mesh",
        "write its points as .npy, in a folder of its class",
        _suffixes("off", "obj", "ply", "stl"),
        re.compile(rb"(CO)?OFF|ply|solid|[#vo] "),
    ),
)


def refuse_not_read(root: str, files: Sequence[str]) -> None:
    """Raises ConfigError where files of a known form lie where no layout was found.

    Args:
        root: What the paths are relative to; "" where they are not.
        files: The paths.
    """
    if problem := known_form(root, files):
        raise ConfigError(problem)
    if root:
        _refuse_forms(root, files)
        _refuse_texts(root, files)


def known_form(root: str, files: Sequence[str]) -> str:
    """What the first file of a known form is, and what helps; "" where there is none."""
    likely = [path for path in files if any(form.is_called(path) for form in _FORMS)]
    for path in likely[:_LOOKED_INTO]:
        whole = storage.join(root, path) if root else path
        start = head(whole)
        for form in _FORMS:
            if form.is_called(path) and form.begins.match(start):
                return f"{whole} is {form.what}, and is not read: {form.remedy} ({_DOCS})"
    return ""


def _refuse_forms(root: str, files: Sequence[str]) -> None:
    """Raises ConfigError where texts are of a form of which a table is made."""
    for path in [path for path in files if suffix(path) not in ("md", "py")][:_LOOKED_INTO]:
        if form := form_of(text_forms.FORMS, root, path, files):
            made = making(storage.join(root, form.table), root, storage.join(root, path))
            raise ConfigError(
                f"{path} {form.what}: make a table of all such files by {made}, and give that"
            )


def _refuse_texts(root: str, files: Sequence[str]) -> None:
    """Raises ConfigError where files in folders have no suffix and hold text, as newsgroups."""
    nameless = [path for path in files if not suffix(path) and "/" in path]
    starts = [head(storage.join(root, path)) for path in nameless[:_LOOKED_INTO]]
    if len(nameless) * 2 > len(files) and all(map(_TEXT.fullmatch, starts)):
        command = (
            f"find {shlex.quote(root)} -type f ! -name '*.*' -exec sh -c {_AS_TEXT} - {{}} ';'"
        )
        raise ConfigError(
            f"{root} holds texts without a suffix, such as {nameless[0]}: call them .txt, in "
            f"UTF-8, by {command}"
        )
