"""Texts of images and audio, in files with the same name or in lists: `captions`, `transcripts`.

Sources of the formats: LibriSpeech's README (`84-121123.trans.txt`, an utterance per line, next to
the audio of its chapter), LJ Speech's README (`metadata.csv` with `id|text|normalised text`).
"""

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import apache_beam as beam

from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.kinds.wording import first_names
from beam_pipeline.records import Consumed, Value
from beam_pipeline.sources.annotations.shapes import Parsed
from beam_pipeline.sources.annotations.side_files import (
    Pairing,
    ReadSideFiles,
    pairs_in,
    split_in_folders,
)
from beam_pipeline.sources.folders.structure import FolderRoles, Structure, structures
from beam_pipeline.sources.layout import Claim, Layout, Rank, reading
from beam_pipeline.sources.paths import (
    folder,
    is_in,
    media_kind,
    place_of,
    stem,
    suffix,
)
from beam_pipeline.sources.rejects import malformed
from beam_pipeline.sources.tables.csv import ReadCsv
from beam_pipeline.sources.tables.read_tables import ReadContainers, ReadRows
from beam_pipeline.sources.tables.roles import Media, Roles
from beam_pipeline.sources.tables.table import BadRow, Batch, Cells, Scratch, Table, TableFile
from beam_pipeline.sources.tree import Tree, head, places
from beam_pipeline.sources.unread import may_hold_data
from tfrecord_dataset.delimited import bare_lines
from tfrecord_dataset.format.split_names import is_split
from tfrecord_dataset.shown_text import counted

_NUMBERS = re.compile(rb"[\s\d.,eE+-]*\Z")
# Numbers, lines that begin with several, and markup: annotations of a format that is not read.
_NO_WORDS = re.compile(rb"\s*([<{\[]|[-+\d.]+([\s,;]+[-+\d.]+)+[\s,;])|[\s\d.,eE+-]*\Z")
_TIMES = re.compile(r"\d+(\.\d+)?\s+\d+(\.\d+)?\s+\S+")
_SPAN = re.compile(r"\A\d+ \d+ (?=[^\n]+\Z)")  # of all samples, as in TIMIT's one line
_AUDIO_HOMES = ("wav48_silence_trimmed", "wav48", "wavs", "wav", "flac", "audio")
_MICROPHONE = re.compile(r"_mic\d$")
_FILES_LOOKED_INTO = 5
# LibriSpeech's and LJ Speech's lists.
_OF_CHAPTER = ".trans.txt"
_MAX_BYTES = 16 << 20
_TABLE, _HOME = "metadata.csv", "wavs"
_COLUMNS = {2: ("id", "transcript"), 3: ("id", "raw_transcript", "transcript")}
_ROLES = Roles(key="audio", media=(Media("audio", "audio", "audio"),))


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextFiles:
    """Text files with the name of their image or audio.

    Attributes:
        pairing: How they are paired and parsed.
        has_own_name: Whether the names identify the format, so that folders are not classes.
        no_text: Matches the start of files that are not texts.
    """

    pairing: Pairing
    has_own_name: bool = False
    no_text: re.Pattern[bytes] = _NUMBERS


def _parse_captions(data: bytes, annotation: str, classes: FolderRoles | None = None) -> Parsed:
    """The captions of an image, one per line, and the class of its folder."""
    lines = bare_lines(storage.decoded(data, annotation))
    captions = tuple(line.strip() for line in lines if line.strip())
    features: dict[str, Value] = {"captions": captions}
    if classes:
        features["label"] = classes.label_of(annotation)
    return features, Counter()


def _class_folders(tree: Tree) -> Structure:
    """Return the structure of the images if all are in class folders, else an empty one.

    Numbered folders are parts of a larger one: 00000/, 00001/.
    """
    images = structures(tree.names()).get("image", Structure())
    roles, names = images.roles(), images.classes()
    placed = [roles.place(place) for place in images.folders]
    are_classes = len(names) > 1 and all(place and place[1] for place in placed)
    are_others = any(name.isdigit() or is_split(name) for name in names)
    return images if are_classes and not are_others else Structure()


def _parse_transcript(data: bytes, annotation: str) -> Parsed:
    text = _SPAN.sub("", storage.decoded(data, annotation).strip())
    if _TIMES.match(text):
        raise malformed(
            f"it begins with times, {bare_lines(text)[0].strip()!r:.80}; write only the words"
        )
    return {"transcript": text}, Counter()


def _is_in_text_folder(path: str) -> bool:
    return may_hold_data(path) and is_in(path, "txt")


def _key_without_microphone(audio: str) -> str:
    return _MICROPHONE.sub("", place_of(audio))


