"""Well-known data sets are read with their splits and classes, or refused with a way out."""

import os
import re

import pytest
from eager_runner import yielded
from zoo.audio import AUDIO
from zoo.classification import CLASSIFICATION
from zoo.detection import DETECTION

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.records import ClassLabel, DeclaredClasses, Objects, Record, file_of
from beam_pipeline.sources.inputs import find_input, source_of

ZOO = CLASSIFICATION | DETECTION | AUDIO


def classes_of(element):
    if isinstance(element, DeclaredClasses):
        yield from element.names.values()
    for value in element.features.values() if isinstance(element, Record) else ():
        if isinstance(value, ClassLabel):
            yield value.name
        elif isinstance(value, Objects):
            yield from value.labels


@pytest.mark.parametrize("name", [name for name in ZOO if ZOO[name].error])
def test_what_is_refused(make_tree, name):
    root = make_tree(ZOO[name].texts())
    with pytest.raises(ConfigError) as raised:
        find_input(BuildConfig(input=root))
    assert re.search(ZOO[name].error, str(raised.value))


@pytest.mark.parametrize("name", [name for name in ZOO if ZOO[name].layout])
def test_what_is_read(make_tree, tmp_path, name):
    data_set = ZOO[name]
    root = make_tree(data_set.texts())
    config = BuildConfig(input=root)
    found = find_input(config)
    assert found.layout.name == data_set.layout
    assert found.path == f"{root}/{data_set.inside}".rstrip("/")
    if data_set.layout in ("tar", "arrays"):  # nothing in the files to read
        return
    elements = yielded(source_of(config, found, str(tmp_path / "scratch")))
    assert {each.split for each in elements if isinstance(each, Record)} == data_set.splits
    assert {name for each in elements for name in classes_of(each)} == data_set.classes
    for record in (each for each in elements if isinstance(each, Record)):
        assert os.path.isfile(next(filter(None, map(file_of, record.features.values()))).path)


def test_it_is_a_zoo():
    assert len(ZOO) >= 40
