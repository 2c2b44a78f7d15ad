"""Every option of a build, checked once."""

import dataclasses
import functools
import hashlib
import json
import math
import numbers
import os
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from beam_pipeline.build_option import BuildOption
from beam_pipeline.build_options import BuildOptions
from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.inspect import tokens
from beam_pipeline.kinds.rules import Rules
from beam_pipeline.media import looks
from beam_pipeline.option_values import split_list
from beam_pipeline.schema.declaration import with_tokens
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.options import Option, fields_of, parts_of
from tfrecord_dataset.python_words import in_python
from tfrecord_dataset.shown_text import is_unicode
from tfrecord_dataset.store.urls import unsigned

# Left out of the fingerprint where they say nothing, so that those from before they were stay.
_MAY_BE_ABSENT = frozenset(
    {"missing_values", "image_template", "ignore", "no_header", "decimal_comma"}
    | {"no_masks", "split_list", "label_separator", "table", "near_duplicates", "license"}
)


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildConfig(BuildOptions):
    """What to build, from what, to where: the options, checked together.

        >>> beam_pipeline.BuildConfig(input="cells", output="data", num_shards=4)
        BuildConfig(input='/.../cells', output='/.../data', name='cells', num_shards=4)

    Raises:
        ConfigError: An option cannot have its value.
    """

    def __post_init__(self) -> None:
        with in_python(BuildConfig):
            self._complete()

    def _complete(self) -> None:
        super().__post_init__()
        for part, kind in parts_of(BuildConfig).items():
            _check(
                isinstance(getattr(self, part), kind),
                f"{part}={getattr(self, part)!r}",
                f"give {kind.__name__}(…)",
            )
        _check(
            isinstance(self.schema, Sequence) and all(isinstance(e, Feature) for e in self.schema),
            f"--schema {self.schema!r}",
            "give Features: read_schema reads a file, parse_schema what JSON holds",
        )
        for path in ("input", "output", "image_root", "tokenizer"):
            if value := getattr(self, path):
                object.__setattr__(self, path, storage.absolute(os.fspath(value)))
        allowed = tuple(storage.absolute(os.fspath(each)) for each in self.allow_outside)
        object.__setattr__(self, "allow_outside", allowed)
        object.__setattr__(self, "split_list", tuple(map(_split_list, self.split_list)))
        if self.tokenizer:
            tokens.load(self.tokenizer)  # before anything is read or written
            object.__setattr__(self, "schema", with_tokens(self.schema))
        if self.near_duplicates:
            looks.check_installed()
        if not self.name:
            object.__setattr__(self, "name", default_name(self.input))
        _check(
            re.fullmatch(r"[a-z][a-z0-9_]*", self.name) is not None,
            f"--name {self.name!r}",
            "start with a letter, then letters, digits and underscores, all lower case: "
            "tfds.load does not find other names",
        )
        for option, path in (("the input", self.input), ("--output", self.output)):
            _check(
                is_unicode(path),
                f"{option} {path!r}",
                "its name is not UTF-8, in which the description of a dataset is written; rename "
                "the folder",
            )
        _check(
            not set("*?[") & set(self.output),
            f"--output {self.output!r}",
            "leave out the characters * ? [, which Beam reads as a pattern for many paths",
        )
        _check(
            re.fullmatch(r"\d+\.\d+\.\d+", self.version) is not None,
            f"--version {self.version!r}",
            "give three numbers, such as 1.0.0",
        )
        _check(
            0 <= self.max_bad_fraction <= 1,
            f"--max-bad-fraction {self.max_bad_fraction:g}",
            "give a fraction from 0 to 1",
        )
        twice = {name for name, count in Counter(self.classes).items() if count > 1}
        _check(not twice, f"--classes with {min(twice, default='')!r} twice", "name each once")
        self._check_split()
        self._check_num_shards()

    def _check_split(self) -> None:
        _check(
            isinstance(self.split, Mapping)
            and all(isinstance(each, numbers.Real) for each in self.split.values())
            and all(isinstance(name, str) for name in self.split),
            f"--split {self.split!r}",
            "give fractions by name, such as {'train': 0.9, 'test': 0.1}",
        )
        text = ",".join(f"{name}={fraction:g}" for name, fraction in self.split.items())
        shown = shlex.quote(text)
        _check(
            bool(self.split) and all(re.fullmatch(r"\w+", name) for name in self.split),
            f"--split {shown}",
            "name splits with letters, digits and underscores, as in --split train=0.9,test=0.1",
        )
        _check(
            all(fraction > 0 for fraction in self.split.values())
            and abs(sum(self.split.values()) - 1) < 1e-6,
            f"--split {shown}",
            "make the fractions positive and their sum 1",
        )

    def _check_num_shards(self) -> None:
        counts = self.num_shards
        if counts is None:
            return
        for count in counts.values() if isinstance(counts, Mapping) else (counts,):
            _check(
                type(count) is int and 1 <= count <= 99_999,
                f"--num-shards {count!r}",
                "give 1 to 99,999 (file names have five digits)",
            )

    @property
    def dataset_dir(self) -> str:
        """The dataset's directory."""
        return storage.join(self.output, self.name, self.version)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files and folders that workers read, as far as options name them."""
        lists = (each.partition("=")[2] for each in self.split_list)
        named = (self.input, self.image_root, *self.allow_outside, self.tokenizer, *lists)
        return tuple(filter(None, named))

    @property
    def missing_number(self) -> float | None:
        """What stands for a number that a row misses; None rejects the row."""
        return math.nan if self.missing_numbers == "nan" else None

    @property
    def observes_last(self) -> bool:
        """Whether it is late known which records are written, and in which splits."""
        return self.duplicates == "drop" or self.near_duplicates == "group"

    @property
    def rules(self) -> Rules:
        """How records are checked and stored."""
        return Rules(
            image=self.image,
            audio=self.audio,
            box_policy=self.box_policy,
            with_masks=not self.no_masks,
            box_format=self.box_format,
            tokenizer=self.tokenizer,
            schema=self.schema,
            may_be_nan=self.missing_numbers == "nan",
            max_seconds=self.max_record_seconds,
            with_looks=bool(self.near_duplicates),
        )

    def fingerprinted_options(self) -> dict[str, Any]:
        """The options that decide what the files hold, as JSON has them."""
        fields = fields_of(BuildConfig).values()
        elsewhere = {field.name for field in fields if not _is_content(field.option)}
        kept = {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if name not in elsewhere and (value or name not in _MAY_BE_ABSENT)
        }
        if self.image.size is not None:  # as fingerprints from before have it
            kept["image"]["size"] = [self.image.size.width, self.image.size.height]
        if self.image.depth_scale is None:  # likewise
            del kept["image"]["depth_scale"]
        kept["schema"] = [feature.to_json() for feature in self.schema]
        kept["tokenizer"] = storage.sha256_of(self.tokenizer) if self.tokenizer else ""
        if self.split_list:
            parts = (each.partition("=") for each in self.split_list)
            kept["split_list"] = [f"{split}={storage.sha256_of(path)}" for split, _, path in parts]
        normalised: dict[str, Any] = json.loads(json.dumps(kept))
        return normalised

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hex digest of `fingerprinted_options`: equal for builds that ask for the same thing."""
        # Keys are not sorted: the order of the splits decides which record goes to which.
        return hashlib.sha256(json.dumps(self.fingerprinted_options()).encode()).hexdigest()


