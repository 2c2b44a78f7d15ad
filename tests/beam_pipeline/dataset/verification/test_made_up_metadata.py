"""Whatever somebody states in a metadata.json whose checksum is right, it only is named."""

import copy
import itertools
import json
import random
import shutil
from pathlib import Path

import pytest

import beam_pipeline
from beam_pipeline.cli.show import examples
from beam_pipeline.describe.record_text import as_text
from beam_pipeline.errors import BeamTFRecordsError
from tfrecord_dataset.sealed_json import sealed

VALUES = (None, True, -1, 0, 7, 1e300, 1 << 70, "", "x", "\0", [], [1], {}, {"a": 1}, [[]], ["x"])


def places(value, place=()):
    """The paths of all values in one another."""
    yield place
    inner = value.items() if isinstance(value, dict) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    for name, each in inner:
        yield from places(each, (*place, name))


def changed(value, place, new):
    """A copy with one value replaced, or left out."""
    value = copy.deepcopy(value)
    *above, last = place
    at = value
    for name in above:
        at = at[name]
    if new is DELETED:
        del at[last]
    else:
        at[last] = new
    return value


DELETED = object()


def try_all(directory, cases):
    """What raised something else than this project's errors."""
    raised = []
    for facts, case in cases:
        (directory / "metadata.json").write_text(sealed(facts))
        try:
            info = beam_pipeline.open(str(directory))
            beam_pipeline.verify(info)
            for _, example, _ in examples(info, None, 2):
                as_text(example, info.schema)
        except BeamTFRecordsError:
            pass
        except Exception as error:
            raised.append((case, repr(error)))
    return raised


@pytest.mark.parametrize(
    "count",
    [
        30,
        pytest.param(300, marks=pytest.mark.slow),
        pytest.param(None, marks=pytest.mark.nightly),
    ],
)
def test_any_value_anywhere(whole, tmp_path, count):
    directory = Path(shutil.copytree(whole, tmp_path / "copy"))
    facts = json.loads((directory / "metadata.json").read_text())
    facts.pop("checksum")
    cases = list(itertools.product(list(places(facts))[1:], (*VALUES, DELETED)))
    if count:
        cases = random.Random(0).sample(cases, count)
    assert try_all(directory, ((changed(facts, *case), case) for case in cases)) == []
