"""Options for checking and storing records, shared by all stages."""

import dataclasses
from typing import Literal

from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.images import ImageOptions
from tfrecord_dataset.format.feature import Feature

# Treatments of boxes that extend beyond the image.
POLICIES = ("clip", "drop", "error")
Policy = Literal["clip", "drop", "error"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Options for checking and storing records.

    Attributes:
        box_policy: Treatment of boxes that extend beyond the image.
        with_masks: Whether PNG masks of objects are stored; polygons always are.
        box_format: Format of boxes stated by the user; "" for the layout's.
        tokenizer: Path of the tokenizer for texts; "" for none.
        schema: Features declared by the user; empty if none.
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
