"""Splits in the names of folders, tables and arrays, and by lists of files (`--split-list`).

A line of a list names a record by its path below the input or below the list's folder, with or
without suffix, by the file's name, or by its folder, such as the frames of a video. If several
numbers follow the name on each line (Oxford's pets), the name before them also counts. Workers that
read records hold all lines, at 13 bytes each.
"""

import dataclasses
import itertools
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import apache_beam as beam
import numpy as np
import numpy.typing as npt
from apache_beam.pvalue import AsIter, AsSingleton, TaggedOutput
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline.batch import RecordBatch, field, field_columns
from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Consumed, Element, Record, Rejected, composed
from beam_pipeline.running.batches import in_global_window
from beam_pipeline.sources.paths import (
    hash_of,
    joined,
    last_parts,
    parent,
    split_at,
    stem,
    uncompressed,
)
from beam_pipeline.sources.rejects import left_out
from tfrecord_dataset import delimited
from tfrecord_dataset.format.split_names import is_split, split_of_name, splits_of_shards
from tfrecord_dataset.store.urls import unsigned

_BETWEEN = re.compile(r"([_\-. ])")
_BEFORE_CAPITAL = re.compile(r"(?P<split>[a-z]+)(?P<column>[A-Z].*)")  # "trainX"


def splits_of_tables(names: Sequence[str]) -> dict[str, str]:
    """Map tables of a folder to the splits in their names.

    If some tables are named exactly after a split (train.csv), only these count; otherwise all
    names must contain different splits (mnist_train.csv, mnist_test.csv), or be shards of the
    Hugging Face Hub.
    """
    if of_shards := splits_of_shards(names):
        return dict(zip(names, of_shards, strict=True))
    if alone := {name: only for name in names if is_split(only := stem(uncompressed(name)))}:
        return alone
    splits = {name: split for name in names if (split := split_of_name(name))}
    return splits if len(set(splits.values())) == len(names) else {}


def lists_of_splits(names: Iterable[str]) -> list[str]:
    """Return the names of splits, without "trainval" if both of its parts are there."""
    splits = list(filter(is_split, names))
    is_whole = {"train", "val"} <= {name.lower() for name in splits}
    return [name for name in splits if name.lower() != "trainval" or not is_whole]


def without_split(name: str) -> tuple[str, str]:
    """Divide an array's name into column and split: ("x", "train"); the split may be "".

    The split is the last word, the first, another one, or the part before a capital letter.
    """
    words = _BETWEEN.split(name)
    for at in (len(words) - 1, *range(0, len(words) - 2, 2)):
        if is_split(words[at]):
            others = words[: at - 1] + words[at + 1 :] if at else words[2:]
            return "".join(others), words[at]
    match = _BEFORE_CAPITAL.fullmatch(name)
    return (match["column"], match["split"]) if match and is_split(match["split"]) else (name, "")


_REST = "train"
_NUMBER = re.compile(r"#\d+$")
_MAX_BYTES = 1 << 30
_MAX_NAMED = 1000
_NUMBERED = re.compile(r"(\S.*?)(?:\s+-?\d+){2,}")
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
# Outputs of `_PlaceInSplits`.
_PLACED, _FOUND = "placed", "found"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SplitList:
    """A list of the files of a split.

    Attributes:
        path: Absolute path or URL.
        name: Path below the input, else the file's name, for messages and rejects.
        split: Split of the listed files.
        scope: Prefix of the keys that it may name, such as the folder of an ImageSets/.
    """

    path: str
    name: str
    split: str
    scope: str = ""

    @classmethod
    def parse(cls, text: str, top: str) -> "SplitList":
        """Parse the option SPLIT=PATH for an input at `top`."""
        split, _, path = text.partition("=")
        prefix = f"{top.rstrip('/')}/"
        name = path.removeprefix(prefix) if path.startswith(prefix) else path.rpartition("/")[2]
        home, _ = split_at(name, "imagesets") or ("", "")
        scope = f"{home}/" if home else ""
        return cls(path=path, name=unsigned(name), split=split, scope=scope)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The lines of all lists, sorted by hashes of the names that they may state.

    Attributes:
        lists: The lists.
        hashes: Hashes of names.
        numbers: Line number of each hash, counted from 0 over all lists.
        starts: First line of each list, and the total number of lines.
        rest: The split of unlisted files; "" leaves them out.
    """

    lists: tuple[SplitList, ...]
    hashes: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.uint32]
    starts: tuple[int, ...]
    rest: str

    def of(self, key: str) -> Sequence[int]:
        """Return the numbers of the lines that name the record with this key."""
        for name in _names_of(key):
            wanted = np.uint64(hash_of(name))
            start, end = (int(np.searchsorted(self.hashes, wanted, side)) for side in _SIDES)
            numbers: list[int] = self.numbers[start:end].tolist()
            if meant := [n for n in numbers if key.startswith(self.list_of(n).scope)]:
                return meant
        return []

    def list_of(self, number: int) -> SplitList:
        """Return the list of a line."""
        return self.lists[int(np.searchsorted(self.starts, number, side="right")) - 1]


def _names_of(key: str) -> Iterator[str]:
    """Yield a record's possible names in a list: path with and without suffix, file, folder."""
    for each in dict.fromkeys((key, _NUMBER.sub("", key))):
        path = composed(each)
        home, _, name = path.rpartition("/")
        bare = joined(home, stem(path))
        yield from (path, bare)
        yield from (part for whole in (path, bare) for part in last_parts(whole) if "/" in part)
        yield from (name, stem(path))
        yield from (home, home.rpartition("/")[2]) if home else ()


