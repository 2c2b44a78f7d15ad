"""The kinds of targets."""

from collections.abc import Mapping
from types import MappingProxyType

from trainer.tasks.targets.boxes_target import BoxesTarget
from trainer.tasks.targets.class_targets import ManyClasses, MultiHot, OneClass
from trainer.tasks.targets.map_target import MapTarget
from trainer.tasks.targets.number_target import NumberTarget
from trainer.tasks.targets.target import PerExample, Row, Target

__all__ = [
    "TARGETS",
    "BoxesTarget",
    "ManyClasses",
    "MapTarget",
    "MultiHot",
    "NumberTarget",
    "OneClass",
    "PerExample",
    "Row",
    "Target",
]

# Add new kinds of targets here.
TARGETS: Mapping[str, type[Target]] = MappingProxyType(
    {
        each.kind: each
        for each in (BoxesTarget, ManyClasses, MapTarget, MultiHot, NumberTarget, OneClass)
    }
)
