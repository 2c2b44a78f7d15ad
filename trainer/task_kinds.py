"""The kinds of tasks that `--task` names.

Targets, models and metrics refer to them. Imports no TensorFlow.
"""

from collections.abc import Mapping
from types import MappingProxyType

CLASSIFICATION, REGRESSION = "classification", "regression"
DETECTION, SEGMENTATION = "detection", "segmentation"

# What a model predicts, by kind of task.
TASK_KINDS: Mapping[str, str] = MappingProxyType(
    {
        CLASSIFICATION: "a class",
        REGRESSION: "a number",
        DETECTION: "boxes",
        SEGMENTATION: "the class of each pixel",
    }
)
