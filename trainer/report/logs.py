"""Speed of a training by step, from its TensorBoard logs."""

from collections.abc import Mapping
from pathlib import Path

Line = list[tuple[float, float]]

_NAMES = {
    "learning_rate": "learning rate",
    "images_per_s": "images/s",
    "records_per_s": "records/s",
    "waiting_for_input": "waiting for input, as a share of the time",
}
_MOST_VALUES = 2_000  # per tag, sampled


class PaceLogs:
    """The logs in `RUN/logs/train`; each `read` reads what is new."""

    def __init__(self, folder: Path) -> None:
        from tensorboard.backend.event_processing import event_accumulator  # takes 0.4 s

        sizes = {event_accumulator.TENSORS: _MOST_VALUES}
        self._events = event_accumulator.EventAccumulator(str(folder), size_guidance=sizes)

    def read(self, steps_per_epoch: float) -> Mapping[str, Line]:
        """Read points (epochs done, value) by title."""
        import tensorflow as tf

        self._events.Reload()
        known = self._events.Tags()["tensors"]
        return {
            title: [
                (event.step / steps_per_epoch, float(tf.make_ndarray(event.tensor_proto)))
                for event in self._events.Tensors(name)
            ]
            for name, title in _NAMES.items()
            if name in known
        }
