"""The layout `transcripts`: transcripts of audio in lists, such as LibriSpeech's, or in text files.

Sources of the formats: LibriSpeech's README (`84-121123.trans.txt`, an utterance per line, next to
the audio of its chapter), LJ Speech's README (`metadata.csv` with `id|text|normalised text`).
"""

import dataclasses
from collections.abc import Iterator

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.records import Consumed, FileRef
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.layout import Claim, Layout, Rank, reading
from beam_pipeline.sources.paths import below, folder, joined, media_kind, suffix
from beam_pipeline.sources.tables.cells import Cells
from beam_pipeline.sources.tables.csv import ReadCsv
from beam_pipeline.sources.tables.read_tables import ReadContainers
from beam_pipeline.sources.tables.record_maker import ReadRows
from beam_pipeline.sources.tables.roles import Media, Roles
from beam_pipeline.sources.tables.table import BadRow, Batch, Scratch, Table, TableFile
from beam_pipeline.sources.texts import (
    LabFiles,
    NormalizedFiles,
    TextFolderFiles,
    TranscriptFiles,
    claim_of_texts,
    read_texts,
)
from beam_pipeline.sources.tree import Tree, head, places
from tfrecord_dataset.format.split_names import split_in_name
from tfrecord_dataset.shown_text import counted

_OF_CHAPTER = ".trans.txt"
_MAX_BYTES = 16 << 20
_TABLE, _HOME = "metadata.csv", "wavs"
_COLUMNS = {2: ("id", "transcript"), 3: ("id", "raw_transcript", "transcript")}
_BESIDE = (NormalizedFiles(), TextFolderFiles(), TranscriptFiles(), LabFiles())
_ROLES = Roles(key="audio", media=(Media("audio", "audio", "audio"),))


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChapterTable(Table):
    """LibriSpeech's transcripts of a chapter: on each line the name of its audio, and the words.

    Attributes:
        ending: The suffix of the audio.
    """

    is_typed = False

    ending: str

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        """As `Table.rows`."""
        data = storage.read_bytes(FileRef(path=self.file.path), _MAX_BYTES)
        lines = storage.decoded(data, self.file.relative).splitlines()
        said = {number: line.strip().partition(" ") for number, line in enumerate(lines, start=1)}
        texts = {number: each for number, each in said.items() if each[2].strip()}
        columns = {
            "audio": [f"{name}.{self.ending}" for name, _, _ in texts.values()],
            "transcript": [text.strip() for _, _, text in texts.values()],
        }
        without = [number for number in said if said[number][0] and number not in texts]
        bad = [BadRow(number, f"{said[number][0]!r:.80} has no transcript") for number in without]
        yield Batch(columns=columns, lines=[*texts], bad=bad)


@dataclasses.dataclass
class ReadChapters(ReadContainers):
    """A Record {audio, transcript} for each line of a chapter's transcripts.

    Its split is the first one in the names of its folders: "train" of `train-clean-100`.

    Attributes:
        ending: The suffix of the audio.
    """

    ending: str = "flac"

    def is_meant(self, path: str) -> bool:
        """As `ReadContainers.is_meant`."""
        return _is_chapter(path)

    def opened(self, file: TableFile) -> Table:
        """As `ReadTables.opened`."""
        splits = map(split_in_name, folder(file.relative).split("/"))
        file = dataclasses.replace(file, split=next(filter(None, splits), None))
        return ChapterTable(file=file, header=("audio", "transcript"), ending=self.ending)

    def job(self) -> ReadRows:
        """As `ReadTables.job`; no chapter has to be looked into."""
        files = self.files()
        consumed = Consumed(paths=tuple(file.path for file in files))
        return ReadRows([*map(self.opened, files)], _ROLES, self.scratch, [consumed])


def _is_chapter(path: str) -> bool:
    return path.endswith(_OF_CHAPTER)


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
    """Claim LJ Speech's table, LibriSpeech's chapters, or texts next to audio."""
    if not tree.is_folder:
        return None
    for path in tree.files_with("csv"):
        if path.rpartition("/")[2] == _TABLE and _is_of_lj_speech(tree, path):
            claim = _claim(tree.path(path), f"transcripts in {path}")
            return dataclasses.replace(claim, reads=(_TABLE,))
    if chapters := _chapters(tree):
        if tree.only_folder and config.layout != "transcripts":
            return None
        what = f"{tree.at_least}{counted(len(chapters), 'folder')} of transcripts"
        return _claim(tree.root, f"{what} ({places(sorted(chapters))})")
    return claim_of_texts("transcripts", tree, config, _BESIDE)


def _claim(path: str, what: str) -> Claim:
    understood = (("transcripts", what),)
    return Claim(layout="transcripts", rank=Rank.NAMED_TABLE, path=path, understood=understood)


def _chapters(tree: Tree) -> dict[str, str]:
    """Find the suffix of LibriSpeech's audio files, by folder."""
    texts_by_name: dict[str, str] = {}
    for home in {folder(path) for path in filter(_is_chapter, tree.files_with("txt"))}:
        audio = [name for name in tree.look(home).files if media_kind(name) == "audio"]
        texts_by_name |= {home: suffix(audio[0])} if audio else {}
    return texts_by_name


def _is_of_lj_speech(tree: Tree, path: str) -> bool:
    """Whether a table begins with the id of audio in wavs/."""
    first = _first_line(tree.path(path))
    named = f"{first.partition('|')[0]}.wav"
    home = tree.path(joined(folder(path), _HOME))
    return first.count("|") + 1 in _COLUMNS and storage.exists(below(home, named))


def read_transcripts(claim: Claim, config: BuildConfig, scratch: str) -> beam.PTransform:
    """Read LJ Speech's table, LibriSpeech's chapters, or texts next to audio."""
    if not storage.is_directory(claim.path):
        return reading(ReadLjSpeech)(claim, config, scratch)
    tree = Tree(claim.path, Ignored.of(config, claim.path))
    if chapters := _chapters(tree):
        source = reading(ReadChapters)(claim, config, scratch)
        return dataclasses.replace(source, ending=min(chapters.values()))
    return read_texts(claim, config, _BESIDE)


LAYOUT = Layout(
    name="transcripts",
    sign="*.trans.txt, metadata.csv and wavs/, or .txt or .lab files next to their audio",
    read=read_transcripts,
    takes=(),
    claim=claim_transcripts,
)
