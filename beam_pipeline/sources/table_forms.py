"""Files that say more of images or audio than a table does, and the rows that each becomes.

What has several files beside each other, such as one an image, becomes one table of all of them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from beam_pipeline.files import storage
from beam_pipeline.media.matlab import structs_of
from beam_pipeline.sources import box_forms, mask_forms
from beam_pipeline.sources.annotation_formats import SIGNS
from beam_pipeline.sources.paths import below, media_kind, stem
from beam_pipeline.sources.references import name_of, parent
from beam_pipeline.sources.table_rows import (
    Files,
    Row,
    of_corners,
    of_fractions,
    read_json,
    read_lines,
    read_text,
    with_boxes,
)
from beam_pipeline.sources.tree import head
from tfrecord_dataset.split_names import split_in_name

_WORDS = 4  # of a sentence
_ML_USE = "aiplatform.googleapis.com/ml_use"
_FIRST_KEY = re.compile(rb'\A\s*\{\s*"([^"\\]+)"\s*:\s*(?:"|\d+\s*[,}]|\[\s*"|\{)')
_SPOKEN = re.compile(r"(\S+)[ \t]+(?!https?://)\S")
_LINES_LOOKED_AT = 10
# ICDAR's words: four corners, and of MLT a script; of 2013 and CVAT two corners and quotes.
_OF_CORNERS = 8
_WORD = re.compile(r"((?:-?\d+ *, *){8}|(?:-?\d+[ ,\t]+){4})(.*)")
_SCRIPTS = frozenset(
    {"Arabic", "Bangla", "Chinese", "Hindi", "Japanese", "Korean", "Latin", "Mixed", "None"}
    | {"Symbols"}
)


def _ground_truth_of_sagemaker(files: Files, path: str) -> Iterator[Row]:
    for each in read_lines(path):
        row: Row = {"image": files.find(each["source-ref"])}
        for name, value in each.items():
            if (said := each.get(f"{name}-metadata")) is None:
                continue
            names = said.get("class-map", {})
            if isinstance(value, dict):
                sides = itemgetter("left", "top", "width", "height")
                found = value["annotations"]
                boxes = [(sides(box), names[str(box["class_id"])]) for box in found]
                row |= with_boxes(row["image"], boxes)
            else:
                row["label"] = said.get("class-name") or sorted(names.values())
        yield row


def _icdar(files: Files, path: str) -> Iterator[Row]:
    def split_of(path: str) -> str:
        return "test" if "test" in path.lower() else "train"

    images = {(stem(p), split_of(p)): p for p in files.paths if media_kind(p) == "image"}
    has_splits = len({split for _, split in images}) > 1
    for each in files.paths:
        if re.fullmatch(r"gt_.*\.txt", name_of(each)):
            boxes = []
            for line in read_text(files.path(each)).removeprefix("\ufeff").splitlines():
                if not (found := _WORD.match(line)):
                    continue
                numbers = [*map(int, re.split("[ ,\t]+", found[1].strip(" ,\t")))]
                xs, ys = numbers[::2], numbers[1::2]
                script, _, word = found[2].partition(",")
                is_told = script in _SCRIPTS and len(numbers) == _OF_CORNERS
                text = word if is_told else found[2]
                if len(numbers) < _OF_CORNERS:
                    text = text.strip().removeprefix('"').removesuffix('"')
                box = of_corners(min(xs), min(ys), max(xs), max(ys))
                boxes.append((box, script if is_told else "text", text))
            split = split_of(each)
            image = images[stem(each).removeprefix("gt_"), split]
            yield with_boxes(image, boxes, split if has_splits else None, texts=True)


def _fgvc_aircraft(files: Files, path: str) -> Iterator[Row]:
    for split in ("train", "val", "test"):
        for line in read_text(below(parent(path), f"images_variant_{split}.txt")).splitlines():
            name, _, variant = line.partition(" ")
            yield {"image": files.find(name), "label": variant, "split": split}


def _vertex_ai(files: Files, path: str) -> Iterator[Row]:
    for each in read_lines(path):
        image = files.find(each["imageGcsUri"])
        split = each.get("dataItemResourceLabels", {}).get(_ML_USE, "")
        if (found := each.get("boundingBoxAnnotations")) is None:
            label = each["classificationAnnotation"]["displayName"]
            yield {"image": image, "split": split, "label": label}
        else:
            size, corners = files.size(image), itemgetter("xMin", "yMin", "xMax", "yMax")
            boxes = [(of_fractions(size, *corners(box)), box["displayName"]) for box in found]
            yield with_boxes(image, boxes, split)


def _by_name(files: Files, path: str) -> Iterator[Row]:
    alike = files.called_as(path)
    for each in alike:
        stated = read_json(files.path(each))
        first, value = next(iter(stated.items()))
        is_caption = isinstance(value, str) and len(value.split()) >= _WORDS
        kind = media_kind(files.find(first))
        split = split_in_name(name_of(parent(each))) if len(alike) > 1 else None
        row: Row = {"split": split} if split else {}
        for name, said in stated.items():
            told = said if isinstance(said, dict) else {"caption" if is_caption else "label": said}
            yield row | {kind: files.find(name)} | told


def _transcripts(files: Files, path: str) -> Iterator[Row]:
    alike = files.called_as(path)
    for line in (line for each in alike for line in read_text(files.path(each)).splitlines()):
        name, *said = line.split(None, 1) or [""]
        if said and (audio := files.find(name)) != name:
            yield {"audio": audio, "transcript": said[0].strip()}


def _imagenet(files: Files, path: str) -> Iterator[Row]:
    synsets = structs_of(below(parent(path), "meta.mat"), "synsets")
    names = {int(each["ILSVRC2012_ID"]): str(each["WNID"]) for each in synsets}
    for at, number in enumerate(read_text(path).split(), 1):
        yield {"ImageId": f"ILSVRC2012_val_{at:08d}", "PredictionString": names[int(number)]}


class Form(NamedTuple):
    """Files of one form.

    Attributes:
        what: What is said of one.
        rows: Makes them of all files below a folder and of the path of one.
        begins: How it begins.
        is_called: Of its name.
        table: What the table is called.
        is_told: Whether what it begins with tells it, of (its path, that, the files beside it).
    """

    what: str
    rows: Callable[[Files, str], Iterator[Row]]
    begins: re.Pattern[bytes]
    is_called: re.Pattern[str] = re.compile(r".*\.json")
    table: str = "boxes.jsonl"
    is_told: Callable[[str, bytes, Sequence[str]], bool] = lambda *_: True


def form_of(forms: Sequence[Form], root: str, path: str, files: Sequence[str]) -> Form | None:
    """What a table is made of by the form of a file; None if it is of none of `forms`.

    Args:
        forms: What it may be.
        root: The folder that paths are relative to.
        path: Of the file.
        files: Those beside it.
    """
    start, name = head(storage.join(root, path)), name_of(path)
    called_so = (form for form in forms if form.is_called.fullmatch(name))
    of_start = (form for form in called_so if form.begins.search(start))
    return next((form for form in of_start if form.is_told(path, start, files)), None)


def _names_a_file(path: str, start: bytes, files: Sequence[str]) -> bool:
    """Whether the first key is the name of a file of these, or one without a suffix."""
    name = _FIRST_KEY.match(start)[1].decode(errors="replace")  # type: ignore[index]
    return bool(media_kind(name)) or any(media_kind(each) and stem(each) == name for each in files)


def _is_of_audio(path: str, start: bytes, files: Sequence[str]) -> bool:
    """Whether each line is a name and more, of which some name audio."""
    lines = start.decode(errors="replace").splitlines()[:_LINES_LOOKED_AT]
    names = {found[1] for line in lines if (found := _SPOKEN.match(line))}
    audio = {stem(each) for each in files if media_kind(each) == "audio"}
    return len(names) == len(lines) and not names.isdisjoint(audio)


FORMS = (
    Form(
        "is a manifest of SageMaker Ground Truth",
        _ground_truth_of_sagemaker,
        re.compile(rb'\A\s*\{[^\n]*"source-ref"\s*:'),
        re.compile(r".*\.(manifest|jsonl|json)"),
    ),
    Form(
        "has the corners and the text of each word, as ICDAR's files do, which become upright "
        "boxes with their texts",
        _icdar,
        re.compile(rb"\A(?:\xef\xbb\xbf)?(?:(?:-?\d+ ?,){8}|(?:-?\d+[ ,\t]+){4}\")"),
        re.compile(r"gt_.*\.txt"),
    ),
    Form(
        "is one of FGVC-Aircraft's lists of classes",
        _fgvc_aircraft,
        re.compile(rb"\A\d+ \S"),
        re.compile(r"images_variant_\w+\.txt"),
        "variants.csv",
    ),
    Form(
        "has SpaceNet's polygons in pixels, which become masks",
        mask_forms.spacenet,
        re.compile(rb"\A[^\n]*\bPolygonWKT_Pix\b"),
        re.compile(r".*\.csv"),
        "masks.csv",
    ),
    Form(
        "is Vertex AI's",
        _vertex_ai,
        re.compile(rb'"(boundingBoxAnnotations|classificationAnnotation)"\s*:'),
        re.compile(r".*\.jsonl"),
    ),
    Form(
        "is Google AutoML's",
        box_forms.automl,
        re.compile(rb"\A[A-Z]+,gs://[^,\n]+,"),
        re.compile(r".*\.csv"),
    ),
    Form(
        "has the boxes of NWPU VHR-10, whose classes are numbers",
        box_forms.nwpu,
        re.compile(rb"\A\(\d+, *\d+\), *\(\d+, *\d+\), *\d"),
        re.compile(r".*\.txt"),
    ),
    Form(
        "has the landmarks of an image, as 300-W's files do",
        box_forms.landmarks,
        re.compile(rb"\Aversion: *\d"),
        re.compile(r".*\.pts"),
        "landmarks.jsonl",
    ),
    *(
        Form(f"is of {name}", rows, SIGNS[name], re.compile(rf".*\.{ending}"), table)
        for name, rows, ending, table in (
            ("Hasty", box_forms.hasty, "json", "boxes.jsonl"),
            ("Encord", box_forms.encord, "json", "boxes.jsonl"),
            ("Kili", box_forms.kili, "json", "boxes.jsonl"),
            ("Scale", box_forms.scale, "json", "boxes.jsonl"),
            ("Datumaro", box_forms.datumaro, "json", "boxes.jsonl"),
            ("V7 Darwin", box_forms.darwin, "json", "boxes.jsonl"),
            ("SuperAnnotate", box_forms.superannotate, "json", "boxes.jsonl"),
            ("Azure ML", box_forms.azure_ml, "jsonl", "boxes.jsonl"),
            ("RectLabel", box_forms.rectlabel, "json", "boxes.jsonl"),
            ("Edge Impulse", box_forms.edge_impulse, "labels", "boxes.jsonl"),
            ("FiftyOne", box_forms.fiftyone, "json", "boxes.jsonl"),
            ("Labelbox", box_forms.labelbox, "(json|jsonl|ndjson)", "boxes.jsonl"),
            ("TT100K", box_forms.tt100k, "json", "boxes.jsonl"),
            ("HRSC2016", box_forms.hrsc, "xml", "boxes.jsonl"),
            ("COCO-Text or TextOCR", box_forms.coco_text, "json", "words.jsonl"),
            ("xView", box_forms.xview, "geojson", "boxes.jsonl"),
            ("DeepFashion2", box_forms.deepfashion2, "json", "boxes.jsonl"),
            ("FUNSD", box_forms.funsd, "json", "texts.jsonl"),
        )
    ),
    # What the names of the files beside tell.
    Form(
        "has what is said of each file by its name",
        _by_name,
        _FIRST_KEY,
        re.compile(r"(?i).*\.json"),
        "labels.jsonl",
        _names_a_file,
    ),
    Form(
        "has the transcripts of the audio",
        _transcripts,
        re.compile(rb"\A\S+[ \t]+\S"),
        re.compile(r"(?i:.*\.(txt|tsv))|text"),  # Kaldi's
        "transcripts.csv",
        _is_of_audio,
    ),
)
# Of which the folders' layout tells: its table is read with class folders.
OF_IMAGENET = Form(
    "has the classes of ILSVRC's validation images",
    _imagenet,
    re.compile(rb"\A\d+\s"),
    re.compile("ILSVRC2012_validation_ground_truth.txt"),
    "LOC_val_solution.csv",
)
# Of a tree of maps.
OF_MASKS = Form(
    "has a mask for each object of one image",
    mask_forms.of_objects,
    re.compile(b""),
    table="objects.csv",
)
