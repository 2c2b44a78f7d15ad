"""Splits by lists of files: `--split-list`, and lists next to class folders.

A line names a record: by its path below the input or below the list's folder, with or without
suffix, by the file's name, or by its folder, such as that of a video's frames. If several numbers
follow the name on each line (Oxford's pets), the name before them counts, too. Workers that read
records hold all lines, at 13 bytes each.
"""

import dataclasses
import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
import numpy.typing as npt
from apache_beam.pvalue import AsIter, AsSingleton
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline.errors import ConfigError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Consumed, Element, Record, Rejected, composed
from beam_pipeline.rows import Rows
from beam_pipeline.running.batches import in_global_window
from beam_pipeline.sources.paths import left_out, split_at, stem
from beam_pipeline.sources.references import last_parts, parent
from beam_pipeline.sources.splits import PARTITION, is_partition
from tfrecord_dataset.store.urls import unsigned

_REST = "train"
_NUMBER = re.compile(r"#\d+$")
_MAX_BYTES = 1 << 30
_MAX_NAMED = 1000
_NUMBERED = re.compile(r"(\S.*?)(?:\s+-?\d+){2,}")
_MARKED = re.compile(r"(.+?)[,\s]+(\S+)")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SplitList:
    """A list of the files of a split.

    Attributes:
        path: Absolute path or URL.
        name: Name in messages and rejects: the path below the input, if it is there.
        split: Split of the listed files.
        mark: Last word of the lines to use, not part of the name; "" uses all lines.
        scope: The folder below the input whose files it names, as of an ImageSets/; "" for all.
    """

    path: str
    name: str
    split: str
    mark: str = ""
    scope: str = ""

    @classmethod
    def parse(cls, text: str, top: str) -> "SplitList":
        """Parse the option SPLIT=PATH for an input at `top`."""
        split, _, path = text.partition("=")
        prefix = f"{top.rstrip('/')}/"
        name = path.removeprefix(prefix) if path.startswith(prefix) else path.rpartition("/")[2]
        marks = PARTITION if is_partition(path) else {}
        sets = split_at(name, "imagesets") if path.startswith(prefix) else None
        return cls(
            path=path,
            name=unsigned(name),
            split=split,
            mark=marks.get(split, ""),
            scope=sets[0] if sets else "",
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The lines of all lists, sorted by hashes of the names that they may state.

    Attributes:
        lists: The lists.
        hashes: Hashes of names.
        numbers: Line of each hash, from 0 over all lists.
        starts: First line of each list, and the number of all lines.
        roots: The folders that keys of records, and sources of rejects, are relative to.
        rest: The split of unlisted files; "" leaves them out.
    """

    lists: tuple[SplitList, ...]
    hashes: npt.NDArray[np.uint64]
    numbers: npt.NDArray[np.uint32]
    starts: tuple[int, ...]
    roots: tuple[str, ...]
    rest: str

    def of(self, key: str) -> Sequence[int]:
        """Numbers of the lines that name the record of this key."""
        for name in _names_of(key):
            wanted = _hash(name)
            start = int(np.searchsorted(self.hashes, wanted))
            if start < len(self.hashes) and self.hashes[start] == wanted:
                end = int(np.searchsorted(self.hashes, wanted, side="right"))
                numbers = [*map(int, self.numbers[start:end])]
                if meant := [each for each in numbers if self._is_in_scope(key, each)]:
                    return meant
        return []

    def _is_in_scope(self, key: str, number: int) -> bool:
        scope = self.list_of(number).scope
        return not scope or key.startswith(f"{scope}/")

    def has_list(self, rejected: Rejected) -> bool:
        """Whether `rejected` is one of the lists, which its layout does not read."""
        paths = {f"{root}/{rejected.source}" for root in self.roots}
        return any(each.path in paths for each in self.lists)

    def list_of(self, number: int) -> SplitList:
        """The list of a line."""
        return self.lists[int(np.searchsorted(self.starts, number, side="right")) - 1]


def _hash(name: str) -> np.uint64:
    digest = hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def _names_of(key: str) -> Iterator[str]:
    """Names of a record in a list: its path with and without suffix, its file, its folder."""
    for each in dict.fromkeys((key, _NUMBER.sub("", key))):
        path = composed(each)
        name = path.rpartition("/")[2]
        yield path
        if "." in name:
            yield path.rpartition(".")[0]
        for whole in (path, path.rpartition(".")[0]):
            yield from (part for part in last_parts(whole) if "/" in part)
        yield name
        yield stem(path)
        if home := path.rpartition("/")[0]:
            yield home
            yield home.rpartition("/")[2]


def _names_in(line: str, place: str, roots: Sequence[str]) -> set[str]:
    """Paths that a line of a list in the folder `place` may state, below one of `roots`."""
    text = line.replace("\\", "/")
    path = text if text.startswith("/") or "://" in text else posixpath.join(place, text)
    whole = posixpath.normpath(path) if "://" not in path else path
    inner = (whole[len(root) + 1 :] for root in roots if whole.startswith(f"{root}/"))
    suffixes = (part for part in last_parts(text) if "/" in part)  # of another machine
    return {composed(each) for each in (posixpath.normpath(text), *inner, *suffixes)}


def lines_of(each: SplitList) -> list[tuple[int, str]]:
    """Lines of a list that are not blank, with their numbers from 1.

    Raises:
        ConfigError: It cannot be read.
    """
    try:
        text = storage.read_text(each.path, _MAX_BYTES)
    except RecordError as error:
        raise ConfigError(f"{each.path} cannot be read: {error}; save it as UTF-8 text") from error
    lines = [
        (number, line.strip())
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    if not each.mark:
        return lines
    marked = ((number, _MARKED.fullmatch(line)) for number, line in lines)
    return [(number, match[1]) for number, match in marked if match and match[2] == each.mark]


def read_lists(lists: Sequence[SplitList], roots: Sequence[str]) -> Lines:
    """Read the lines of some lists.

    Raises:
        ConfigError: A list cannot be read.
    """
    hashes: list[np.uint64] = []
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
            hashes += map(_hash, names)
            numbers += [count] * len(names)
            count += 1
        starts.append(count)
    order = np.argsort(np.array(hashes, np.uint64), kind="stable")
    return Lines(
        lists=tuple(lists),
        hashes=np.array(hashes, np.uint64)[order],
        numbers=np.array(numbers, np.uint32)[order],
        starts=tuple(starts),
        roots=tuple(roots),
        rest="" if any(each.split.lower().startswith(_REST) for each in lists) else _REST,
    )


@dataclasses.dataclass
class WithSplits(beam.PTransform):
    """Elements of a source with the splits that lists state.

    Unlisted records are in "train"; if a list is of that split, they are rejected, not bad. Bad
    rejects are records in lists of two splits, and lines that name no record.

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
        found_lines = elements | "FindLines" >> beam.ParDo(_FindLines(), lines)  # bytes
        missing = (
            pipeline
            | "Once" >> beam.Impulse()
            | "MissingFiles" >> beam.FlatMap(missing_files, lines, AsIter(found_lines))
        )  # Rejected | Consumed
        placed = elements | "PlaceInSplits" >> beam.FlatMap(placed_in_split, lines)  # Element
        return (placed, missing) | beam.Flatten()


def line_of(element: Element | Rows, lines: Lines) -> Iterator[int]:
    """Yield the lines that name a record or a reject."""
    if isinstance(element, Rows):
        for record in element.records():
            yield from lines.of(record.key)
    elif isinstance(element, Record | Rejected):
        yield from lines.of(element.key if isinstance(element, Record) else element.source)


def placed_in_split(element: Element | Rows, lines: Lines) -> Iterator[Element]:
    """Put a record into its split or reject it; pass other elements, but not rejects of lists."""
    if isinstance(element, Rows):
        for record in element.records():
            yield from placed_in_split(record, lines)
        return
    if not isinstance(element, Record):
        if not (isinstance(element, Rejected) and lines.has_list(element)):
            yield element
        return
    lines_by_split = {each.split: each for each in map(lines.list_of, lines.of(element.key))}
    if not lines_by_split:
        yield (
            dataclasses.replace(element, split=lines.rest)
            if lines.rest
            else left_out(element.source or element.key, "in no split list", "no list names it")
        )
    elif len(lines_by_split) > 1:
        names = " and ".join(sorted(each.name for each in lines_by_split.values()))
        yield Rejected(
            source=element.source or element.key,
            reason="in two splits",
            detail=f"listed in {names}; take it out of all but one",
        )
    else:
        yield dataclasses.replace(element, split=next(iter(lines_by_split)))


class _FindLines(beam.DoFn):
    """Elements to the numbers of the lines that name them, as int64 bytes, once per bundle."""

    def start_bundle(self) -> None:
        self._numbers: set[int] = set()

    @no_annotations  # no generator: it is called for every element
    def process(self, element: Element | Rows, lines: Lines) -> tuple[()]:
        self._numbers.update(line_of(element, lines))
        return ()

    def finish_bundle(self) -> Iterator[Any]:
        yield in_global_window(np.array([*self._numbers], np.int64).tobytes())


def missing_files(_: bytes, lines: Lines, found: Iterable[bytes]) -> Iterator[Element]:
    """Yield a reject for each line that names no record, up to a limit, and the lists as read.

    Args:
        lines: The lines of all lists.
        found: Numbers of lines that name a record: packed int64 [n].

    Raises:
        ConfigError: No line of a list names a record.
    """
    yield Consumed(paths=tuple(each.path for each in lines.lists))
    is_found = np.zeros(lines.starts[-1], bool)
    for numbers in found:
        is_found[np.frombuffer(numbers, np.int64)] = True
    for at, each in enumerate(lines.lists):
        of_list = is_found[lines.starts[at] : lines.starts[at + 1]]
        if of_list.all() and (len(of_list) or each.mark):
            continue
        texts = lines_of(each)
        if not of_list.any():
            first = f", such as {texts[0][1]!r:.100}" if texts else ", for it has none"
            raise ConfigError(
                f"no line of {each.path} names a file that is read{first}; write a file's path "
                "below the input on each line, or its name, and nothing else"
            )
        missing = [text for text, found in zip(texts, of_list, strict=True) if not found]
        for number, text in missing[:_MAX_NAMED]:
            yield _missing(f"{each.name}:{number}", f"{text!r:.200} names no file that is read")
        if more := missing[_MAX_NAMED:]:
            yield _missing(f"{each.name}:{more[0][0]}", f"so do {len(more):,} lines from here on")


def _missing(source: str, detail: str) -> Rejected:
    return Rejected(source=source, reason="missing file", detail=detail)