def _names_in(line: str, place: str, roots: Sequence[str]) -> set[str]:
    """Return the paths below `roots` that a line of a list in the folder `place` may state."""
    text = line.replace("\\", "/")
    path = text if text.startswith("/") or "://" in text else posixpath.join(place, text)
    whole = posixpath.normpath(path) if "://" not in path else path
    inner = (whole[len(root) + 1 :] for root in roots if whole.startswith(f"{root}/"))
    suffixes = (part for part in last_parts(text) if "/" in part)  # from another machine
    return {composed(each) for each in (posixpath.normpath(text), *inner, *suffixes)}


def lines_of(each: SplitList) -> list[tuple[int, str]]:
    """Return a list's lines that are not blank, with numbers from 1; raises ConfigError."""
    try:
        text = storage.read_text(each.path, _MAX_BYTES)
    except RecordError as error:
        raise ConfigError(f"{each.path} cannot be read: {error}; save it as UTF-8 text") from error
    lines = enumerate(map(str.strip, delimited.bare_lines(text)), start=1)
    return [(number, line) for number, line in lines if line]


def read_lists(lists: Sequence[SplitList], roots: Sequence[str]) -> Lines:
    """Read the lines of lists; raise ConfigError if one cannot be read."""
    hashes: list[int] = []
    numbers: list[int] = []
    starts, count = [0], 0
    for each in lists:
        place = parent(each.path)
        lines = [line for _, line in lines_of(each)]
        numbered = [_NUMBERED.fullmatch(line) for line in lines]
        for line, match in zip(lines, numbered, strict=True):
            names = _names_in(line, place, roots)
            if match and all(numbered):
                names |= _names_in(match[1], place, roots)
            hashes += map(hash_of, names)
            numbers += [count] * len(names)
            count += 1
        starts.append(count)
    order = np.argsort(np.array(hashes, np.uint64), kind="stable")
    return Lines(
        lists=tuple(lists),
        hashes=np.array(hashes, np.uint64)[order],
        numbers=np.array(numbers, np.uint32)[order],
        starts=tuple(starts),
        rest="" if any(each.split.lower().startswith(_REST) for each in lists) else _REST,
    )


@dataclasses.dataclass
class WithSplits(beam.PTransform):
    """Assign the elements of a source to the splits that lists state.

    Unlisted records are in "train"; if that split has a list, they are rejected, not bad. Records
    in lists of two splits, and lines that name no record, are bad rejects.

    Attributes:
        source: Source of the elements.
        lists: The lists.
        roots: Absolute folders that keys of records are relative to.

    Raises:
        ConfigError: While the pipeline runs: a list cannot be read, or names no record.
    """

    source: beam.PTransform
    lists: Sequence[SplitList]
    roots: Sequence[str]

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        roots = [root.rstrip("/") for root in self.roots]
        elements = pipeline | "Source" >> self.source  # Element
        lines = AsSingleton(
            pipeline
            | "Lists" >> beam.Create([tuple(self.lists)])
            | "ReadLists" >> beam.Map(read_lists, roots)  # Lines
        )
        place = beam.ParDo(_PlaceInSplits(), lines).with_outputs(_FOUND, main=_PLACED)
        outputs = elements | "PlaceInSplits" >> place
        missing = (
            pipeline
            | "Once" >> beam.Impulse()
            | "MissingFiles" >> beam.FlatMap(missing_files, lines, AsIter(outputs[_FOUND]))
        )  # Rejected | Consumed
        return (outputs[_PLACED], missing) | beam.Flatten()


