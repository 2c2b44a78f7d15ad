"""Find unread data: the listing of an input minus the files that its source used.

Used files are those of records, the paths of `Consumed` and the sources of `Rejected`. They are
shuffled as packed hashes, the listing as packed batches of names.
"""

import dataclasses
import re
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam.typehints.decorators import no_annotations

from beam_pipeline.problems import Problem, ignoring
from beam_pipeline.records import NOT_READ, Consumed, Element, Record, Rejected, file_of
from beam_pipeline.running.batches import in_global_window
from beam_pipeline.running.pickling import pack, unpack
from beam_pipeline.sources.listing import ListNames, Names
from beam_pipeline.sources.paths import below, hash_of, media_kind, stem, suffix, uncompressed
from beam_pipeline.sources.rejects import left_out
from beam_pipeline.sources.tree import NOTHING, Ignored
from tfrecord_dataset.format.split_names import split_in_name
from tfrecord_dataset.store.listing import paths_in

# Suffixes of documents, programs, settings and parts of web pages.
_NO_DATA = frozenset(
    {"md", "rst", "html", "htm", "pdf", "doc", "docx", "rtf", "tex", "bib", "ppt", "pptx"}
    | {"py", "ipynb", "sh", "bat", "js", "css", "c", "cc", "cpp", "h", "java", "m", "r", "go"}
    | {"exe", "cff", "ini", "cfg", "toml", "log", "lock", "tmp", "bak"}
    | {"gitignore", "gitattributes", "gitkeep"}
    | {"ttf", "otf", "woff", "ico", "url", "md5", "sha1", "sha256", "asc", "sig", "torrent"}
)
_SETTINGS = frozenset({"yaml", "yml"})  # but train.yaml may hold the boxes of a split
_HARMLESS = re.compile(
    r"read_?me|licen[cs]e|copying|copyright|notice|changelog|changes|citation|attribution|authors"
    r"|credits|acknowledg|requirements|checksum|md5|sha(1|256|512)|terms|url",
    re.IGNORECASE,
)
_TO_NPZ = "load it where you trust it, and save its arrays with numpy.savez"
_TO_FRAMES = "write its frames as images in a folder of its name, for example with ffmpeg"
_TO_PNG = "write it as PNG, for example with ImageMagick"
_TO_TABLE = "write it as CSV or Parquet, for example with pandas (docs/from/convert.md)"
# By suffix: name of the format, and remedy.
_FORMATS = {
    suffix: (what, remedy)
    for suffixes, what, remedy in (
        ("pkl pickle pt pth", "a pickle, which may run code", _TO_NPZ),
        ("mdb lmdb", "an LMDB", "write its values as files in class folders"),
        ("rec", "MXNet's RecordIO", "write its images as files in class folders"),
        ("mp4 avi mov mkv webm mpg m4v", "a video", _TO_FRAMES),
        ("rar 7z lz4 lzma lz z", "an archive", "unpack it"),
        ("mat", "a file of MATLAB", "convert it with scipy.io.loadmat and numpy.savez"),
        ("db sqlite sqlite3", "a database", _TO_TABLE),
        ("arff sav dta sas7bdat rds", "a table", _TO_TABLE),
        ("edf bdf fif gdf hea", "a recording", _TO_NPZ),
        ("dcm dicom dic", "DICOM", "write the pixels as PNG or .npy, for example with pydicom"),
        ("svg svgz eps ai", "a drawing", "write it as PNG, for example with rsvg-convert"),
        ("psd xcf tga dds exr hdr jxl", "an image in a format of its own", _TO_PNG),
        ("dng cr2 cr3 nef arw raf orf rw2", "a raw photograph", _TO_PNG),
        ("nii", "NIfTI", "write each slice as .npy, for example with nibabel and numpy.save"),
        ("mhd mha off obj ply stl", "a scan or mesh", _TO_NPZ),
    )
    for suffix in suffixes.split()
}
_BUCKETS = 64
_MOST_WAITING = 1 << 16


def may_hold_data(path: str) -> bool:
    """Whether a file may be a table, list, annotation, archive or of an unknown format.

    Images, audio, and files named like a README, document, program or settings are not.
    """
    ending = suffix(path)
    if not ending or ending in _NO_DATA or media_kind(path) in ("image", "audio"):
        return False
    if ending in _SETTINGS:
        return split_in_name(stem(path)) is not None
    return not (ending == "txt" and _HARMLESS.search(stem(path)))


def format_problem(paths: Iterable[str]) -> Problem | None:
    """Return why the first file of a known format is not read; None if there is none."""
    for path in paths:
        if known := _FORMATS.get(suffix(uncompressed(path))):
            what, remedy = known
            return Problem(
                code="format not read", facts={"path": path, "what": what, "remedy": remedy}
            )
    return None


