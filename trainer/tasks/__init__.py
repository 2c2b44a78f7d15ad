"""Tasks: inputs, target, and model."""

from trainer.tasks.choice import choose_task
from trainer.tasks.inputs import Settings
from trainer.tasks.task import Task

__all__ = ["Settings", "Task", "choose_task"]
