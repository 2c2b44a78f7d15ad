"""The metrics by name: which value is better, and how values are shown.

Targets compute this package's metrics (`Target.metrics`, `Target.accumulators`); the metrics of
other packages and of the user are means over examples. Imports no TensorFlow.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from tfrecord_dataset import plugins
from tfrecord_dataset.shown_text import number_text
from trainer.errors import ConfigError, UnknownNameError
from trainer.task_kinds import TASK_KINDS

# The entry points by which other packages add metrics (docs/dev/own-source.md).
GROUP = "beam_tfrecords.metrics"
# Before the names of metrics: those of a validation, and of a trivial guess.
VALIDATION, GUESS = "val_", "baseline_"
_BY_CLASS = "/"  # before the class in the names of a metric by class


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A figure of a model over the records of a split.

    Attributes:
        name: Name in history.csv, messages, charts and `--best-by`.
        best: "min" if lower values are better, "max" if higher ones are; "" if that is unknown,
            or the metric ranks no models.
        unit: "share" for values in 0..1, "target" for the target's unit, else "".
        leads: Whether it is shown for the best model if `--best-by` is the loss.
        of_examples: Function from (target, outputs) to each example's value, float32 [b], whose
            mean is the metric; None if targets compute it.
        learns: Kinds of tasks, for `of_examples`.
    """

    name: str
    best: Literal["min", "max", ""] = ""
    unit: Literal["share", "target", ""] = ""
    leads: bool = False
    of_examples: Callable[[Any, Any], Any] | None = None
    learns: Sequence[str] = tuple(TASK_KINDS)

    def text(self, value: float) -> str:
        """Format a value: shares with four decimals, others with all digits of large ones."""
        is_long = self.unit != "share" and abs(value) >= 1000
        return number_text(value) if is_long else format(value, ".4f")

    @property
    def title(self) -> str:
        """Title of the metric's chart."""
        ways = {"min": "lower is better", "max": "higher is better", "": ""}
        return ", ".join(filter(None, (self.name, ways[self.best])))


# The first that leads is shown if a row of history.csv has several.
METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        each.name: each
        for each in (
            Metric(name="loss", best="min"),
            Metric(name="accuracy", best="max", unit="share", leads=True),
            Metric(name="f1", best="max", unit="share", leads=True),
            Metric(name="exact", best="max", unit="share"),
            Metric(name="auc", best="max", unit="share"),
            Metric(name="macro_f1", best="max", unit="share"),
            Metric(name="balanced_accuracy", best="max", unit="share"),
            Metric(name="threshold", unit="share"),
            Metric(name="mAP", best="max", unit="share", leads=True),
            Metric(name="mAP50", best="max", unit="share"),
            Metric(name="mAP75", best="max", unit="share"),
            Metric(name="F1", best="max", unit="share"),
            Metric(name="min_score", unit="share"),
            Metric(name="mIoU", best="max", unit="share", leads=True),
            Metric(name="pixel_accuracy", best="max", unit="share"),
            Metric(name="IoU", best="max", unit="share"),  # IoU/<class>
            Metric(name="mae", best="min", unit="target", leads=True),
            Metric(name="mse", best="min"),
            Metric(name="rmse", best="min", unit="target"),
            Metric(name="r2", best="max"),
        )
    }
)


def metric_named(name: str, added: Mapping[str, Metric] = MappingProxyType({})) -> Metric:
    """Return the metric of a column of history.csv.

    It is one of METRICS, perhaps of one class, or one of those that are `added`; else what is
    better is unknown.
    """
    name = name.removeprefix(VALIDATION).removeprefix(GUESS)
    return added.get(name) or METRICS.get(name.partition(_BY_CLASS)[0]) or Metric(name=name)


def is_by_class(name: str) -> bool:
    """Whether a column is a metric of one class."""
    return name.partition(_BY_CLASS)[0] in METRICS and _BY_CLASS in name


def added_metrics(names: Sequence[str], task_kind: str) -> dict[str, Metric]:
    """Return metrics of other packages by name.

    Raises:
        UnknownNameError: No package adds such a metric.
        ConfigError: A metric is for other tasks, or an entry point is unusable.
    """
    added = plugins.added(GROUP, Metric, METRICS) if names else {}
    for name in names:
        if name not in added:
            raise UnknownNameError("--metrics", name, added)
        if added[name].of_examples is None or task_kind not in added[name].learns:
            raise ConfigError(
                f"--metrics {name} is for {', '.join(added[name].learns)}, but the task is "
                f"{task_kind}; leave it out"
            )
    return {name: added[name] for name in names}
