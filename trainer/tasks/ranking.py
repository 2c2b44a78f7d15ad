"""AUC: how well the probabilities of a class rank the records that have it above the others."""

from typing import Any

import numpy as np

from trainer.tasks.figures import Accumulator, Arrays

# Records are counted by the logit of their probability, in steps: so memory does not grow with
# records, and probabilities near 0 and 1, of which a sure model has many, stay apart.
_LEAST_LOGIT, _LARGEST_LOGIT = -88.0, 18.0  # float32 has no probability nearer to 0 or 1
_MOST_STEPS = 1 << 17
_MOST_COUNTS = 1 << 22


class AreaUnderCurve(Accumulator):
    """The area under the ROC curve of each class against the others, and their mean.

    It is the chance that a record with the class gets a higher probability of it than one without;
    probabilities whose logits are within 0.001 count as equal, of over 32 classes within more.
    """

    def __init__(self, num_classes: int) -> None:
        self._steps = max(2, min(_MOST_STEPS, _MOST_COUNTS // max(1, num_classes)))
        shape = (num_classes, self._steps)
        self._members = np.zeros(shape, np.int64)
        self._others = np.zeros(shape, np.int64)

    def update(self, target: Any, predictions: Arrays) -> None:
        """Adds records.

        Args:
            target: Class numbers [b], or 0 and 1 for each class [b, classes].
            predictions: `probabilities` [b, classes].
        """
        probabilities = np.asarray(predictions["probabilities"], np.float64)
        target = np.asarray(target)
        classes = np.arange(probabilities.shape[1])
        is_member = target[:, None] == classes if target.ndim == 1 else target > 0.5
        with np.errstate(divide="ignore"):
            logits = np.log(probabilities) - np.log1p(-probabilities)
        logits = np.clip(np.nan_to_num(logits), _LEAST_LOGIT, _LARGEST_LOGIT)  # NaN: diverged
        shares = (logits - _LEAST_LOGIT) / (_LARGEST_LOGIT - _LEAST_LOGIT)
        steps = np.minimum((shares * self._steps).astype(np.int64), self._steps - 1)
        columns = np.broadcast_to(classes, steps.shape)
        np.add.at(self._members, (columns[is_member], steps[is_member]), 1)
        np.add.at(self._others, (columns[~is_member], steps[~is_member]), 1)

    @property
    def by_class(self) -> list[float]:
        """Of each class; NaN where no record has it, or every one."""
        return [
            area_under_curve(*counts) for counts in zip(self._members, self._others, strict=True)
        ]

    def result(self) -> dict[str, float]:
        """`auc`: the mean over the classes that have one; of two classes both have the same."""
        known = [area for area in self.by_class if not np.isnan(area)]
        return {"auc": float(np.mean(known)) if known else float("nan")}


def area_under_curve(members: Any, others: Any) -> float:
    """AUC of the ROC curve, from counts of records by rising probability: [steps] each.

    Records in the same step count as half. NaN without members or others.
    """
    below = np.cumsum(others) - others
    pairs = float(members.sum()) * float(others.sum())
    return float((members * (below + others / 2)).sum() / pairs) if pairs else float("nan")
