"""A dataset is found by its directory, or by a parent directory."""

import shutil
from pathlib import Path

import pytest
from testdata.make_golden import GOLDEN

import beam_pipeline
import tfrecord_dataset
from beam_pipeline.dataset.opening import find_dataset
from beam_pipeline.dataset.opening import open as open_dataset


def committed(*directories: Path) -> None:
    for directory in directories:
        directory.mkdir(parents=True)
        (directory / "metadata.json").write_text("{}")


@pytest.mark.parametrize("at", ["", "cells", "cells/1.9.0"])
def test_the_newest_version_is_found(tmp_path, at):
    committed(tmp_path / "cells/1.2.0", tmp_path / "cells/1.10.0", tmp_path / "cells/1.9.0")
    (tmp_path / "cells/2.0.0").mkdir()  # of an unfinished build
    expected = "1.9.0" if at.endswith("1.9.0") else "1.10.0"
    assert find_dataset(str(tmp_path / at)) == str(tmp_path / "cells" / expected)


def test_what_a_notebook_shows():
    shown = repr(open_dataset(str(GOLDEN)))
    assert shown == f"<Dataset {GOLDEN}: 3 in test, 7 in train>"
    table = open_dataset(str(GOLDEN))._repr_html_()
    assert "<td>train</td>" in table
    assert table == tfrecord_dataset.open(GOLDEN)._repr_html_()


def test_paths_may_be_pathlibs(tmp_path):
    dataset = shutil.copytree(GOLDEN, tmp_path / "golden")

    assert beam_pipeline.open(dataset) == beam_pipeline.open(str(dataset))
    assert beam_pipeline.verify(dataset) == []
    assert beam_pipeline.read_schema(dataset / "metadata.json")
    assert not beam_pipeline.diff(dataset, GOLDEN)
    page = beam_pipeline.write_report(dataset, tmp_path / "page")
    assert page == str(tmp_path / "page/report.html")
    (dataset / "metadata.json").unlink()
    assert beam_pipeline.adopt(dataset).path == str(dataset)
