"""The classes of ImageNet's validation images: a table, and the command that writes it."""

import pytest

from beam_pipeline.errors import ConfigError
from beam_pipeline.sources.folders.imagenet import read_classes


@pytest.mark.parametrize("row", ["a", "a,", "a,b,c"])
def test_a_line_that_is_none_of_the_table_is_named(tmp_path, row):
    path = tmp_path / "LOC_val_solution.csv"
    path.write_text(f"ImageId,PredictionString\nb,n01 1 2 3 4\n{row}\n")
    with pytest.raises(ConfigError, match=r"LOC_val_solution\.csv:3 is not"):
        read_classes(str(path))
