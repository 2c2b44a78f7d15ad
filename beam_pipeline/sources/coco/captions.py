"""COCO's captions, several an image, of a file of their own or with another of the same images."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from beam_pipeline.records import composed
from beam_pipeline.running.pickling import crosses
from beam_pipeline.sources.coco.files import CocoFile
from beam_pipeline.sources.coco.ids import file_name, plain_id
from beam_pipeline.sources.gather import Entry
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.nesting import items
from beam_pipeline.sources.references import name_of


@crosses
class CocoCaption(NamedTuple):
    """A caption of an image.

    Attributes:
        source: Which annotation it is, for messages.
        text: As it is stated.
    """

    source: str
    text: str


@crosses
class CaptionedImage(NamedTuple):
    """What a file of captions, which is read with another file, calls one of its images.

    Attributes:
        source: Which image it is, for messages.
        name: Its own, without folders.
    """

    source: str
    name: str


def captioned_images(file: CocoFile) -> Iterator[Entry]:
    """The images of a file of captions on their way to those of the other file."""
    for number, image in enumerate(items(file.path, "images")):
        if name := file_name(image):
            image_id = plain_id(image["id"])
            value = CaptionedImage(
                f"{file.relative}: image {image_id}", name_of(name.replace("\\", "/"))
            )
            yield Entry(f"{file.captions_of}\0{image_id}", (1, number), value)


def caption_entry(file: CocoFile, number: int, annotation: Mapping[str, Any]) -> Entry:
    """A caption on its way to its image.

    Raises:
        RecordError: The annotation has none.
    """
    text = annotation.get("caption")
    if not isinstance(text, str):
        raise malformed(f"has no caption: {str(annotation)[:200]}")
    source = f"{file.relative}: annotation {annotation.get('id', f'number {number}')}"
    key = f"{file.captions_of or file.relative}\0{plain_id(annotation['image_id'])}"
    return Entry(key, (2, number), CocoCaption(source, text))


def captions_of(path: str, values: Sequence[Any]) -> tuple[str, ...]:
    """The captions of an image in the order of its file, without blank ones.

    Args:
        path: Of the image.
        values: What files say of it.

    Raises:
        RecordError: The files call the image by different names.
    """
    own = composed(name_of(path))
    for value in values:
        if isinstance(value, CaptionedImage) and composed(value.name) != own:
            raise malformed(
                f"{value.source} is {value.name}, so its captions are of another image; leave the "
                "file of captions out by --ignore, or give the images the same ids"
            )
    captions = (value.text for value in values if isinstance(value, CocoCaption))
    return tuple(text for text in captions if text.strip())
