"""Formats that nothing here reads: identified by suffix, each with a remedy in one line."""

from collections.abc import Iterable

from beam_pipeline.problems import Problem
from beam_pipeline.sources.paths import suffix, uncompressed

_TO_NPZ = "load it where you trust it, and save its arrays with numpy.savez"
_TO_TABLE = "write it as CSV or Parquet, for example with pandas"
# What a format is and what helps, by suffix.
_FORMATS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("pkl", "pickle", "pt", "pth"), ("a pickle, which may run code", _TO_NPZ)),
    **dict.fromkeys(("mdb", "lmdb"), ("an LMDB", "write its values as files in class folders")),
    "rec": ("MXNet's RecordIO", "write its images as files in class folders"),
    **dict.fromkeys(
        ("mp4", "avi", "mov", "mkv", "webm", "mpg", "m4v"),
        ("a video", "write its frames as images in a folder of its name, for example with ffmpeg"),
    ),
    **dict.fromkeys(("rar", "7z", "lz4", "lzma", "lz", "z"), ("an archive", "unpack it")),
    "mat": (
        "a file of MATLAB",
        "load it with scipy.io.loadmat, and save its arrays with numpy.savez",
    ),
    **dict.fromkeys(("arff", "sav", "dta", "sas7bdat", "rds"), ("a table", _TO_TABLE)),
    **dict.fromkeys(("edf", "bdf", "fif", "gdf", "hea"), ("a recording", _TO_NPZ)),
    **dict.fromkeys(
        ("dcm", "dicom", "dic"),
        (
            "DICOM",
            "write the pixels as PNG, 16 bits where they matter, or as .npy, for example with "
            "pydicom",
        ),
    ),
    "nii": (
        "NIfTI",
        "write each volume or slice as .npy, for example with nibabel and numpy.save",
    ),
    **dict.fromkeys(("mhd", "mha", "off", "obj", "ply", "stl"), ("a scan or mesh", _TO_NPZ)),
}


def format_problem(paths: Iterable[str]) -> Problem | None:
    """Why the first file of a known format is not read; None if there is none."""
    for path in paths:
        if known := _FORMATS.get(suffix(uncompressed(path))):
            what, remedy = known
            return Problem(
                code="format not read", facts={"path": path, "what": what, "remedy": remedy}
            )
    return None
