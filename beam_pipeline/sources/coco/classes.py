"""Classes of whole images in COCO's form, as iNaturalist, Herbarium and camera traps have them."""

from collections.abc import Sequence

from beam_pipeline.errors import RecordError
from beam_pipeline.records import ClassLabel
from beam_pipeline.sources.coco.segmentation import NOTHING
from beam_pipeline.sources.coco.stream import CocoAnnotation, CocoImage
from beam_pipeline.sources.malformed import malformed


def class_of(image: CocoImage, annotations: Sequence[CocoAnnotation]) -> ClassLabel:
    """The class that the annotations of an image state.

    Raises:
        RecordError: There is none, or several, or an annotation cannot be used.
    """
    if not annotations:
        raise RecordError("no annotation", "no annotation states its class, as those of others do")
    for each in annotations:
        if each.bbox or each.segmentation != NOTHING:
            raise malformed(
                f"{image.key}: annotation {each.annotation_id} has a box, where the file's first "
                "states the class of a whole image; keep those of one kind"
            )
        if each.category is None:
            raise malformed(f"{image.key}: category {repr(each.category_id)[:200]} is not declared")
    classes = sorted({str(each.category) for each in annotations})
    if classes[1:]:
        raise RecordError(
            "several classes",
            f"it is of {' and '.join(classes[:2])}; write a table (docs/manifests.md)",
        )
    return ClassLabel(classes[0])
