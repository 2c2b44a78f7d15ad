"""A damaged input of any format is bad data: exit code 3, and a message that names the file."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from cases.inputs import workbook_parts
from file_bytes import arrow_bytes, image_bytes, parquet_bytes, tar_bytes, zip_bytes

from beam_pipeline import build
from beam_pipeline.errors import BeamTFRecordsError

NUMBERS = range(239, 639)
ROWS = pa.table({"a": NUMBERS, "b": [f"text {number}" for number in NUMBERS]})
CSV = "".join(f"{number},text {number}\n" for number in ["a", *NUMBERS]).encode()
IMAGES = {
    f"{number % 2}/{number}.png": image_bytes(
        np.random.default_rng(number).integers(0, 255, (40, 40, 3), np.uint8)
    )
    for number in range(8)
}
SHEET = [("Sheet", [["a", "b"], *([number, f"t{number}"] for number in NUMBERS)])]
FILES = {
    "m.parquet": parquet_bytes(
        ROWS,
        write_page_checksum=True,
        write_statistics=False,
        compression="none",
        use_dictionary=False,
    ),
    "m.arrow": arrow_bytes(ROWS, pa.ipc.new_file),
    "m.csv.gz": gzip.compress(CSV),
    "m.jsonl.gz": gzip.compress(b'{"a": 1}\n' * 400),
    "m.xlsx": zip_bytes({name: text.encode() for name, text in workbook_parts(SHEET).items()}),
    "m.zip": zip_bytes(IMAGES),
    "m.tar": tar_bytes(IMAGES),
    "m.tar.gz": gzip.compress(tar_bytes(IMAGES)),
}
CHECKED = FILES.keys() - {"m.arrow"}  # the others have checksums


def failure(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BeamTFRecordsError) as error:
        build(input=str(tmp_path / name), output=str(tmp_path / "output"), threads=1)
    assert name in str(error.value) or ".png" in str(error.value)
    return error.value


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_ends_early(tmp_path, name):
    assert failure(tmp_path, name, FILES[name][: len(FILES[name]) * 2 // 3]).exit_code == 3


@pytest.mark.parametrize("name", sorted(CHECKED))
def test_a_changed_byte(tmp_path, name):
    data = bytearray(FILES[name])
    data[len(data) // 2] ^= 1
    assert failure(tmp_path, name, bytes(data)).exit_code == 3


def test_a_changed_bit_in_a_page_of_parquet(tmp_path):
    number = (239).to_bytes(8, "little")
    changed = (239 | 1 << 24).to_bytes(8, "little")
    data = FILES["m.parquet"].replace(number, changed, 1)
    error = failure(tmp_path, "m.parquet", data)
    assert (error.exit_code, "CRC checksum verification failed" in str(error)) == (3, True)


def test_a_file_that_is_absent_is_wrong_usage(tmp_path):
    with pytest.raises(BeamTFRecordsError) as error:
        build(input=str(tmp_path / "m.zip"), output=str(tmp_path / "output"))
    assert error.value.exit_code == 2
