"""`open` of each package refuses values that are not paths."""

import pytest

import beam_pipeline
import tfrecord_dataset
import trainer
from tfrecord_dataset.errors import ConfigError


@pytest.mark.parametrize("package", [beam_pipeline, tfrecord_dataset, trainer])
@pytest.mark.parametrize("value", [5, None, b"data/cells", "", [], [3]])
def test_what_is_not_a_path_is_refused_in_words(package, value):
    with pytest.raises(
        ConfigError, match="is not a path; give the path of a dataset's folder or files"
    ):
        package.open(value)
