"""Checks numbered shards, such as `cells-train.tfrecord-00000-of-00008`, for completeness."""

import itertools
import re
from collections.abc import Iterable

from tfrecord_dataset.errors import DatasetDamagedError

_NUMBERED = re.compile(r"(?P<start>.*)-(?P<number>\d{5,})-of-(?P<count>\d{5,})(?P<end>[^/]*)")
_MOST_NUMBERS = 5


def check_all_shards(files: Iterable[str]) -> None:
    """Check that no shard is missing from a numbering.

    Args:
        files: Paths or URLs. Other names are ignored.

    Raises:
        DatasetDamagedError: Shards are missing; the message has their numbers and the option that
            allows it.
    """
    numbers: dict[tuple[str, str, str], set[int]] = {}
    for file in files:
        if match := _NUMBERED.fullmatch(file):
            key = (match["start"], match["count"], match["end"])
            numbers.setdefault(key, set()).add(int(match["number"]))
    for (start, count, end), there in sorted(numbers.items()):
        num_missing = int(count) - sum(number < int(count) for number in there)
        if num_missing > 0:
            missing = (each for each in range(int(count)) if each not in there)
            named = [f"{each:05d}" for each in itertools.islice(missing, _MOST_NUMBERS)]
            more = ", …" if num_missing > len(named) else ""
            raise DatasetDamagedError(
                f"{start}-*-of-{count}{end} lacks {num_missing} of {int(count)} shards: "
                f"{', '.join(named)}{more}; copy them there, or pass allow_missing_shards "
                "(--allow-missing-shards)"
            )