_TEXT = Pairing(
    suffix="txt",
    noun="text file",
    parse=_parse_captions,
    max_bytes=1 << 20,
    is_annotation=may_hold_data,
)
_TRANSCRIPT = dataclasses.replace(_TEXT, parse=_parse_transcript, media="audio")
_CAPTIONS = (TextFiles(pairing=_TEXT, no_text=_NO_WORDS),)
# LibriTTS: a.wav and a.normalized.txt, in folders named after splits.
_NORMALIZED = TextFiles(
    pairing=dataclasses.replace(_TRANSCRIPT, suffix="normalized.txt", split_of=split_in_folders),
    has_own_name=True,
)
# VCTK: txt/p1/a.txt, wav48/p1/a_mic1.flac.
_IN_FOLDERS = TextFiles(
    pairing=dataclasses.replace(
        _TRANSCRIPT,
        home="txt",
        image_homes=_AUDIO_HOMES,
        is_annotation=_is_in_text_folder,
        image_key=_key_without_microphone,
        is_shared=True,
    ),
    has_own_name=True,
)
_TRANSCRIPTS = (
    *(_NORMALIZED, _IN_FOLDERS, TextFiles(pairing=_TRANSCRIPT)),
    TextFiles(pairing=dataclasses.replace(_TRANSCRIPT, suffix="lab")),  # as used by aligners
)


def texts_beside(tree: Tree, texts: TextFiles) -> dict[str, int]:
    """Count the texts of files by folder.

    Empty if most files have no text, or if the texts are numbers, as YOLO's labels are.
    """
    files = texts.pairing
    if not tree.files_with(files.suffix):
        return {}
    pairs = pairs_in(tree, files)
    paired = [text for _, text, _ in pairs if text]
    first = [path for path in sorted(paired) if not is_in(path, "labels")][:_FILES_LOOKED_INTO]
    if len(paired) * 2 < len(pairs) or all(texts.no_text.match(tree.head(path)) for path in first):
        return {}
    return tree.counted(sorted({*paired}))


def _with_marks(tree: Tree, formats: Sequence[TextFiles]) -> Iterator[TextFiles]:
    """Yield formats, and the last one of .txt files with the mark that most of these have."""
    yield from formats
    texts = [each for each in formats if each.pairing.suffix == _TEXT.suffix][-1]
    marks = Counter(suffix(stem(path)) for path in tree.files_with(_TEXT.suffix))
    if mark := max(marks, key=lambda each: marks[each], default=""):
        marked = dataclasses.replace(texts.pairing, suffix=f"{mark}.{_TEXT.suffix}")
        yield dataclasses.replace(texts, pairing=marked)


