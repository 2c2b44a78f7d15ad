"""Which files of a tree are COCO's, what they show, and the claim of the layout `coco`."""

import contextlib
import dataclasses
import re
from collections.abc import Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.problems import Problem
from beam_pipeline.sources.annotations.image_files import (
    NEXT_TO_IMAGES,
    AnnotationFile,
    annotation_file,
    below_base,
)
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.layout import Claim, Rank
from beam_pipeline.sources.paths import joined, stem, suffix, uncompressed
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import Tree
from tfrecord_dataset.format.split_names import split_of_name
from tfrecord_dataset.store.urls import unsigned

# What files show, by the name of its feature; "" of a test's, which show nothing.
BOXES, CLASSES, CAPTIONS, PANOPTIC, NOTHING = "boxes", "label", "captions", "segmentation", ""
UNKNOWN = "by the annotations"
_OTHER = ""
# How files begin, and what they show. Files of the first kind that is there are read: the others
# describe the same images otherwise.
_SHOWS = {
    NEXT_TO_IMAGES: BOXES,
    "instances": BOXES,
    "person_keypoints": BOXES,
    _OTHER: UNKNOWN,
    "stuff": BOXES,
    "panoptic": PANOPTIC,
    "captions": CAPTIONS,
}
_IMAGE_SET = re.compile("^(instances|person_keypoints|stuff|panoptic|captions|image_info)_")
# Lists of objects, which other files with "info" or "licenses" do not have; annotations of
# videos, and of the one image of a file, name no image by its id.
_IMAGES = re.compile(rb'"images"\s*:\s*\[\s*[{\]]')
_ANNOTATIONS = re.compile(rb'"annotations"\s*:\s*\[\s*(\]|\{[^\0]*?"image_id"\s*:)')
# The videos of YouTube-VIS have the names of their frames; annotations follow.
_VIDEOS = re.compile(rb'"videos"\s*:\s*\[\s*\{[^\0]*?"(file_names|annotations)"\s*:')
# Karpathy's lists of images begin as COCO's, but each image has its captions in it.
SENTENCES = re.compile(rb'"sentids"\s*:\s*\[|"sentences"\s*:\s*\[\s*\{\s*"(tokens|raw)"\s*:')
_FILES_LOOKED_INTO = 20
# LVIS describes 1,203 categories before its lists.
_START_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class CocoFile(AnnotationFile):
    """One of COCO's files.

    Attributes:
        shows: BOXES, CLASSES of whole images, CAPTIONS or PANOPTIC; UNKNOWN until its annotations
            are read.
        captions: The file of the captions of its images, which is read with it; "" for none.
        captions_of: Of a file of captions that is read with another, the other.
    """

    shows: str = UNKNOWN
    captions: str = ""
    captions_of: str = ""


def claim_coco(tree: Tree, config: BuildConfig) -> Claim | None:
    """JSON files with COCO's keys, in annotations/, at the top or one folder below."""
    is_named = config.layout == "coco"
    if tree.is_folder:
        reads = _chosen(tree, is_named)
    elif tree.is_file and suffix(uncompressed(unsigned(tree.input))) == "json":
        reads = [*tree.files()] if is_named or is_coco(tree.input) else []
    else:
        reads = []
    if not reads:
        return _claim_of_videos(tree)
    files = coco_files(tree.input, reads, config)
    what = ", ".join(map(_described, (file for file in files if not file.captions_of)))
    return Claim(
        layout="coco",
        rank=Rank.ANNOTATIONS,
        path=tree.input,
        reads=tuple(reads),
        understood=(("files", what),),
    )


def _claim_of_videos(tree: Tree) -> Claim | None:
    """Claim annotations of videos, which are not read, so that their frames are not classes."""
    path = next(filter(lambda each: _is_of_videos(tree.path(each)), _json_files(tree)), "")
    if not path or not tree.files_of("image"):
        return None
    facts = {
        "path": path,
        "what": "a COCO file of videos, without images",
        "remedy": "list the frames as its images (docs/from/convert.md), or leave it out with "
        "--ignore",
    }
    problem = Problem(code="format not read", facts=facts)
    return Claim(layout="coco", rank=Rank.TABLE, path=tree.input, reads=(path,), problem=problem)


