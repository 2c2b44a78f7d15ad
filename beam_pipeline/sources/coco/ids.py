"""Ids of COCO's files, and what images are called there."""

from collections.abc import Mapping
from typing import Any

from beam_pipeline.sources.malformed import malformed

# Of LVIS: the classes that an image has not, and those of which it may have more.
ID_LISTS = ("neg_category_ids", "not_exhaustive_category_ids")
_LARGEST = 1 << 62


def plain_id(value: Any) -> Any:
    """An id as a plain int where it is one: some tools write 17.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def ids_of(image: Mapping[str, Any], name: str) -> tuple[int, ...]:
    """The ids of categories that an image lists; none where it has no such list.

    Raises:
        RecordError: It lists something else.
    """
    stated = image.get(name) or []
    ids = [*map(plain_id, stated)] if isinstance(stated, list) else [stated]
    if wrong := [each for each in ids if type(each) is not int or abs(each) > _LARGEST]:
        raise malformed(f"{name} has {str(wrong[0])[:200]}, which is no id of a category")
    return tuple(ids)


def file_name(image: Any) -> str:
    """What an image is called; by its place in COCO where that alone is told, as LVIS does."""
    if not isinstance(image, dict) or not isinstance(image.get("id"), int | float | str):
        return ""
    name, url = image.get("file_name"), image.get("coco_url")
    if isinstance(name, str):
        return name
    return "/".join(url.split("/")[-2:]) if isinstance(url, str) and url.count("/") > 2 else ""