def _split_list(text: str) -> str:
    try:
        return split_list(os.fspath(text))
    except ValueError as error:
        raise ConfigError(f"--split-list {text!r} {error}") from error


def _is_content(option: Option) -> bool:
    return isinstance(option, BuildOption) and option.is_content


def default_name(path: str) -> str:
    """A dataset's name from its input's: "Blood Cells/" gives "blood_cells"."""
    stem = unsigned(path).rstrip("/").rpartition("/")[2]
    stem = re.sub(
        r"\.(jsonl?|csv|tsv|ndjson|ya?ml|zip|np[yz]|h5|hdf5|tfrecords?|t[gx]z|tbz2?|tar(\.\w+)?):?$",
        "",
        stem,
        flags=re.IGNORECASE,
    )
    name = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_").lower()
    return name if re.match(r"[a-z]", name) else f"dataset_{name}".rstrip("_")


def _check(fine: bool, value: str, remedy: str) -> None:
    if not fine:
        raise ConfigError(f"{value} cannot be used: {remedy}")


def check_type(config: BuildConfig) -> None:
    """Raises ConfigError for what is given in place of a BuildConfig, such as the input alone."""
    if not isinstance(config, BuildConfig):
        raise ConfigError(
            f"a build takes a BuildConfig, not {config!r:.80}; "
            "give BuildConfig(input='photos', output='data')"
        )
