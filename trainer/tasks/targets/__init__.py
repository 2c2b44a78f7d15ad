"""The kinds of targets."""

from collections.abc import Mapping
from types import MappingProxyType

from trainer.tasks.targets.boxes import BoxesTarget
from trainer.tasks.targets.classes import ManyClasses, MultiHot, OneClass
from trainer.tasks.targets.maps import MapTarget
from trainer.tasks.targets.numbers import NumberTarget
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
