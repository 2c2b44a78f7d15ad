"""Well-known data sets are read with their splits and classes, or refused with a way out."""

import os
import re

import pytest
from without_beam import list_names, side_pairs, voc_pairs, yolo_pairs
from zoo.audio import AUDIO
from zoo.classification import CLASSIFICATION
from zoo.detection import DETECTION

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.records import ClassLabel, DeclaredClasses, Objects, Record, file_of
from beam_pipeline.sources.coco.read import ReadCoco
from beam_pipeline.sources.folders.profile import merge_profiles
from beam_pipeline.sources.folders.read import checked, look_into, records_of
from beam_pipeline.sources.inputs import find_input
from beam_pipeline.sources.kitti import KittiFiles
from beam_pipeline.sources.labelme import LabelMeFiles
from beam_pipeline.sources.side_files.read import read_pairs
from beam_pipeline.sources.voc.layout import VocFiles
from beam_pipeline.sources.yolo.files import YoloFiles, origin_of
from beam_pipeline.sources.yolo.layout import read_config

ZOO = CLASSIFICATION | DETECTION | AUDIO


def in_folders(root):
    batches = list_names(root)
    profiles = checked(merge_profiles(look_into(batch, None) for batch in batches), root, None)
    return [each for batch in batches for each in records_of(batch, root, None, profiles)]


def in_voc(root):
    return list(read_pairs(voc_pairs(root), VocFiles(), root))


def in_kitti(root):
    return list(read_pairs(side_pairs(KittiFiles(), root), KittiFiles(), root))


def in_labelme(root):
    return list(read_pairs(side_pairs(LabelMeFiles(), root), LabelMeFiles(), root))


def in_yolo(root):
    config = read_config(root)
    origin = origin_of(config)
    return list(read_pairs(yolo_pairs(config), YoloFiles(origin, config), origin))


# What a source yields; without a pipeline around, which would take most of the time.
READERS = {
    "folders": in_folders,
    "voc": in_voc,
    "yolo": in_yolo,
    "kitti": in_kitti,
    "labelme": in_labelme,
}


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
def test_what_is_read(make_tree, run_transform, name):
    data_set = ZOO[name]
    root = make_tree(data_set.texts())
    found = find_input(BuildConfig(input=root))
    assert found.layout.name == data_set.layout
    assert found.path == f"{root}/{data_set.inside}".rstrip("/")
    if data_set.layout in ("tar", "arrays"):  # nothing in the files to read
        return
    read = READERS.get(data_set.layout, lambda root: run_transform(ReadCoco(root)))
    elements = read(found.path)
    assert {each.split for each in elements if isinstance(each, Record)} == data_set.splits
    assert {name for each in elements for name in classes_of(each)} == data_set.classes
    for record in (each for each in elements if isinstance(each, Record)):
        assert os.path.isfile(next(filter(None, map(file_of, record.features.values()))).path)


def test_it_is_a_zoo():
    assert len(ZOO) >= 40
