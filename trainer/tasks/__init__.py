"""Tasks: inputs, target, and model."""

from trainer.tasks.choice import AUTO, TASKS, choose_task
from trainer.tasks.inputs import Settings
from trainer.tasks.task import Task

__all__ = ["AUTO", "TASKS", "Settings", "Task", "choose_task"]
