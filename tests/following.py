"""A small model, and a follower of training loops."""

import keras
import numpy as np

from trainer.training.loop import metric_names


def linear(*_):
    """Make a linear model of the mean color of images of 16 x 16 pixels, for three classes."""
    return keras.Sequential(
        [keras.Input((16, 16, 3)), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(3)]
    )


class Follower:
    """Collects the metrics of each epoch."""

    is_asked_to_end = False
    sees_steps = False

    def __init__(self, plan, epochs):
        self.step = epochs.start * plan.steps_per_epoch
        self.history = []
        self._plan = plan
        self._last_step = epochs.stop * plan.steps_per_epoch
        self._sums = np.zeros(len(metric_names(plan.task)))

    @property
    def is_done(self):
        return self.step >= self._last_step

    def steps_to_event(self):
        return self._plan.steps_per_epoch - self.step % self._plan.steps_per_epoch

    def begin(self):
        pass

    def advance(self, done):
        self.step += done.steps
        self._sums += done.sums
        if self.step % self._plan.steps_per_epoch == 0:
            count = self._plan.steps_per_epoch * self._plan.batch_size
            names = metric_names(self._plan.task)
            row = dict(zip(names, (self._sums / count).tolist(), strict=True))
            self.history.append((self.step // self._plan.steps_per_epoch - 1, row))
            self._sums[:] = 0
