"""Records that are alike, side by side: duplicates, and images that look alike."""

from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.errors import RecordError
from beam_pipeline.report import figures, pictures
from beam_pipeline.report.sample import Sampled, of_keys
from tfrecord_dataset.contents import Contents
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.shown_text import shown

_GROUPS, _OF_A_GROUP = 24, 4

Group = Mapping[str, Any]


def side_by_side(dataset: Contents, *kinds: Sequence[Group]) -> list[list[list[dict[str, Any]]]]:
    """What is shown of the first groups of each kind, as metadata.json names them by "keys".

    A record that was not written is left out, as is one that the index does not find.
    """
    named = [[each["keys"][:_OF_A_GROUP] for each in groups[:_GROUPS]] for groups in kinds]
    keys = {key for kind in named for group in kind for key in group}
    found = of_keys(dataset, dataset.path, keys)
    features = list(dataset.features.values())
    drawn = {key: _shown(key, record, features) for key, record in found.items()}
    together = [[[drawn[key] for key in group if key in drawn] for group in kind] for kind in named]
    return [[group for group in kind if len(group) > 1] for kind in together]


def _shown(key: str, record: Sampled, features: Sequence[Feature]) -> dict[str, Any]:
    labelled = [each for each in features if each.kind in ("class_label", "boxes")]
    classes = dict.fromkeys(name for each in labelled for name in figures.names(each, record))
    try:
        picture = pictures.thumbnail(features, record)
    except RecordError:
        picture = ""  # verify tells of it
    return {
        "picture": picture,
        "key": shown(key),
        "split": record.split,
        "number": record.number,
        "classes": [shown(name) for name in classes],
    }
