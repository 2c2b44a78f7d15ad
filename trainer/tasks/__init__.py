"""Tasks: inputs, target, and model."""

from trainer.tasks.choice import choose_task
from trainer.tasks.task import Task

__all__ = ["Task", "choose_task"]
