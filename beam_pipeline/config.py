"""Every option of a build, checked once."""

import dataclasses
import functools
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from beam_pipeline.build_options import BuildOptions
from beam_pipeline.files import storage
from beam_pipeline.kinds.kind import Rules
from beam_pipeline.kinds.numbers import Number
from beam_pipeline.media.images import check_imagehash
from beam_pipeline.option_values import NAN
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.format.metadata import VERSION
from tfrecord_dataset.options import all_options, names_options, parts_of
from tfrecord_dataset.store.urls import unsigned

# Fingerprints state these options even at their defaults, and any other only if it is set: so a new
# option changes no fingerprint of a build without it.
_ALWAYS_FINGERPRINTED = """
    name version layout split group_by seed num_shards target_shard_bytes compression duplicates
    max_bad_fraction box_policy box_format classes schema path_pattern image_column
    audio_column label_column split_column column_names ignore_columns missing_numbers
    image.max_side image.size image.format image.jpeg_quality image.max_pixels
    audio.sample_rate audio.mono
"""


@names_options
@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildConfig(BuildOptions):
    """Input, output and options of a build, checked together.

        >>> beam_pipeline.BuildConfig(input="cells", output="data", num_shards=4)
        BuildConfig(input='/.../cells', output='/.../data', name='cells', num_shards=4)

    Raises:
        ConfigError: An option has an invalid value.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.near_duplicates:
            check_imagehash()
        if not self.name:
            object.__setattr__(self, "name", default_name(self.input))

    def _conflicts(self) -> Iterator[str]:
        for part, kind in parts_of(BuildConfig).items():
            if not isinstance(value := getattr(self, part), kind):
                yield f"{part}={value!r} cannot be used: give {kind.__name__}(…)"
        is_list = isinstance(self.schema, Sequence)
        if not is_list or not all(isinstance(feature, Feature) for feature in self.schema):
            yield (
                f"--schema {self.schema!r} cannot be used: give Features: read_schema reads a "
                "file, parse_schema what JSON holds"
            )

    @property
    def dataset_dir(self) -> str:
        """The dataset's directory."""
        return storage.join(self.output, self.name, self.version)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Files and folders that options name and workers read."""
        lists = (each.partition("=")[2] for each in self.split_list)
        named = (self.input, self.image_root, *self.allow_outside, *lists)
        return tuple(filter(None, named))

    @property
    def missing_number(self) -> Number | None:
        """Value of a missing number; None rejects its row."""
        number = self.missing_numbers
        return number if not isinstance(number, str) else math.nan if number == NAN else None

    @functools.cached_property
    def fractions(self) -> Mapping[str, float]:
        """Fraction of each split; `train` gets what `--split` leaves."""
        if not self.divides_train:
            return self.split
        return {"train": 1 - sum(self.split.values()), **self.split}

    @property
    def divides_train(self) -> bool:
        """Whether `--split` also divides the input's own `train`, which keeps the rest."""
        return "train" not in self.split and sum(self.split.values()) < 1 - 1e-6

    @property
    def stratifies(self) -> bool:
        """Whether splits are chosen by the records' classes."""
        return len(self.fractions) > 1 and not self.no_stratify

    @property
    def chooses_splits_last(self) -> bool:
        """Whether splits are chosen once all records are known."""
        return self.stratifies or self.near_duplicates == "group"

    @property
    def observes_last(self) -> bool:
        """Whether the written records and their splits are only known at the end."""
        return self.duplicates == "drop" or self.chooses_splits_last

    @property
    def rules(self) -> Rules:
        """How records are checked and stored."""
        return Rules(
            image=self.image,
            audio=self.audio,
            box_policy=self.box_policy,
            with_masks=self.masks,
            box_format=self.box_format,
            schema=self.schema,
            may_be_nan=self.missing_numbers == NAN,
            max_seconds=self.max_record_seconds,
            with_looks=bool(self.near_duplicates),
        )

    def fingerprinted_options(self) -> dict[str, Any]:
        """Return the options that determine the content of the files, as JSON values."""
        kept, always = dataclasses.asdict(self), _ALWAYS_FINGERPRINTED.split()
        owner: type = type(self)
        for name, field in all_options(owner).items():
            part, _, option = name.rpartition(".")
            stated = kept[part] if part else kept
            is_set = name in always or stated[option] != field.default
            if not (is_set and getattr(field.option, "is_content", part)):
                del stated[option]
        if self.image.size is not None:  # width first, as in older fingerprints
            kept["image"]["size"] = [self.image.size.width, self.image.size.height]
        kept.pop("no_stratify", None)  # "stratify" states it
        if self.stratifies:
            kept["stratify"] = True
        kept["schema"] = [feature.to_json() for feature in self.schema]
        if self.split_list:
            parts = (each.partition("=") for each in self.split_list)
            kept["split_list"] = [f"{split}={storage.sha256_of(path)}" for split, _, path in parts]
        items = [*kept.items()]
        # No option any more, but a part of older fingerprints.
        items.insert([*kept].index("schema"), ("tokenizer", ""))
        normalised: dict[str, Any] = json.loads(json.dumps(dict(items)))
        return normalised

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hex digest of `fingerprinted_options`, which equal builds share."""
        # Keys are not sorted: the order of the splits decides which record goes to which.
        return hashlib.sha256(json.dumps(self.fingerprinted_options()).encode()).hexdigest()


def default_name(path: str) -> str:
    """Derive a dataset's name from its input's: "Blood Cells/" gives "blood_cells"."""
    above, _, stem = unsigned(path).rstrip("/").rpartition("/")
    if VERSION.fullmatch(stem):  # a version of a dataset
        stem = above.rpartition("/")[2]
    stem = re.sub(
        r"\.(jsonl?|csv|tsv|ndjson|xlsx|parquet|arrow|feather|ya?ml|zip|np[yz]|h5|hdf5"
        r"|tfrecords?|t[gx]z|tbz2?|tar(\.\w+)?):?$",
        "",
        stem,
        flags=re.IGNORECASE,
    )
    name = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_").lower()
    return name if re.match(r"[a-z]", name) else f"dataset_{name}".rstrip("_")
