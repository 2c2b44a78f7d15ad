"""DICOM and NIfTI, which are not read: what each is called, what helps, and its first bytes.

Sources: DICOM PS3.10, section 7.1 (128 bytes, then "DICM"); NIfTI-1.1 and NIfTI-2, `magic`.
"""

import re

DICOM = (
    "DICOM",
    "write the pixels as PNG, 16 bits where they matter, or as .npy, for example with pydicom",
)
NIFTI = ("NIfTI", "write each volume or slice as .npy, for example with nibabel and numpy.save")
MAGIC = (
    (re.compile(rb".{128}DICM", re.DOTALL), *DICOM),
    (re.compile(rb"\x5c\x01\0\0.{340}(n\+1|ni1)\0", re.DOTALL), *NIFTI),
    (re.compile(rb"\x1c\x02\0\0(n\+2|ni2)\0", re.DOTALL), *NIFTI),
)
