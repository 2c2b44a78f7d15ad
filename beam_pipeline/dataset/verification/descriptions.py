"""The files that describe a dataset to people and to other tools, but for metadata.json."""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from beam_pipeline.dataset.opening import Dataset
from beam_pipeline.dataset.verification.stated_files import (
    FileProblemError,
    problem,
    stated_bytes,
    stated_lines,
)
from beam_pipeline.describe import card, croissant, provenance, statistics, tfds
from beam_pipeline.describe.description import texts_of_schema
from beam_pipeline.files import storage
from beam_pipeline.kinds.observed import Observed
from tfrecord_dataset.json_file import parse_object, typed
from tfrecord_dataset.sealed_json import check_seal

_REJECTS = "rejects.jsonl"
# Of statistics.json, what follows from the records as they are stored.
_FOLLOWING = frozenset({"classes", "height", "width", "num_samples"})

Values = Mapping[str, Mapping[str, Observed]]
"""What the records of each split hold, by feature."""

Check = Callable[[bytes], str]
"""The cause why a file's bytes are not what they should be, or ""; a ValueError is one, too."""


def description_problems(info: Dataset, values: Values) -> Iterator[str]:
    """What is wrong with the files that describe a dataset, a line each.

    Args:
        info: The dataset.
        values: Classes, and sizes of media, that follow from its records.
    """
    checks = _checks_of_adopted(info) if info.is_adopted else _checks(info, values)
    for path, check in checks.items():
        try:
            cause = check(stated_bytes(info.path, path, info.files.get(path)))
        except FileProblemError as error:
            cause = str(error)
        except ValueError as error:
            cause = f"it is damaged: {error}"
        if cause:
            yield problem(path, cause)
    if not info.is_adopted:
        yield from _rejects_problems(info)


def description_files(info: Dataset) -> set[str]:
    """The files that a build writes to describe a dataset, but for metadata.json."""
    return set() if info.is_adopted else {*_checks(info, {}), _REJECTS}


def _checks(info: Dataset, values: Values) -> dict[str, Check]:
    """By path, how the content of each file is held against metadata.json and the records."""
    checks: dict[str, Check] = {
        statistics.FILE: functools.partial(_statistics_cause, info, values),
        provenance.FILE: functools.partial(_provenance_cause, info),
        card.FILE: lambda _: "",
        croissant.FILE: lambda _: "",
    }
    if not info.compressed:  # else TFDS cannot read it, so there are none
        checks[tfds.INFO_FILE] = functools.partial(_dataset_info_cause, info)
        checks[tfds.FEATURES_FILE] = functools.partial(_features_cause, info)
    return checks | {
        path: functools.partial(_text_cause, text.encode())
        for path, text in texts_of_schema(info.schema).items()
    }


def _checks_of_adopted(info: Dataset) -> dict[str, Check]:
    """The same beside the files of others, of which TFDS's own may be kept."""
    checks: dict[str, Check] = {path: lambda _: "" for path in info.files if "/" not in path}
    if tfds.INFO_FILE in info.files or storage.exists(storage.join(info.path, tfds.INFO_FILE)):
        checks[tfds.INFO_FILE] = functools.partial(_dataset_info_cause, info)
    return checks


def _text_cause(expected: bytes, data: bytes) -> str:
    return "" if data == expected else _other_than("it is")


def _other_than(what: str) -> str:
    return f"{what} not what follows from metadata.json"


def _dataset_info_cause(info: Dataset, data: bytes) -> str:
    stated = parse_object(data)
    splits = {}
    for number, split in enumerate(typed(stated.get("splits"), list[dict[str, Any]], "splits")):
        place = f"splits[{number}]"
        lengths = typed(split.get("shardLengths", []), list[str], f"{place}.shardLengths")
        # TFDS counts other bytes.
        num_bytes = 0 if info.is_adopted else int(typed(split.get("numBytes"), str, place))
        splits[typed(split.get("name"), str, place)] = [*map(int, lengths)], num_bytes
    expected = {
        split: (
            [shard.num_records for shard in shards],
            0 if info.is_adopted else sum(shard.num_bytes for shard in shards),
        )
        for split, shards in info.splits.items()
    }
    if splits != expected:
        return _other_than("its splits are")
    names = [stated.get(name) for name in ("name", "version")]
    if not info.is_adopted and names != [info.metadata["name"], info.metadata["version"]]:
        return _other_than("its name and version are")
    return ""


def _features_cause(info: Dataset, data: bytes) -> str:
    stated = typed(parse_object(data).get("featuresDict"), dict[str, Any], "featuresDict")
    keys = {key for feature in info.schema for key in tfds.leaves(feature)}
    if set(typed(stated.get("features"), dict[str, Any], "featuresDict.features")) != keys:
        return _other_than("its keys are")
    return ""


def _statistics_cause(info: Dataset, values: Values, data: bytes) -> str:
    splits = typed(parse_object(data).get("splits"), dict[str, dict[str, Any]], "splits")
    expected = {split: info.num_records(split) for split in info.splits}
    if {split: stated.get("num_records") for split, stated in splits.items()} != expected:
        return _other_than("its numbers of records are")
    for split, stated in splits.items():
        features = typed(stated.get("features"), dict[str, dict[str, Any]], f"{split}.features")
        if list(features) != [feature.name for feature in info.schema]:
            return _other_than("its features are")
        for feature in info.schema:
            of_records = values.get(split, {}).get(feature.name)
            follows = statistics.feature_facts(feature, of_records) if of_records else {}
            for name in sorted(_FOLLOWING & follows.keys()):
                if features[feature.name].get(name) != follows[name]:
                    what = f"{name} of {feature.name} in {split}"
                    return f"{what} is not what follows from the records"
    return ""


def _provenance_cause(info: Dataset, data: bytes) -> str:
    check_seal(data)
    if parse_object(data).get("metadata_sha256") != info.sha256:
        return "it was written beside another metadata.json"
    return ""


def _rejects_problems(info: Dataset) -> Iterator[str]:
    """Every reject is a line of its file."""
    try:
        lines = stated_lines(info.path, _REJECTS, info.files.get(_REJECTS))
    except FileProblemError as error:
        yield problem(_REJECTS, str(error))
        return
    if lines != (count := sum(info.metadata["rejected"].values())):
        yield problem(_REJECTS, f"it has {lines:,} lines, metadata.json counts {count:,} rejects")