def not_read(path: str) -> Rejected:
    """Make the reject for a file below the input that no record or annotation uses."""
    if (kind := media_kind(path)) in ("image", "audio"):
        return left_out(path, f"unused {kind}", "no record or annotation names it")
    if may_hold_data(path):
        usual = f"it may hold data; read it as the input, or pass {ignoring(path)}"
        return left_out(path, NOT_READ, str(format_problem([path]) or usual))
    return left_out(path, "not a data file", "its name says that it holds no data")


@dataclasses.dataclass
class AccountForFiles(beam.PTransform):
    """Read a source, and reject each file that its elements do not use.

    Yields (PCollection[Element], PCollection[Rejected]), since merging costs more per element than
    comparing.

    Attributes:
        source: Source of the elements.
        root: The folder to list.
        base: The folder that sources of rejects are relative to.
        reads: Absolute paths of other files that the source reads.
        ignored: Files and folders to leave out.
        reader: Part of the source that reads files; gets `names` if its `listing` is the same.
    """

    source: beam.PTransform
    root: str
    base: str
    reads: tuple[str, ...] = ()
    ignored: Ignored = NOTHING
    reader: Any = None

    @no_annotations  # Beam allows only PCollections in hints
    def expand(
        self, pipeline: beam.pvalue.PBegin
    ) -> tuple[beam.PCollection[Element], beam.PCollection[Rejected]]:
        listing = ListNames(self.root, ignored=self.ignored)
        names = pipeline | "ListAll" >> listing  # bytes
        if getattr(self.reader, "listing", None) == listing:
            self.reader.names = names
        elements = pipeline | "Source" >> self.source  # Element
        bases = tuple(dict.fromkeys((self.base, self.root)))
        unread = (
            (
                elements | "HashAccounted" >> beam.ParDo(_HashAccounted(bases)),
                names | "DivideNames" >> beam.FlatMap(_divided, self.root, frozenset(self.reads)),
            )
            | "AllFiles" >> beam.Flatten()  # (bucket, hashes or packed names)
            | "GroupFiles" >> beam.GroupByKey()
            | "FindUnread" >> beam.FlatMap(_unread, self.root)  # Rejected
        )
        return elements, unread


def accounted(element: Element, bases: Iterable[str]) -> Iterator[str]:
    """Yield the paths of the files that an element uses."""
    if isinstance(element, Record):
        for value in element.features.values():
            if file := file_of(value):
                yield file.path
    elif isinstance(element, Consumed):
        yield from element.paths
    elif isinstance(element, Rejected):
        yield from (below(base, element.source) for base in bases)


class _HashAccounted(beam.DoFn):
    """Turn elements into (bucket, hashes of files), a few pairs per bundle."""

    def __init__(self, bases: tuple[str, ...]) -> None:
        self._bases = bases

    def start_bundle(self) -> None:
        self._hashes: set[int] = set()

    @no_annotations  # not a generator, since it is called for every element
    def process(self, element: Element) -> Iterable[tuple[int, bytes]]:
        self._hashes.update(map(hash_of, accounted(element, self._bases)))
        return self._sent() if len(self._hashes) >= _MOST_WAITING else ()

    def finish_bundle(self) -> Iterator[Any]:
        yield from map(in_global_window, self._sent())

    def _sent(self) -> Iterator[tuple[int, bytes]]:
        by_bucket: dict[int, array[int]] = {}
        for each in self._hashes:
            by_bucket.setdefault(each % _BUCKETS, array("Q")).append(each)
        self._hashes = set()
        return ((bucket, b"h" + hashes.tobytes()) for bucket, hashes in by_bucket.items())


def _divided(batch: bytes, root: str, reads: Collection[str]) -> Iterator[tuple[int, bytes]]:
    by_bucket: defaultdict[int, list[Names]] = defaultdict(list)
    for folder, names in unpack(batch):
        prefix = below(root, f"{folder}/" if folder else "")
        divided: defaultdict[int, list[str]] = defaultdict(list)
        for name in names:
            if prefix + name not in reads:
                divided[hash_of(prefix + name) % _BUCKETS].append(name)
        for bucket, some in divided.items():
            by_bucket[bucket].append((folder, some))
    return ((bucket, b"n" + pack(some)) for bucket, some in by_bucket.items())


def _unread(bucket: tuple[int, Iterable[bytes]], root: str) -> Iterator[Rejected]:
    """Reject the files of a bucket whose hashes are not in it."""
    hashes: set[int] = set()
    batches = []
    for sent in bucket[1]:
        if sent.startswith(b"h"):
            positions = array("Q")
            positions.frombytes(sent[1:])
            hashes.update(positions)
        else:
            batches.append(sent[1:])
    for path in paths_in(names for batch in batches for names in unpack(batch)):
        if hash_of(below(root, path)) not in hashes:
            yield not_read(path)
