"""The classes of each feature in their order, where the user or the layout declares them."""

from beam_pipeline import kinds
from beam_pipeline.assign.statistics import Statistics
from beam_pipeline.errors import ConfigError, DataError
from beam_pipeline.kinds.observed import Observed
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.inference import is_label_key


def declared_classes(
    statistics: Statistics, given: tuple[str, ...], schema: tuple[Feature, ...] = ()
) -> dict[str, tuple[str, ...]]:
    """Class names in order by feature: those given by the user, else by the layout.

    Args:
        statistics: What the layout declares, and which classes there are.
        given: The names that the user gives for the classes of one feature.
        schema: What the user declares of the features, if anything.

    Raises:
        DataError: The layout's files give one number to two names.
    """
    names: dict[str, tuple[str, ...]] = {}
    for feature, numbered in statistics.declared.items():
        for number, texts in numbered.items():
            if len(texts) > 1:
                raise DataError(
                    f"class {number} of {feature!r} is called {' and '.join(sorted(texts))} in "
                    "different annotation files; make the files agree"
                )
        # Two numbers with one name are one class, at its first number.
        names[feature] = tuple(dict.fromkeys(min(numbered[n]) for n in sorted(numbered)))
    if given:
        labelled = [each.name for each in schema if kinds.named(each).has_classes] or [
            name for name, observed in statistics.features().items() if _has_classes(name, observed)
        ]
        main = [name for name in labelled if name == "label"] or labelled
        if len(main) != 1:
            raise ConfigError(
                "--labels (or --classes) orders the classes of one feature, but the data has "
                f"{', '.join(labelled) or 'none'}; leave it out, or declare them by --schema"
            )
        names[main[0]] = given
    return names


def _has_classes(name: str, observed: Observed) -> bool:
    """Whether values are classes; the numbers of existing Examples may be, by their key."""
    has_numbers = observed.lists is not None and observed.lists.has_classes
    return bool(observed.classes) or (has_numbers and is_label_key(name))
