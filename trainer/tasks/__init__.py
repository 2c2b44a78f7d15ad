"""The tasks by name, and the choice among them by a dataset's schema."""

from collections.abc import Mapping

from trainer.errors import ConfigError, UnknownNameError
from trainer.features import Feature
from trainer.tasks.classification import Classification
from trainer.tasks.task import Task

# A new task is a new line here, and in `_suited`.
TASKS = {Classification.name: Classification}
AUTO = "auto"


def choose_task(
    name: str, features: Mapping[str, Feature], target: str | None = None
) -> tuple[Task, str]:
    """The task called `name` on `features`, and why it is this one.

    Args:
        name: A key of `TASKS`, or "auto" to go by the kinds of the features.
        features: The dataset's.
        target: The feature to learn, where there are several.

    Raises:
        UnknownNameError: No such task, or no such target.
        ConfigError: The features do not suit the task, or, by "auto", any task.
    """
    if name != AUTO:
        if name not in TASKS:
            raise UnknownNameError("task", name, [AUTO, *TASKS])
        return TASKS[name].from_features(features, target), "--task says so"
    kinds = {feature.kind for feature in features.values()}
    if {"image", "class_label"} <= kinds:
        task = Classification.from_features(features, target)
        return task, (
            f"the dataset has an image {task.image!r} and a class label {task.target!r} "
            f"with {len(task.classes)} classes"
        )
    found = ", ".join(f"{feature.name} ({feature.kind})" for feature in features.values())
    raise ConfigError(
        f"no task suits the dataset's features: {found}; there is classification, which "
        "needs an image and a class_label"
    )