def claim_of_texts(
    layout: str, tree: Tree, config: BuildConfig, formats: Sequence[TextFiles]
) -> Claim | None:
    """Claim texts next to images or audio, in the first format that matches."""
    is_named = config.layout == layout
    if not tree.is_folder or (tree.only_folder and not is_named):
        return None
    ways = ((files, texts_beside(tree, files)) for files in _with_marks(tree, formats))
    files, counts = next((way for way in ways if way[1]), (formats[0], {}))
    likely = any(tree.files_with(each.pairing.suffix) for each in formats)
    if not counts and not (is_named and likely):
        return None
    # Numbered folders are parts of a larger one: 00000/, 00001/.
    are_classes = any(home and not stem(home).isdigit() for home in counts)
    pairing = files.pairing
    noun = f".{pairing.suffix} file"
    understood = [(layout, tree.describe_counts(counts, noun))] if counts else []
    structure = _class_folders(tree) if layout == "captions" else Structure()
    if structure.folders:
        pairing = dataclasses.replace(
            pairing, parse=functools.partial(_parse_captions, classes=structure.roles())
        )
        names = sorted(structure.classes())
        folders = f"{counted(len(names), 'class folder')} ({first_names(names)})"
        understood.append(("classes", folders))
    return Claim(
        layout=layout,
        rank=Rank.NAMED_TABLE if files.has_own_name or not are_classes else Rank.TABLE,
        path=tree.root,
        understood=tuple(understood),
        side_suffixes=frozenset({pairing.suffix.rpartition(".")[2]}),
        plan=ReadSideFiles.of(tree, pairing),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChapterTable(Table):
    """A LibriSpeech chapter: lines with the audio's name, without `.{ending}`, and the text."""

    is_typed = False

    ending: str

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        content = storage.read_text(self.file.path, _MAX_BYTES)
        columns: dict[str, list[str]] = {"audio": [], "transcript": []}
        lines, bad = [], []
        for number, line in enumerate(bare_lines(content), start=1):
            name, _, text = line.strip().partition(" ")
            if text.strip():
                columns["audio"].append(f"{name}.{self.ending}")
                columns["transcript"].append(text.strip())
                lines.append(number)
            elif name:
                bad.append(BadRow(number, f"{name!r:.80} has no transcript"))
        yield Batch(columns=columns, lines=lines, bad=bad)


@dataclasses.dataclass
class ReadChapters(ReadContainers):
    """A Record {audio, transcript} for each line of a chapter's transcripts."""

    ending: str = "flac"

    def is_meant(self, path: str) -> bool:
        return path.endswith(_OF_CHAPTER)

    def opened(self, file: TableFile) -> Table:
        file = dataclasses.replace(file, split=split_in_folders(file.relative))
        return ChapterTable(file=file, header=("audio", "transcript"), ending=self.ending)

    def job(self) -> ReadRows:
        """Like `ReadTables.job`, without reading any chapter first."""
        files = self.files()
        consumed = Consumed(paths=tuple(file.path for file in files))
        return ReadRows([*map(self.opened, files)], _ROLES, self.scratch, [consumed])


@dataclasses.dataclass
class ReadLjSpeech(ReadCsv):
    """LJ Speech's metadata.csv: ids of audio in wavs/, the text, and the text without numbers.

    Read by `ReadCsv`; the last column is the transcript.
    """

    def __post_init__(self) -> None:
        self.column_names = _COLUMNS[_first_line(self.path).count("|") + 1]

    def opened(self, file: TableFile) -> Table:
        cells = Cells(column="audio", template=((f"{_HOME}/", "id"), (".wav", "")))
        return dataclasses.replace(super().opened(file), cells=cells)


def _first_line(path: str) -> str:
    return head(path).decode("utf-8-sig", errors="replace").partition("\n")[0]


def claim_transcripts(tree: Tree, config: BuildConfig) -> Claim | None:
    """Claim LJ Speech's table, LibriSpeech's chapters, or texts next to audio."""
    if not tree.is_folder:
        return None
    for path in tree.files_with("csv"):
        if path.rpartition("/")[2] == _TABLE and _is_of_lj_speech(tree.path(path)):
            return _claim(tree.path(path), f"transcripts in {path}", (_TABLE,))
    if chapters := _chapters(tree):
        if tree.only_folder and config.layout != "transcripts":
            return None
        what = f"{tree.at_least}{counted(len(chapters), 'folder')} of transcripts"
        claim = _claim(tree.root, f"{what} ({places(sorted(chapters))})")
        return dataclasses.replace(claim, plan=min(chapters.values()))
    return claim_of_texts("transcripts", tree, config, _TRANSCRIPTS)


def _claim(path: str, what: str, reads: tuple[str, ...] = ()) -> Claim:
    understood = (("transcripts", what),)
    rank = Rank.NAMED_TABLE
    return Claim(layout="transcripts", rank=rank, path=path, reads=reads, understood=understood)


def _chapters(tree: Tree) -> dict[str, str]:
    homes = {folder(path) for path in tree.files_with("txt") if path.endswith(_OF_CHAPTER)}
    files = ((home, name) for home in homes for name in reversed(tree.look(home).files))
    return {home: suffix(name) for home, name in files if media_kind(name) == "audio"}


def _is_of_lj_speech(path: str) -> bool:
    """Whether a table begins with the id of audio in wavs/."""
    first = _first_line(path)
    audio = f"{folder(path)}/{_HOME}/{first.partition('|')[0]}.wav"
    return first.count("|") + 1 in _COLUMNS and storage.exists(audio)


def read_transcripts(claim: Claim, config: BuildConfig, scratch: str) -> beam.PTransform:
    """Read LJ Speech's table, LibriSpeech's chapters, or texts next to audio."""
    if isinstance(claim.plan, ReadSideFiles):
        return claim.plan
    if not storage.is_directory(claim.path):
        return reading(ReadLjSpeech)(claim, config, scratch)
    source = reading(ReadChapters)(claim, config, scratch)
    return dataclasses.replace(source, ending=claim.plan, claimed=None)


CAPTIONS = Layout(
    name="captions",
    sign=".txt files with captions next to their images",
    claim=lambda tree, config: claim_of_texts("captions", tree, config, _CAPTIONS),
    takes=(),
)
TRANSCRIPTS = Layout(
    name="transcripts",
    sign="*.trans.txt, metadata.csv and wavs/, or .txt or .lab files next to their audio",
    read=read_transcripts,
    takes=(),
    claim=claim_transcripts,
)
