"""DICOM and NIfTI: told by their names or first bytes, and refused by name.

Sources: DICOM PS3.10, section 7.1 (128 bytes, then "DICM"); NIfTI-1.1 and NIfTI-2, `magic`.
"""

import re
from collections.abc import Iterable

_DICOM = (
    "DICOM",
    "write the pixels as PNG, 16 bits where they matter, or as .npy, for example with pydicom",
)
_NIFTI = ("NIfTI", "write each volume or slice as .npy, for example with nibabel and numpy.save")
_OF_NAMES = (
    (re.compile(r"\.(dcm|dicom|dic)$", re.IGNORECASE), *_DICOM),
    (re.compile(r"\.nii(\.gz)?$", re.IGNORECASE), *_NIFTI),
)
MAGIC = (
    (re.compile(rb".{128}DICM", re.DOTALL), *_DICOM),
    (re.compile(rb"\x5c\x01\0\0.{340}(n\+1|ni1)\0", re.DOTALL), *_NIFTI),
    (re.compile(rb"\x1c\x02\0\0(n\+2|ni2)\0", re.DOTALL), *_NIFTI),
)
SUFFIXES = frozenset({"dcm", "dicom", "dic", "nii"})


def refusal(paths: Iterable[str]) -> str:
    """Why files of these names are not read, and what helps; "" where none is of such a format."""
    for path in paths:
        for pattern, name, remedy in _OF_NAMES:
            if pattern.search(path):
                return f"{path} is {name}, which is not read: {remedy}"
    return ""
