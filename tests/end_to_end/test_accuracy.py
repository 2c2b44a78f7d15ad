"""What the defaults reach, as docs/measurements.md states it."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

_CELLS = Path(__file__).parents[2] / "examples/data/cells"


def _handwritten_digits(folder):
    """scikit-learn's 1,797 digits of 8 x 8 pixels, as arrays."""
    from sklearn import datasets  # of `scikit_learn`

    digits = datasets.load_digits()
    np.savez(folder / "digits.npz", x=digits.images.astype(np.float32), label=digits.target)
    return folder / "digits.npz"


def _cells_in_parquet(folder):
    """The blood cells in row groups of 50, as Hugging Face stores images."""
    rows = [
        {"image": {"bytes": path.read_bytes(), "path": path.name}, "label": path.parent.name}
        for path in sorted(_CELLS.glob("*/*.jpg"))
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "cells.parquet", row_group_size=50)
    return folder / "cells.parquet"


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("make_input", "task", "num_records", "least"),
    [
        pytest.param(_handwritten_digits, "array_classification", 342, 0.96, id="digits"),
        pytest.param(lambda folder: _CELLS, "classification", 126, 0.95, id="blood cells"),
        pytest.param(_cells_in_parquet, "classification", 126, 0.95, id="the same in Parquet"),
    ],
)
def test_the_defaults_reach_what_the_page_states(
    make_input, task, num_records, least, command, tmp_path, scikit_learn
):
    split = ["--split", "train=0.8,test=0.2"]
    built = command(
        *("beam_pipeline", "build", make_input(tmp_path), *split, "--output", "data"), cwd=tmp_path
    )
    assert built.returncode == 0, built.stderr
    data = built.stdout.split()[-1]

    trained = command(
        "trainer", "train", "--data", data, "--output", "run", "--seed", "0", cwd=tmp_path
    )
    assert trained.returncode == 0, trained.stderr
    assert f"task {task}" in trained.stderr

    evaluated = command("trainer", "evaluate", "--data", data, "--run", "run", cwd=tmp_path)
    result = json.loads(evaluated.stdout)
    assert result["num_records"] == num_records
    assert result["accuracy"] >= least
