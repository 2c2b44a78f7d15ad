"""The steps of sources that pair files, as the pipeline runs them, in one process without Beam."""

import os
from collections.abc import Iterable
from typing import Any

from beam_pipeline.running.pickling import unpack
from beam_pipeline.sources.listing import FILES_PER_BUCKET, list_part, parts_of
from beam_pipeline.sources.side_files import read
from beam_pipeline.sources.side_files.files import SideFiles
from beam_pipeline.sources.side_files.pairing import merge_folders, merge_surveys
from beam_pipeline.sources.voc.layout import VocFiles
from beam_pipeline.sources.yolo.config import YoloConfig
from beam_pipeline.sources.yolo.files import YoloFiles, folders_below, origin_of

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


def side_pairs(
    files: SideFiles, root: str, folders: Iterable[str] = ("",), size: int = FILES_PER_BUCKET
) -> list[Any]:
    """What `ReadSideFiles` reads: Pair, Rejected, DeclaredClasses."""
    batches = list_names(root, folders)
    survey = files.surveyed(merge_surveys(read.look_into(each, files) for each in batches), root)
    sent = [item for batch in batches for item in read.files_by_name(batch, survey, size)]
    names = group(sent + list(read.lists_by_name(survey, files, root, size)))
    if files.naming:
        known = (each for name in names for each in read.by_image(name, files, root, survey, size))
        paired = [read.pair_images(bucket, files) for bucket in group(known)]
    else:
        paired = [read.pair_names(bucket, files, root, survey) for bucket in names]
    settled = files.settled(merge_folders(each.folders for each in paired), root)
    judged = (batch for each in paired for batch in read.judge(each, files, survey, settled))
    return [item for batch in judged for item in unpack(batch)]


def voc_pairs(root: str, size: int = FILES_PER_BUCKET) -> list[Any]:
    """What `ReadVoc` pairs."""
    return side_pairs(VocFiles(), root, size=size)


def yolo_pairs(config: YoloConfig, size: int = FILES_PER_BUCKET) -> list[Any]:
    """What `ReadYolo` pairs."""
    origin = origin_of(config)
    return side_pairs(YoloFiles(origin, config), origin, folders_below(origin, config), size)
