"""Text files with the names of images or audio files: captions, transcripts; layout `captions`."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from beam_pipeline.config import BuildConfig
from beam_pipeline.files import storage
from beam_pipeline.sources.annotations.shapes import Parsed
from beam_pipeline.sources.annotations.side_files import ReadSideFiles, SideFiles
from beam_pipeline.sources.ignored import Ignored
from beam_pipeline.sources.layout import Claim, Layout, Rank
from beam_pipeline.sources.malformed import malformed
from beam_pipeline.sources.paths import folder, place_of, split_at, stem
from beam_pipeline.sources.tree import Tree
from beam_pipeline.sources.unread import may_hold_data
from tfrecord_dataset.format.split_names import split_in_name

_NUMBERS = re.compile(rb"[\s\d.,eE+-]*")
_TIMES = re.compile(r"\d+(\.\d+)?\s+\d+(\.\d+)?\s+\S+")
_SPAN = re.compile(r"\A\d+ \d+ (?=[^\n]+\Z)")  # of all samples, as TIMIT's one line has them
_NORMALIZED = ".normalized"
_AUDIO_HOMES = ("wav48_silence_trimmed", "wav48", "wavs", "wav", "flac", "audio")
_MICROPHONE = re.compile(r"_mic\d$")
_FILES_LOOKED_INTO = 5


class TextFiles(SideFiles):
    """Texts, each in the folder of the image or audio whose name it has.

    Attributes:
        feature: What they are.
        has_own_name: Whether only such texts have these names, so that folders are not classes.
    """

    suffix = "txt"
    noun = "text file"
    max_bytes = 1 << 20
    feature: ClassVar[str] = ""
    has_own_name: ClassVar[bool] = False

    def annotates(self, path: str) -> bool:
        return super().annotates(path) and may_hold_data(path)


class CaptionFiles(TextFiles):
    """Captions of an image, one a line."""

    feature = "captions"

    def parse(self, data: bytes, annotation: str) -> Parsed:
        lines = storage.decoded(data, annotation).splitlines()
        captions = tuple(line.strip() for line in lines if line.strip())
        return {self.feature: captions}, Counter()


class TranscriptFiles(TextFiles):
    """The transcript of an audio file."""

    media = "audio"
    feature = "transcript"

    def parse(self, data: bytes, annotation: str) -> Parsed:
        text = _SPAN.sub("", storage.decoded(data, annotation).strip())
        if _TIMES.match(text):
            raise malformed(
                f"it begins with times, {text.splitlines()[0]!r:.80}; write only the words"
            )
        return {self.feature: text}, Counter()


class LabFiles(TranscriptFiles):
    """Transcripts in .lab files, as aligners read them."""

    suffix = "lab"


class NormalizedFiles(TranscriptFiles):
    """Transcripts of LibriTTS: a.wav and a.normalized.txt, in parts called after splits."""

    has_own_name = True

    def annotates(self, path: str) -> bool:
        return path.endswith(f"{_NORMALIZED}.txt")

    def common_name(self, path: str) -> str:
        return super().common_name(path).removesuffix(_NORMALIZED)

    def image_keys(self, annotation: str, name: str) -> list[str]:
        return [place_of(annotation).removesuffix(_NORMALIZED)]

    def split_of_folder(self, path: str) -> str | None:
        return next(filter(None, map(split_in_name, folder(path).split("/"))), None)


class TextFolderFiles(TranscriptFiles):
    """Transcripts in folders of their own, as in VCTK: txt/p1/a.txt, wav48/p1/a_mic1.flac."""

    home = "txt"
    is_shared = True
    has_own_name = True

    def annotates(self, path: str) -> bool:
        return super().annotates(path) and split_at(path, self.home) is not None

    def common_name(self, path: str) -> str:
        return _MICROPHONE.sub("", super().common_name(path))

    def image_key(self, image: str) -> str:
        home = next((home for home in _AUDIO_HOMES if split_at(image, home)), "")
        return _MICROPHONE.sub("", place_of(image, home))


def texts_beside(tree: Tree, files: TextFiles) -> dict[str, int]:
    """Count the texts of files by folder.

    None count if most files have no text, or the texts are numbers, as YOLO's labels are.
    """
    if not (likely := tree.files_with(files.suffix)):
        return {}
    media = {files.image_key(path) for path in tree.files_of(files.media)}
    texts = [
        path
        for path in likely
        if files.annotates(path) and not media.isdisjoint(files.image_keys(path, ""))
    ]
    first = (path for path in texts[:_FILES_LOOKED_INTO] if not split_at(path, "labels"))
    if len(texts) * 2 < len(media) or all(_NUMBERS.fullmatch(tree.head(path)) for path in first):
        return {}
    return tree.counted(texts)


def claim_of_texts(
    layout: str, tree: Tree, config: BuildConfig, formats: Sequence[TextFiles]
) -> Claim | None:
    """Claim texts next to images or audio, in the first format that matches."""
    is_named = config.layout == layout
    if not tree.is_folder or (tree.only_folder and not is_named):
        return None
    for files in formats:
        if counts := texts_beside(tree, files):
            is_usual = files.has_own_name or all(map(_is_numbered, counts))
            rank = Rank.NAMED_TABLE if is_usual else Rank.TABLE
            what = tree.describe_counts(counts, f".{files.suffix} file")
            return Claim(layout=layout, rank=rank, path=tree.root, understood=((layout, what),))
    if is_named and any(tree.files_with(files.suffix) for files in formats):
        return Claim(layout=layout, rank=Rank.TABLE, path=tree.root)
    return None


def _is_numbered(path: str) -> bool:
    """Return whether a folder is a numbered part of a larger one: 00000/, 00001/."""
    return not path or stem(path).isdigit()


def read_texts(claim: Claim, config: BuildConfig, formats: Sequence[TextFiles]) -> ReadSideFiles:
    """Read texts in the first format that matches."""
    ignored = Ignored.of(config, claim.path)
    tree = Tree(claim.path, ignored)
    files = next((each for each in formats if texts_beside(tree, each)), formats[0])
    return ReadSideFiles.of(claim.path, files, ignored)


CAPTIONS = Layout(
    name="captions",
    sign=".txt files with captions next to their images",
    claim=lambda tree, config: claim_of_texts("captions", tree, config, [CaptionFiles()]),
    read=lambda claim, config, _: read_texts(claim, config, [CaptionFiles()]),
    takes=(),
)