def _is_of_videos(path: str) -> bool:
    with contextlib.suppress(RecordError):
        start = storage.read_start(path, _START_BYTES)
        return bool(_VIDEOS.search(start)) and not _IMAGES.search(start)
    return False


def _described(file: CocoFile) -> str:
    with_captions = f" with {file.captions}" if file.captions else ""
    return file.relative + (f" ({file.split})" if file.split else "") + with_captions


def is_coco(path: str) -> bool:
    """Whether a JSON file begins as COCO's do: an object with lists of images or annotations."""
    with contextlib.suppress(RecordError):
        start = storage.read_start(path, _START_BYTES)
        if SENTENCES.search(start):
            return False
        is_object = start.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] == b"{"
        return is_object and bool(_IMAGES.search(start) or _ANNOTATIONS.search(start))
    return False


def coco_files(path: str, reads: Sequence[str], config: BuildConfig) -> list[CocoFile]:
    """The files of a claim; files of captions follow those of boxes whose images they are of."""
    root, ignored = path, Ignored.of(config, path)
    if not storage.is_directory(path):
        root, relative = below_base(path)
        reads = [relative]
    files = [_coco_file(root, relative, config, ignored) for relative in reads]
    captions = {_image_set(file.relative): file for file in files if file.shows == CAPTIONS}
    others = [file for file in files if file.shows != CAPTIONS]
    if not others or len(reads) == 1:
        return files
    paired = [(other, captions.get(_image_set(other.relative))) for other in others]
    return [
        *(dataclasses.replace(each, captions=of.relative if of else "") for each, of in paired),
        *(dataclasses.replace(of, captions_of=each.relative) for each, of in paired if of),
    ]


def _coco_file(root: str, relative: str, config: BuildConfig, ignored: Ignored) -> CocoFile:
    file = annotation_file(
        root,
        relative,
        image_root=config.image_root,
        image_set=_image_set(relative),
        allowed=config.allow_outside,
        ignored=ignored,
    )
    known = {field.name: getattr(file, field.name) for field in dataclasses.fields(file)}
    return CocoFile(**known, shows=_SHOWS[_kind(relative)])


def _chosen(tree: Tree, is_named: bool) -> list[str]:
    """The files of the first kind; and captions, if those of all of their images are there."""
    candidates = _json_files(tree)
    kinds = {
        kind: [candidate for candidate in candidates if _kind(candidate) == kind] for kind in _SHOWS
    }
    for kind, found in kinds.items():
        files = found
        if not is_named or kind == _OTHER:
            files = [each for each in found[:_FILES_LOOKED_INTO] if is_coco(tree.path(each))]
        if not files:
            continue
        files = _without_unions(files)
        captions = {_image_set(each): each for each in kinds["captions"]}
        sets = [*map(_image_set, files)]
        if kind in ("instances", "person_keypoints") and captions.keys() >= {*sets}:
            files += [captions[each] for each in sets]
        return files
    return []


def _json_files(tree: Tree) -> list[str]:
    """JSON files in `annotations/` if there, else in the root or one folder below it."""
    folders = tree.first_folders()
    for among in ([name for name in folders if name.lower() == "annotations"], ["", *folders]):
        found = [
            joined(folder, name)
            for folder in among
            for name in tree.look(folder).files
            if suffix(name) == "json"
        ]
        if found:
            return sorted(found)
    return []


def _kind(relative: str) -> str:
    """What a file is by its name, one of `_SHOWS`."""
    name = name_of(relative)
    return next((show for show in _SHOWS if show != _OTHER and name.startswith(show)), _OTHER)


def _without_unions(files: list[str]) -> list[str]:
    """The files without that of trainval, if there are files of both of its parts."""
    splits = [(split_of_name(file) or "").lower() for file in files]
    is_union = {"train", "val"} <= {*splits}
    pairs = zip(files, splits, strict=True)
    return [file for file, split in pairs if not (is_union and split == "trainval")]


def _image_set(relative: str) -> str:
    """The images that a file is of: "train2017"."""
    return _IMAGE_SET.sub("", stem(relative))
