"""Classes by name: one or any number per record."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.errors import DataError
from beam_pipeline.kinds import tfds_features
from beam_pipeline.kinds.kind import Checked, Kind, Names, Stored, check_text, values
from beam_pipeline.kinds.observed import Observed
from beam_pipeline.kinds.wording import between, count_classes
from beam_pipeline.records import ClassLabel, ClassLabels, composed
from tfrecord_dataset.format.example import FeatureValue
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.feature_keys import Lists, ListSpec

_Classes = ClassLabel | ClassLabels


class LabelKind(Kind[_Classes]):
    """Classes, with names in Unicode's form NFC: both encodings of "é" are the same name."""

    values = (ClassLabel, ClassLabels)
    features = ("class_label",)
    types = ("class_label", "class_labels")
    by_column = True
    dtypes = ("int64",)
    may_lack = True
    has_classes = True

    def check_column(self, name: str, values: Sequence[_Classes]) -> Checked[_Classes]:
        named = list(map(self.class_names, values))
        checked = {names: composed_names(name, tuple(names)) for names in set(named)}
        if all(names == stated for stated, names in checked.items()):
            return values, 8
        if isinstance(values[0], ClassLabel):
            return [ClassLabel(*checked[names]) for names in named], 8
        return [ClassLabels(checked[names]) for names in named], 8

    def class_names(self, value: Any, feature: Feature | None = None) -> Sequence[str]:
        if isinstance(value, ClassLabel):
            return (value.name,)
        if isinstance(value, ClassLabels):
            return value.names
        if feature is None or not isinstance(value, int):
            return ()
        number = value - feature.label_offset
        return feature.classes[number : number + 1] if number >= 0 else ()

    def group(self, value: _Classes) -> str | None:
        return value.name if isinstance(value, ClassLabel) else None

    def type_of(self, value: _Classes) -> str:
        return "class_label" if isinstance(value, ClassLabel) else "class_labels"

    def observe_column(
        self,
        values: Sequence[_Classes],
        sources: Sequence[str],
        observed: Observed,
    ) -> None:
        named = list(map(self.class_names, values))
        observed.classes.update(itertools.chain.from_iterable(named))
        if isinstance(values[0], ClassLabels):
            observed.measure("length", *map(len, named))

    def fields(self, name: str, observed: Observed) -> Mapping[str, Any]:
        return {"shape": (None,) if "class_labels" in observed.types else ()}

    def complete(self, feature: Feature, observed: Observed, declared: Names) -> Feature:
        classes = class_order(feature.name, observed.classes, feature.classes or declared)
        return dataclasses.replace(feature, classes=classes)

    def fits(self, feature: Feature, value: Any) -> bool:
        if not isinstance(value, ClassLabel | ClassLabels):
            return False
        if isinstance(value, ClassLabels) and not feature.shape:
            return False
        return not feature.classes or set(self.class_names(value)) <= set(feature.classes)

    def complete_stored(self, feature: Feature, observed: Observed, declared: Names) -> Feature:
        if feature.classes:
            return feature
        classes = numbered_classes(feature.key, observed, declared, feature.label_offset)
        return dataclasses.replace(feature, classes=classes)

    def summary(self, feature: Feature, observed: Observed, num_records: int) -> Iterator[str]:
        yield count_classes(feature.classes)
        if feature.shape and (lengths := observed.list_span(num_records)):
            yield f"{between(*lengths, 'class')} per record"
        if feature.default is not None:
            yield "none in some records"

    def encode_column(
        self, feature: Feature, values: Sequence[Any], stored: Sequence[Stored]
    ) -> dict[str, Sequence[FeatureValue]]:
        number_of = stored[0].numbers.get(feature.name, {})
        named = list(map(self.class_names, values))
        lists = {  # many records share few classes
            names: ([number_of[name] for name in names], [name.encode() for name in names])
            for names in set(named)
        }
        if not feature.shape:
            lists[()] = ([-1], [b""])
        class_lists = [lists[names] for names in named]
        numbers: dict[str, Sequence[FeatureValue]] = {
            feature.key: [each for each, _ in class_lists]
        }
        if feature.bare:
            return numbers
        return numbers | {feature.subkey("text"): [texts for _, texts in class_lists]}

    def problem(self, feature: Feature, lists: Lists) -> str:
        first, count = feature.label_offset, len(feature.classes)
        for number in values(lists, feature.key):
            if number != -1 and (number < first or (count and number >= first + count)):
                last = f"to {first + count - 1} " if count else "or more "
                return (
                    f"key {feature.key!r} holds the class {number}, where {first} {last}was "
                    "expected, or -1 for none"
                )
        return ""

    def tfds(self, feature: Feature, key: str, spec: ListSpec) -> dict[str, Any]:
        is_number = key == feature.key
        leaf = tfds_features.class_number(feature) if is_number else tfds_features.text()
        # TFDS has no default value.
        is_list = feature.shape or feature.may_lack_key
        return tfds_features.sequence(leaf) if is_list else leaf


def composed_names(name: str, names: Names) -> Names:
    """Convert class names of feature `name` to form NFC."""
    for each in names:
        check_text(name, each)
    return names if all(map(str.isascii, names)) else tuple(map(composed, names))


def class_order(name: str, observed: Iterable[str], declared: Names) -> Names:
    """Return declared names in order, else observed names sorted, numerically if all are numbers.

    Raises:
        DataError: A class is undeclared.
    """
    names = set(observed)
    if not declared:
        if all(each.isascii() and each.isdigit() for each in names):
            return tuple(sorted(names, key=as_number))
        return tuple(sorted(names))
    check_declared("classes", name, sorted(names - set(declared)), declared)
    return declared


def check_declared(
    what: str, name: str, undeclared: Sequence[object], declared: Sequence[str]
) -> None:
    """Raise DataError if a feature has undeclared classes or other names."""
    if undeclared:
        raise DataError(
            f"feature {name!r} has undeclared {what}: {', '.join(map(str, undeclared[:10]))}; "
            f"declared are {', '.join(declared[:20])}; declare them, too, or fix the annotations"
        )


def numbered_classes(name: str, observed: Observed, declared: Names, offset: int = 0) -> Names:
    """Return the classes of existing Examples: declared names, else numbers up to the largest.

    Raises:
        DataError: A class is undeclared.
    """
    smallest, largest = map(int, observed.range or (0, offset - 1))
    largest -= offset
    if not declared:
        return tuple(map(str, range(largest + 1)))
    wrong = [smallest] * (smallest < -1) + [largest] * (largest >= len(declared))
    check_declared(f"class numbers (not 0 to {len(declared) - 1})", name, wrong, declared)
    return declared


def as_number(digits: str) -> tuple[int, str, str]:
    """Sort key for whole numbers of any length."""
    significant = digits.lstrip("0")
    return len(significant), significant, digits
