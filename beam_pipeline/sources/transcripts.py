"""The layout `transcripts`: what is said in audio, in lists as LibriSpeech's, or in texts of each.

Sources of the formats: LibriSpeech's README (`84-121123.trans.txt`, a line an utterance, beside the
audio of its chapter), LJ Speech's README (`metadata.csv` with `id|text|normalised text`, `wavs/`).
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import RecordError
from beam_pipeline.files import storage
from beam_pipeline.records import Audio, Consumed, Element, FileRef, Record, Rejected
from beam_pipeline.running.pickling import unpack
from beam_pipeline.sources.annotations.side_files import MAX_BYTES, ReadSideFiles
from beam_pipeline.sources.gather import Entry, Gather, ReadInBatches
from beam_pipeline.sources.ignored import NOTHING, Ignored
from beam_pipeline.sources.layout import Claim, Layout, Rank, reading
from beam_pipeline.sources.listing import ListNames
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.paths import below, folder, input_folder, joined, media_kind, stem
from beam_pipeline.sources.tables.cells import Cells
from beam_pipeline.sources.tables.read import ReadCsv
from beam_pipeline.sources.tables.table import Table, TableFile
from beam_pipeline.sources.texts import (
    LabFiles,
    NormalizedFiles,
    TextFiles,
    TextFolderFiles,
    TranscriptFiles,
    is_numbered,
    texts_beside,
)
from beam_pipeline.sources.tree import Tree, counted, head, places
from tfrecord_dataset.split_names import split_in_name

_OF_CHAPTER = ".trans.txt"
_TABLE, _HOME = "metadata.csv", "wavs"
_COLUMNS = {2: ("id", "transcript"), 3: ("id", "raw_transcript", "transcript")}
_BESIDE: tuple[TextFiles, ...] = (
    NormalizedFiles(),
    TextFolderFiles(),
    TranscriptFiles(),
    LabFiles(),
)
# Names of some million files: 32 buckets.
_LISTED_BYTES = 256 << 20


@dataclasses.dataclass
class ReadUtterances(beam.PTransform):
    """A Record {audio, transcript} for each line of a chapter's transcripts, as LibriSpeech has it.

    Its split is the first one in the names of its folders: "train" of `train-clean-100`. Rejected,
    bad, are lines without audio, and audio without a line where others have one.

    Attributes:
        root: The folder, local or remote.
        ignored: Files and folders that are left out.
    """

    root: str
    ignored: Ignored = NOTHING

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        root = input_folder(self.root)
        return (
            pipeline
            | ListNames(root, ignored=self.ignored)  # bytes
            | "SendFolders" >> ReadInBatches(_LISTED_BYTES, by_folder)  # (bucket, batch)
            | "JoinFolders" >> Gather(utterances, (root,))  # Element
        )


def by_folder(batch: bytes) -> Iterator[Entry]:
    """The names in a batch, to those of the same folders."""
    for place, names in unpack(batch):
        yield Entry(place, (min(names),), list(names), sum(map(len, names)))


class Line(NamedTuple):
    """A line of transcripts: where it stands, and what is said."""

    source: str
    text: str


def utterances(place: str, parts: Iterable[list[str]], root: str) -> Iterator[Element]:
    """What the files of one folder are."""
    paths = [joined(place, name) for names in parts for name in names]
    lists = [path for path in paths if path.endswith(_OF_CHAPTER)]
    lines: dict[str, Line] = {}
    yield Consumed(paths=tuple(below(root, path) for path in lists))
    for path in lists:
        try:
            for name, line in lines_of(below(root, path), path):
                if name in lines:
                    raise malformed(f"{line.source} names {name!r}, as does {lines[name].source}")
                lines[name] = line
        except RecordError as error:
            yield Rejected.of(path, error)
    splits = (split_in_name(part) for part in place.split("/"))
    split = next(filter(None, splits), None)
    for path in sorted(set(paths).difference(lists)):
        if media_kind(path) != "audio" or not lists:
            continue
        if (found := lines.pop(stem(path), None)) is None:
            yield Rejected(
                source=path, reason="no annotation", detail="no line of transcripts names it"
            )
        else:
            audio = Audio(file=FileRef(path=below(root, path)))
            yield Record(
                key=path,
                features={"audio": audio, "transcript": found.text},
                split=split,
                source=found.source,
            )
    for name, line in lines.items():
        yield Rejected(
            source=line.source, reason="missing audio", detail=f"no audio is called {name!r}"
        )


def lines_of(path: str, name: str) -> Iterator[tuple[str, Line]]:
    """The lines of a chapter's transcripts, by the name of the audio.

    Raises:
        RecordError: It cannot be read, or a line has no text.
    """
    data = storage.read_bytes(FileRef(path=path), MAX_BYTES)
    for number, line in enumerate(storage.decoded(data, name).splitlines(), start=1):
        spoken, _, text = line.strip().partition(" ")
        if spoken and not text:
            raise malformed(f"line {number}: {spoken!r:.80} has no transcript")
        if spoken:
            yield spoken, Line(f"{name}:{number}", text.strip())


@dataclasses.dataclass
class ReadLjSpeech(ReadCsv):
    """LJ Speech's metadata.csv: ids of audio in wavs/, the text, and the text without numbers.

    As `ReadCsv` reads it; the last column is the transcript.
    """

    def __post_init__(self) -> None:
        self.column_names = _COLUMNS[_first_line(self.path).count("|") + 1]

    def opened(self, file: TableFile) -> Table:
        """As `ReadTables.opened`."""
        cells = Cells(column="audio", template=((f"{_HOME}/", "id"), (".wav", "")))
        return dataclasses.replace(super().opened(file), cells=cells)


def _first_line(path: str) -> str:
    return head(path).decode("utf-8-sig", errors="replace").partition("\n")[0]


def claim_transcripts(tree: Tree, config: BuildConfig) -> Claim | None:
    """LJ Speech's table; LibriSpeech's chapters; or texts beside audio."""
    if not tree.is_folder:
        return None
    for path in sorted(tree.files()):
        if path.rpartition("/")[2] == _TABLE and _is_of_lj_speech(tree, path):
            claim = _claim(Rank.NAMED_TABLE, tree.path(path), f"transcripts in {path}")
            return dataclasses.replace(claim, reads=(_TABLE,))
    is_named = config.layout == "transcripts"
    if tree.only_folder and not is_named:
        return None
    chapters = {
        folder(path): path
        for path in tree.files()
        if path.endswith(_OF_CHAPTER) and "audio" in map(media_kind, tree.look(folder(path)).files)
    }
    if chapters:
        what = f"{tree.at_least}{counted(len(chapters), 'folder')} of transcripts"
        return _claim(Rank.NAMED_TABLE, tree.root, f"{what} ({places(sorted(chapters))})")
    for files in _BESIDE:
        if counts := texts_beside(tree, files):
            is_usual = files.are_told_by_name or all(map(is_numbered, counts))
            rank = Rank.NAMED_TABLE if is_usual else Rank.TABLE
            return _claim(rank, tree.root, tree.told(counts, f".{files.suffix} file"))
    if is_named and (tree.files_with("txt") or tree.files_with("lab")):
        return _claim(Rank.TABLE, tree.root, "texts")
    return None


def _claim(rank: Rank, path: str, what: str) -> Claim:
    return Claim(layout="transcripts", rank=rank, path=path, understood=(("transcripts", what),))


def _is_of_lj_speech(tree: Tree, path: str) -> bool:
    """Whether a table begins with the id of audio in wavs/."""
    first = _first_line(tree.path(path))
    named = f"{first.partition('|')[0]}.wav"
    home = tree.path(joined(folder(path), _HOME))
    return first.count("|") + 1 in _COLUMNS and storage.exists(below(home, named))


def read_transcripts(claim: Claim, config: BuildConfig, scratch: str) -> beam.PTransform:
    """What reads transcripts: LJ Speech's table, or a folder of audio."""
    path = claim.path
    if not storage.is_directory(path):
        return reading(ReadLjSpeech)(claim, config, scratch)
    ignored = Ignored.of(config, path)
    tree = Tree(path, ignored)
    if any(name.endswith(_OF_CHAPTER) for name in tree.files()):
        return ReadUtterances(path, ignored)
    files = next((each for each in _BESIDE if texts_beside(tree, each)), _BESIDE[0])
    return ReadSideFiles.of(path, files, ignored)


LAYOUT = Layout(
    name="transcripts",
    sign="*.trans.txt, metadata.csv and wavs/, or .txt or .lab files next to their audio",
    read=read_transcripts,
    takes=(),
    claim=claim_transcripts,
)
