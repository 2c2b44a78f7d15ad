"""Every option of a build, checked once."""

import dataclasses
import functools
import hashlib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.inspect import tokens
from beam_pipeline.kinds.boxes import FORMATS as BOX_FORMATS
from beam_pipeline.kinds.boxes import POLICIES as BOX_POLICIES
from beam_pipeline.kinds.boxes import Policy
from beam_pipeline.kinds.rules import Rules
from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.images import ImageOptions
from beam_pipeline.schema.declaration import with_tokens
from tfrecord_dataset.feature import Feature
from tfrecord_dataset.store.urls import unsigned

COMPRESSIONS = ("none", "gzip")
DUPLICATE_POLICIES = ("keep", "drop", "error")
LEAK_POLICIES = ("error", "warn")
MISSING_NUMBERS = ("reject", "nan")

# Where the data lies, how fast it is read, whether leaks stop it and whether an old dataset may
# go: these change no byte of the result, so they are no part of the fingerprint.
_NOT_FINGERPRINTED = frozenset(
    {
        "input",
        "output",
        "image_root",
        "allow_outside",
        "leaks",
        "overwrite",
        "trust_receipts",
        "threads",
        "max_record_seconds",
    }
)
# Left out of the fingerprint where they say nothing, so that those from before they were stay.
_MAY_BE_ABSENT = frozenset({"missing_values", "image_template"})


