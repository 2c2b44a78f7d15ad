"""The layout `labelstudio`: tasks of Label Studio, exported as JSON, JSON-MIN or CSV.

Source of the format: https://labelstud.io/guide/export. Coordinates are percentages of the
image; rotations are clockwise about the upper left corner.
"""

import functools
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from beam_pipeline.sources.annotations.item_files import (
    Item,
    ItemFormat,
    label_of,
    layout_of,
    listed,
)
from beam_pipeline.sources.annotations.shapes import (
    Shapes,
    as_object,
    corners_of,
    members,
    number,
    numbers_at,
    stated_size,
)
from beam_pipeline.sources.json_items import JsonSign, csv_rows
from beam_pipeline.sources.paths import has_image_suffix
from beam_pipeline.sources.rejects import malformed

_LABELS = re.compile(r"(\w*)labels")
_UPLOADS = ("data/upload/", "data/local-files/", "media/upload/", "upload/")
_ABOVE = re.compile(r"(\.{0,2}/)*")  # the start of paths to the server's files


def parse_task(stated: Any, shapes: Shapes) -> Item:
    choices, task = list[str](), as_object(stated)
    is_whole = isinstance(task.get("data"), dict)
    for result in _results(task, shapes.left) if is_whole else _of_min(task):
        if result.get("type") == "relation":
            shapes.left.append("relation")
            continue
        (value,) = members(result, value=dict)
        if isinstance(value.get("choices"), list):
            choices += ("" if each is None else str(each) for each in value["choices"])
        else:
            shapes.left += _add(shapes, value, result)
    features, notes = shapes.parsed()
    if choices:
        features = {"label": label_of(choices), **(features if len(shapes) else {})}
    return Item(_image(task["data"] if is_whole else task), features, notes)


def _rows(path: str) -> Iterator[tuple[str, Any]]:
    """Yield the rows of a CSV with the members of JSON-MIN as columns."""
    return ((f"row {place}", row) for place, row in enumerate(csv_rows(path), start=1))


def _results(task: Mapping[str, Any], left: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the results of the first finished annotation; note the others in `left`."""
    (annotations,) = members(task, annotations=list)
    finished = [each for each in map(as_object, annotations) if not each.get("was_cancelled")]
    left += ["annotation of another"] * (len(finished) - 1)
    for annotation in finished[:1]:
        yield from map(as_object, *members(annotation, result=list))


def _of_min(members: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the results of JSON-MIN, whose members have the names of the project's tags."""
    for name, value in members.items():
        if isinstance(value, list):
            shapes = [each for each in value if isinstance(each, dict)]
            yield from ({"value": shape, **shape} for shape in shapes)
        elif name == "choice" and value:
            stated = value.get("choices") if isinstance(value, dict) else [value]
            yield {"value": {"choices": stated}}


def _add(shapes: Shapes, value: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[str]:
    """Add a shape; yield the names of what is not kept."""
    kind, labels = next(
        ((match[1], value[name]) for name in value if (match := _LABELS.fullmatch(name))), ("", [])
    )
    is_labelled = isinstance(labels, list) and bool(labels)
    if kind not in ("rectangle", "polygon", "keypoint") or not is_labelled:
        yield str(kind or result.get("type") or "shape without label")
        return
    yield from ["second label"] * (len(labels) - 1)
    size = stated_size(result.get("original_width"), result.get("original_height"))
    if size is None:
        raise malformed("a shape without original_width and original_height")
    shapes.size = size
    across, down = number(size.width) / 100, number(size.height) / 100
    label = labels[0] or ""
    if kind == "keypoint":
        x, y = numbers_at(value, "x", "y")
        shapes.loose_points(label, (x * across, y * down), _text(result, "parentID"))
        return
    if kind == "polygon":
        corners = corners_of(value.get("points"))
        ring = [corner * (down if at % 2 else across) for at, corner in enumerate(corners)]
        shapes.polygon(label, [ring])
    else:
        x, y, width, height = numbers_at(value, "x", "y", "width", "height")
        box = (x * across, y * down, (x + width) * across, (y + height) * down)
        turn = number(value.get("rotation") or 0, "rotation")
        shapes.box(label, box, degrees=turn, about=box[:2])
    shapes.group(_text(result, "id"))


def _text(result: Mapping[str, Any], name: str) -> str | None:
    said = result.get(name)
    return said if isinstance(said, str) and said else None


def _image(said: Mapping[str, Any]) -> str:
    """Path of the image below the upload folder, the bucket or the host."""
    for text in (each for each in said.values() if isinstance(each, str)):
        try:
            parts = urllib.parse.urlsplit(text)
        except ValueError:  # an invalid URL, such as "http://["
            continue
        inner = urllib.parse.parse_qs(parts.query).get("d", [parts.path])[0]
        path = urllib.parse.unquote(inner if "?" in text or parts.scheme else text)
        path = _ABOVE.sub("", path, count=1)
        if has_image_suffix(path):
            return next((path[len(at) :] for at in _UPLOADS if path.startswith(at)), path)
    raise malformed(
        "a task without an image; tasks of texts and audio are read as a table: export them as CSV"
    )


# A list of tasks; in JSON-MIN, a list of objects with the values of each image.
_JSON = ItemFormat(
    suffix="json",
    sign=JsonSign(
        "[{(completed_by|annotation_id)",
        "[{*[{(completed_by|rectanglelabels|polygonlabels)",
        "[{*[{result[",
    ),
    item=parse_task,
    stated=functools.partial(listed, noun="task"),
)
_CSV = ItemFormat(
    suffix="csv",
    sign=re.compile(
        rb"\A[^\n]*\bannotation_id\b[^\n]*\blead_time\b[^\0]*\.(jpe?g|png|bmp|webp|gif)\b", re.I
    ),
    item=parse_task,
    stated=_rows,
)
_SIGN = "Label Studio's JSON or JSON-MIN next to its images"
LAYOUT = layout_of("labelstudio", _SIGN, _JSON, _CSV, takes_points=True)
