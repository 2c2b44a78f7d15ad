"""How records are checked and stored: what every stage that touches a record goes by."""

import dataclasses
from typing import Literal

from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.image_options import ImageOptions
from tfrecord_dataset.format.feature import Feature

# What becomes of boxes that reach outside the image.
POLICIES = ("clip", "drop", "error")
Policy = Literal["clip", "drop", "error"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How records are checked and stored.

    Attributes:
        box_policy: What becomes of boxes that reach outside the image.
        with_masks: Whether PNG masks of objects are stored; polygons always are.
        box_format: The format of boxes that a user states; "" where the layout does.
        tokenizer: Path of the tokenizer that texts go through; "" for none.
        schema: What a user declared of the records; empty where nothing is.
        may_be_nan: Whether NaN stands for numbers that are missing.
        max_seconds: CPU time that a record may take.
        with_looks: Whether images are compared by what they look like.
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
