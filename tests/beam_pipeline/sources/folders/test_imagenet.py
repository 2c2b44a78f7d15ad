"""The classes of ImageNet's validation images: a table, and the command that writes it."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from cases.inputs import make
from eager_runner import yielded

from beam_pipeline.cli import commands
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.records import Record
from beam_pipeline.sources.folders.imagenet import read_classes
from beam_pipeline.sources.inputs import find_input, source_of

CASE = Path(__file__).parents[3] / "cases" / "zoo" / "imagenet-ground-truth-of-the-kit"


def test_the_command_that_a_refusal_names_writes_a_table_that_is_read(tmp_path, capsys):
    scipy_io = pytest.importorskip("scipy.io")
    root = tmp_path / "of the kit"
    make(CASE / "input", root)
    kit = root / "ILSVRC2012_devkit_t12" / "data"
    synsets = np.array(
        [(1, "n01440764"), (2, "n01443537")],
        dtype=[("ILSVRC2012_ID", "f8"), ("WNID", "O")],
    )
    scipy_io.savemat(kit / "meta.mat", {"synsets": synsets})
    config = BuildConfig(input=str(root))
    with pytest.raises(ConfigError) as refused:
        find_input(config)
    command = re.search(r" by (python .*) \(it needs", str(refused.value))[1]
    *words, into, table = shlex.split(command)
    assert (*words[:3], into) == ("python", "-m", "beam_pipeline", ">")

    assert commands.main(words[3:]) == 0
    Path(table).write_text(capsys.readouterr().out)

    found = find_input(config)
    records = [each for each in yielded(source_of(config, found, "")) if isinstance(each, Record)]
    labels = {each.key[-6:]: each.features["label"].name for each in records if each.split == "val"}
    assert labels == {"1.JPEG": "n01443537", "2.JPEG": "n01440764"}


@pytest.mark.parametrize("row", ["a", "a,", "a,b,c"])
def test_a_line_that_is_none_of_the_table_is_named(tmp_path, row):
    path = tmp_path / "LOC_val_solution.csv"
    path.write_text(f"ImageId,PredictionString\nb,n01 1 2 3 4\n{row}\n")
    with pytest.raises(ConfigError, match=r"LOC_val_solution\.csv:3 is not"):
        read_classes(str(path))