class _PlaceInSplits(beam.DoFn):
    """Assign elements to splits, and output the lines that name them: int64 bytes per bundle."""

    def start_bundle(self) -> None:
        self._found: set[int] = set()

    @no_annotations
    def process(
        self, element: Element | RecordBatch, lines: Lines
    ) -> Iterator[Element | RecordBatch]:
        if isinstance(element, RecordBatch):
            yield from self._placed_batch(element, lines)
        elif isinstance(element, Record):
            split = self._split(element.key, element.source, lines)
            if isinstance(split, Rejected):
                yield split
            else:
                yield dataclasses.replace(element, split=split)
        else:
            if isinstance(element, Rejected):
                self._found.update(lines.of(element.source))
            yield element

    def _split(self, key: str, source: str, lines: Lines) -> str | Rejected:
        numbers = lines.of(key)
        self._found.update(numbers)
        return _split_of(source or key, numbers, lines)

    def _placed_batch(self, batch: RecordBatch, lines: Lines) -> Iterator[Rejected | RecordBatch]:
        pairs = zip(field(batch.table, "key"), field(batch.table, "source"), strict=True)
        splits = [self._split(key, source, lines) for key, source in pairs]
        yield from (split for split in splits if isinstance(split, Rejected))
        rows = [row for row, split in enumerate(splits) if isinstance(split, str)]
        if rows:
            others = [name for name in batch.table.column_names if name != "split"]
            table = batch.table.select(others).take(rows)
            column = field_columns({"split": [splits[row] for row in rows]})["split"]
            yield dataclasses.replace(batch, table=table.append_column("split", column))

    def finish_bundle(self) -> Iterator[Any]:
        numbers = np.array([*self._found], np.int64).tobytes()
        yield TaggedOutput(_FOUND, in_global_window(numbers))


def _split_of(source: str, numbers: Iterable[int], lines: Lines) -> str | Rejected:
    """Return the split of the lines that name a record, or reject it."""
    by_split = {each.split: each.name for each in map(lines.list_of, numbers)}
    if len(by_split) > 1:
        names = " and ".join(sorted(by_split.values()))
        detail = f"listed in {names}; take it out of all but one"
        return Rejected(source=source, reason="in two splits", detail=detail)
    split = next(iter(by_split), lines.rest)
    return split or left_out(source, "in no split list", "no list names it")


def missing_files(_: bytes, lines: Lines, found: Iterable[bytes]) -> Iterator[Element]:
    """Yield a reject for each line that names no record, up to a limit, and mark lists as read.

    `found` are numbers of lines that name a record, packed as int64 [n]. Raises ConfigError if no
    line of a list names a record.
    """
    yield Consumed(paths=tuple(each.path for each in lines.lists))
    is_found = np.zeros(lines.starts[-1], bool)
    for named in found:
        is_found[np.frombuffer(named, np.int64)] = True
    for each, (start, end) in zip(lines.lists, itertools.pairwise(lines.starts), strict=True):
        of_list = is_found[start:end]
        if of_list.any() and of_list.all():
            continue
        texts = lines_of(each)
        if not of_list.any():
            first = f", such as {texts[0][1]!r:.100}" if texts else ", for it has none"
            raise ConfigError(
                f"no line of {each.path} names a file that is read{first}; write a file's path "
                "below the input on each line, or its name, and nothing else"
            )
        missing = [text for text, is_named in zip(texts, of_list, strict=True) if not is_named]
        for number, text in missing[:_MAX_NAMED]:
            detail = f"{text!r:.200} names no file that is read"
            yield Rejected(source=f"{each.name}:{number}", reason="missing file", detail=detail)
        if more := missing[_MAX_NAMED:]:
            source = f"{each.name}:{more[0][0]}"
            detail = f"so do {len(more):,} lines from here on"
            yield Rejected(source=source, reason="missing file", detail=detail)
