"""Every flipped bit of every file of a dataset is found, and its file is named."""

import random
import shutil

import pytest


@pytest.mark.slow
def test_flipped_bits_are_found(whole, found, files, tmp_path):
    rng = random.Random(1)
    dataset = shutil.copytree(whole, tmp_path / "copy")
    paths = [path for path in files(dataset) if (dataset / path).stat().st_size]
    assert len(paths) >= 20
    missed = []
    for number in range(200):
        path = paths[number % len(paths)]
        data = (dataset / path).read_bytes()
        bit = rng.randrange(8 * len(data))
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        (dataset / path).write_bytes(changed)
        said = found(dataset)
        if not said or not all(path in line for line in said):
            missed.append((path, bit, said))
        (dataset / path).write_bytes(data)
    assert missed == []
    assert found(dataset) == []
