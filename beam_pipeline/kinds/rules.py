"""Options by which records are checked and stored, for every stage that touches a record."""

import dataclasses
from typing import Literal

from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.image_options import ImageOptions
from tfrecord_dataset.format.feature import Feature

# Treatments of boxes that reach outside the image.
POLICIES = ("clip", "drop", "error")
Policy = Literal["clip", "drop", "error"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Options by which records are checked and stored.

    Attributes:
        box_policy: Treatment of boxes that reach outside the image.
        with_masks: Whether PNG masks of objects are stored; polygons always are.
        box_format: The format of boxes that a user states; "" for the layout's.
        tokenizer: Path of the tokenizer for texts; "" for none.
        schema: Features that a user declares; empty if none.
        may_be_nan: Whether NaN marks a missing number.
        max_seconds: CPU time that a record may take.
        with_looks: Whether images are compared by their perceptual hashes.
    """

    image: ImageOptions = dataclasses.field(default_factory=ImageOptions)
    audio: AudioOptions = dataclasses.field(default_factory=AudioOptions)
    box_policy: Policy = "clip"
    with_masks: bool = False
    box_format: str = ""
    tokenizer: str = ""
    schema: tuple[Feature, ...] = ()
    may_be_nan: bool = False
    max_seconds: float = 60.0
    with_looks: bool = False
