"""The steps of sources that pair files, as the pipeline runs them, in one process without Beam."""

import os
from collections.abc import Iterable
from typing import Any

from beam_pipeline.running.pickling import unpack
from beam_pipeline.sources.listing import FILES_PER_BUCKET, list_part, parts_of
from beam_pipeline.sources.voc import files as voc_files
from beam_pipeline.sources.voc import pairing as voc
from beam_pipeline.sources.yolo import files as yolo_files
from beam_pipeline.sources.yolo import pairing as yolo
from beam_pipeline.sources.yolo.config import YoloConfig

Group = tuple[int, list[bytes]]


def list_names(root: str, folders: Iterable[str] = ("",)) -> list[bytes]:
    """What `ListNames` yields."""
    parts = (part for top in map(os.fsencode, folders) for part in parts_of(top, root))
    return [batch for part in parts for batch in list_part(part, root)]


def group(pairs: Iterable[tuple[int, bytes]]) -> list[Group]:
    """What GroupByKey makes of (bucket, batch) pairs."""
    groups: dict[int, list[bytes]] = {}
    for bucket, batch in pairs:
        groups.setdefault(bucket, []).append(batch)
    return list(groups.items())


def voc_pairs(root: str, size: int = FILES_PER_BUCKET) -> list[Any]:
    """What `PairVocFiles` yields."""
    batches = list_names(root)
    profile = voc_files.merge_profiles(map(voc.look_into, batches))
    sets = voc.find_sets(profile, root)
    files = [item for batch in batches for item in voc.files_by_name(batch, profile, size)]
    names = group(files + list(voc.lists_by_name(sets, root, profile, size)))
    images = group(item for each in names for item in voc.by_image(each, root, profile, sets, size))
    paired = list(map(voc.pair, images))
    folders = voc.merge_folders(each.image_folders for each in paired)
    return [
        item for each in paired for batch in voc.complete(each, folders) for item in unpack(batch)
    ]


def yolo_pairs(config: YoloConfig, size: int = FILES_PER_BUCKET) -> list[Any]:
    """What `PairYoloFiles` yields."""
    origin = yolo_files.origin_of(config)
    batches = list_names(origin, yolo.folders_below(origin, config))
    number = sum(map(yolo.number_of, batches))
    files = [
        item
        for batch in batches
        for item in yolo.files_by_name(batch, number, origin, config, size)
    ]
    names = group(files + list(yolo.described(config, origin, number, size)))
    profile = yolo.checked(yolo_files.merge_profiles(map(yolo.look_into, names)), origin, config)
    return [
        item
        for each in names
        for batch in yolo.pair(each, profile, origin, config)
        for item in unpack(batch)
    ]