@dataclasses.dataclass(frozen=True, kw_only=True)
class BuildConfig:
    """What to build, from what, to where.

    Attributes:
        input: The folder or annotation file to read; empty for a source of the user's own.
        output: DATA_DIR; the dataset's directory is `<output>/<name>/<version>`.
        name: The dataset's name: lower-case letters, digits and underscores. Default: the
            input's.
        version: Three numbers: "1.0.0".
        layout: One of `sources.registry.layout_names()`; "auto" finds out by looking.
        split: Fraction by split name, for records whose layout states no split.
        group_by: Records alike in this share a split: a column's name, or the number of a
            level of the record's key (1: the first folder). Default: the content.
        seed: Salt of the hashes that decide split and order.
        num_shards: Shards of every split, or by split name.
        target_shard_bytes: Bytes a shard aims at, where num_shards does not say.
        compression: One of COMPRESSIONS.
        overwrite: Whether a finished dataset in the output is replaced.
        trust_receipts: Whether a finished shard of an interrupted build is taken by its size,
            without reading it again.
        duplicates: One of DUPLICATE_POLICIES, for records of equal content.
        leaks: One of LEAK_POLICIES, for records of equal content in several splits.
        max_bad_fraction: Above this fraction of rejected records the build fails.
        box_policy: What becomes of boxes that reach outside the image.
        box_format: The format of boxes in a manifest, in COCO's or in VOC's files.
        classes: The class names in order, where the layout declares none.
        image: How images are checked and stored.
        audio: How audio is checked and stored.
        tokenizer: A tokenizer's file, for the tokens of every text; "" for none.
        schema: What the records hold; empty finds out by looking at all of them.
        path_pattern: What the paths of class folders' files say, such as "{label}_{speaker}".
        image_root: The folder that a manifest's or a COCO file's paths start from.
        allow_outside: Folders and buckets elsewhere whose files annotations may name, too.
        image_column, audio_column, label_column, split_column: A manifest's columns, by their
            names; several labels as "color,shape".
        column_names: The names of a CSV's columns, where the file itself has none.
        ignore_columns: Columns of a manifest that are left out.
        missing_numbers: One of MISSING_NUMBERS, for numbers that rows of a manifest, or the
            JSON of tars, lack.
        missing_values: Texts that stand for a missing value in a manifest, such as "NA".
        image_template: The image's path, made of columns of a manifest: "train/{id}.png".
        threads: Reads and decodes at once in a worker; 0 chooses by the files' size.
        max_record_seconds: CPU time that inspecting a record may take.
    """

    input: str = ""
    output: str = ""
    name: str = ""
    version: str = "1.0.0"
    layout: str = "auto"
    split: Mapping[str, float] = dataclasses.field(default_factory=lambda: {"train": 1.0})
    group_by: str = ""
    seed: int = 0
    num_shards: int | Mapping[str, int] | None = None
    target_shard_bytes: int = 128 << 20
    compression: str = "none"
    overwrite: bool = False
    trust_receipts: bool = False
    duplicates: str = "keep"
    leaks: str = "error"
    max_bad_fraction: float = 0.0
    box_policy: Policy = "clip"
    box_format: str = ""
    classes: tuple[str, ...] = ()
    image: ImageOptions = dataclasses.field(default_factory=ImageOptions)
    audio: AudioOptions = dataclasses.field(default_factory=AudioOptions)
    tokenizer: str = ""
    schema: tuple[Feature, ...] = ()
    path_pattern: str = ""
    image_root: str = ""
    allow_outside: tuple[str, ...] = ()
    image_column: str = ""
    audio_column: str = ""
    label_column: str = ""
    split_column: str = ""
    column_names: tuple[str, ...] = ()
    ignore_columns: tuple[str, ...] = ()
    missing_numbers: str = "reject"
    missing_values: tuple[str, ...] = ()
    image_template: str = ""
    threads: int = 0
    max_record_seconds: float = 60.0

    def __post_init__(self) -> None:
        for path in ("input", "output", "image_root", "tokenizer"):
            if value := getattr(self, path):
                object.__setattr__(self, path, storage.absolute(os.fspath(value)))
        allowed = tuple(storage.absolute(os.fspath(each)) for each in self.allow_outside)
        object.__setattr__(self, "allow_outside", allowed)
        if self.tokenizer:
            tokens.load(self.tokenizer)  # before anything is read or written
            object.__setattr__(self, "schema", with_tokens(self.schema))
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
                _is_unicode(path),
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
        for option, value, choices in (
            ("--compression", self.compression, COMPRESSIONS),
            ("--duplicates", self.duplicates, DUPLICATE_POLICIES),
            ("--leaks", self.leaks, LEAK_POLICIES),
            ("--missing-numbers", self.missing_numbers, MISSING_NUMBERS),
            ("--box-policy", self.box_policy, BOX_POLICIES),
            ("--box-format", self.box_format, ("", *BOX_FORMATS)),
        ):
            _check(value in choices, f"{option} {value!r}", f"choose from {', '.join(choices)}")
        _check(
            0 <= self.max_bad_fraction <= 1,
            f"--max-bad-fraction {self.max_bad_fraction}",
            "give a fraction from 0 to 1",
        )
        _check(
            self.target_shard_bytes > 0,
            f"--target-shard-bytes {self.target_shard_bytes}",
            "give a positive size, such as 128MiB",
        )
        twice = {name for name, count in Counter(self.classes).items() if count > 1}
        _check(not twice, f"--classes with {min(twice, default='')!r} twice", "name each once")
        _check(self.threads >= 0, f"--threads {self.threads}", "give 0 (choose) or more")
        _check(
            0 < self.max_record_seconds < math.inf,
            f"--max-record-seconds {self.max_record_seconds}",
            "give seconds, more than 0",
        )
        self._check_split()
        self._check_num_shards()

    def _check_split(self) -> None:
        shown = ",".join(f"{name}={fraction:g}" for name, fraction in self.split.items())
        _check(
            bool(self.split) and all(re.fullmatch(r"\w+", name) for name in self.split),
            f"--split {shown}",
            "name splits with letters, digits and underscores, such as train=0.9,test=0.1",
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
                1 <= count <= 99_999,
                f"--num-shards {count}",
                "give 1 to 99,999 (file names have five digits)",
            )

    @property
    def dataset_dir(self) -> str:
        """The dataset's directory."""
        return storage.join(self.output, self.name, self.version)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files and folders that workers read, as far as options name them."""
        return tuple(
            filter(None, (self.input, self.image_root, *self.allow_outside, self.tokenizer))
        )

    @property
    def missing_number(self) -> float | None:
        """What stands for a number that a row misses; None rejects the row."""
        return math.nan if self.missing_numbers == "nan" else None

    @property
    def rules(self) -> Rules:
        """How records are checked and stored."""
        return Rules(
            image=self.image,
            audio=self.audio,
            box_policy=self.box_policy,
            box_format=self.box_format,
            tokenizer=self.tokenizer,
            schema=self.schema,
            may_be_nan=self.missing_numbers == "nan",
            max_seconds=self.max_record_seconds,
        )

    def fingerprinted_options(self) -> dict[str, Any]:
        """The options that decide what the files hold, as JSON has them."""
        options = dataclasses.asdict(self)
        kept = {
            name: value
            for name, value in options.items()
            if name not in _NOT_FINGERPRINTED and (value or name not in _MAY_BE_ABSENT)
        }
        kept["schema"] = [feature.to_json() for feature in self.schema]
        kept["tokenizer"] = storage.sha256_of(self.tokenizer) if self.tokenizer else ""
        normalised: dict[str, Any] = json.loads(json.dumps(kept))
        return normalised

    @functools.cached_property
    def fingerprint(self) -> str:
        """Hex digest of `fingerprinted_options`: equal for builds that ask for the same thing."""
        # Keys are not sorted: the order of the splits decides which record goes to which.
        return hashlib.sha256(json.dumps(self.fingerprinted_options()).encode()).hexdigest()


def default_name(path: str) -> str:
    """A dataset's name from its input's: "Blood Cells/" gives "blood_cells"."""
    stem = unsigned(path).rstrip("/").rpartition("/")[2]
    stem = re.sub(
        r"\.(jsonl?|csv|tsv|ndjson|ya?ml|tar|np[yz]|tfrecords?)$", "", stem, flags=re.IGNORECASE
    )
    name = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_").lower()
    return name if re.match(r"[a-z]", name) else f"dataset_{name}".rstrip("_")


def _is_unicode(text: str) -> bool:
    """Whether it can be written as UTF-8, unlike names of files in other encodings."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check(fine: bool, value: str, remedy: str) -> None:
    if not fine:
        raise ConfigError(f"{value} cannot be used: {remedy}")
