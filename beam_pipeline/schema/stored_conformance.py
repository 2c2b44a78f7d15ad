"""Whether an Example conforms to a schema."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from beam_pipeline import kinds
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.feature_keys import Lists, ListSpec, list_problem, list_specs

Specs = Sequence[tuple[Feature, Mapping[str, ListSpec]]]
"""What the keys of each feature must hold."""


def schema_specs(schema: Iterable[Feature]) -> Specs:
    """The `list_specs` of each feature, to be made once for many Examples."""
    return [(feature, list_specs(feature)) for feature in schema]


def mismatches(specs: Specs, lists: Lists) -> Iterator[str]:
    """Messages about keys of an Example that do not fit the schema of `specs`, one per key."""
    for feature, keys in specs:
        list_problems = [list_problem(key, each, lists) for key, each in keys.items()]
        problems = [problem for problem in list_problems if problem]
        yield from problems or filter(None, [kinds.named(feature).problem(feature, lists)])
