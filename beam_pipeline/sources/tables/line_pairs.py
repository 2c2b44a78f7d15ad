"""Read texts and their labels in files of equally many lines: `x_text.txt` and `x_labels.txt`."""

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import DataError, RecordError
from beam_pipeline.files import storage
from beam_pipeline.sources.layout import Claim, Rank, reading, source_layout
from beam_pipeline.sources.paths import folder, media_kind, name_of, stem, suffix
from beam_pipeline.sources.tables.read_tables import ReadTables
from beam_pipeline.sources.tables.table import (
    BATCH_ROWS,
    BadRow,
    Batch,
    ColumnDeclaration,
    Scratch,
    Table,
    TableFile,
)
from beam_pipeline.sources.tables.table_layouts import with_plan
from beam_pipeline.sources.tree import Tree, shown
from beam_pipeline.sources.unread import may_hold_data
from tfrecord_dataset.delimited import (
    DEFAULT_ENCODING,
    UNREADABLE,
    LongLineError,
    bare_lines,
    text_blocks,
)
from tfrecord_dataset.format.split_names import is_split

_TEXTS = frozenset({"text", "texts", "sentence", "sentences", "document", "documents"})
_LABELS = frozenset({"label", "labels", "class", "classes", "category", "categories"})
_WORD = re.compile("[A-Za-z]+")
_CLASS = re.compile(r"([0-9]{1,9})[\t ]+(\S.*)")
_HEADER = ("text", "label")


def label_files_of(names: Sequence[str]) -> dict[str, str]:
    """Return the file of labels by the file of texts, whose name differs from it in one word."""
    places: dict[tuple[str, str], dict[str, list[str]]] = {}
    for name in names:
        base = stem(name_of(name))
        for word in _WORD.finditer(base):
            kinds = [each for each in (_TEXTS, _LABELS) if word[0].lower() in each]
            if kinds:
                rest = f"{base[: word.start()]}\0{base[word.end() :]}"
                kind = _HEADER[kinds[0] is _LABELS]
                places.setdefault((folder(name), rest), {}).setdefault(kind, []).append(name)
    return {
        files["text"][0]: files["label"][0]
        for files in places.values()
        if [len(files.get(kind, ())) for kind in _HEADER] == [1, 1]
    }


def lines_of_file(path: str, encoding: str = DEFAULT_ENCODING) -> Iterator[str]:
    """Yield the lines of a text file, without their ends; raise DataError if it is unreadable."""
    try:
        with storage.decompressed(path) as content:
            for block in text_blocks(content, encoding):
                yield from bare_lines(block)
    except (RecordError, LongLineError) as error:
        raise DataError(f"{path} cannot be read ({error}); fetch it again") from error


def classes_in(path: str) -> dict[str, str]:
    """Return the names of classes by number in lines such as "0", a tab, "cat"; else {}."""
    matches = [_CLASS.fullmatch(line.strip()) for line in lines_of_file(path) if line.strip()]
    found = {match[1]: match[2] for match in matches if match}
    are_all = len(found) == len(matches) and len(set(found.values())) == len(found)
    return dict(sorted(found.items(), key=lambda item: int(item[0]))) if are_all else {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinePairs(Table):
    """A file of texts, and the labels on the same lines of `labels`.

    Attributes:
        labels: The path of the file of labels.
        names: The names of classes by the label that is written for them; others stay.
        encoding: Python's name of the encoding.
    """

    is_typed = False

    labels: str
    names: Mapping[str, str]
    encoding: str

    def rows(self, scratch: Scratch | None = None) -> Iterator[Batch]:
        pairs = itertools.zip_longest(
            lines_of_file(self.file.path, self.encoding), lines_of_file(self.labels, self.encoding)
        )
        rows = enumerate(pairs, start=1)
        while some := dict(itertools.islice(rows, BATCH_ROWS)):
            if None in itertools.chain(*some.values()):
                raise DataError(
                    f"{self.file.path} and {self.labels} have different numbers of lines; write a "
                    "label for each text"
                )
            bad = [line for line, pair in some.items() if UNREADABLE in "".join(pair)]
            why = f"not {self.encoding}; set encoding if the file has another"
            good = {line: pair for line, pair in some.items() if line not in bad}
            texts, labels = zip(*good.values(), strict=True) if good else ((), ())
            stripped = [label.strip() for label in labels]
            yield Batch(
                columns={
                    "text": list(texts),
                    "label": [self.names.get(label, label) for label in stripped],
                },
                lines=[*good],
                bad=[BadRow(line, why) for line in bad],
            )


@dataclasses.dataclass
class ReadLinePairs(ReadTables):
    """Read pairs of files, one record {text, label} per line.

    Attributes:
        encoding: Python's name of the encoding.
    """

    suffixes = ("txt",)

    encoding: str = DEFAULT_ENCODING

    def files(self) -> list[TableFile]:
        """Return the files of texts."""
        texts = dataclasses.replace(self, names=tuple(label_files_of(self.names)))
        return super(ReadLinePairs, texts).files()

    def opened(self, file: TableFile) -> Table:
        pairs = label_files_of(self.names)
        others = sorted({*self.names} - {*pairs, *pairs.values()})
        names = classes_in(storage.join(self.path, others[0])) if others else {}
        declared = {"label": ColumnDeclaration(classes=tuple(names.values()))} if names else {}
        return LinePairs(
            file=file,
            header=_HEADER,
            declarations=declared,
            labels=storage.join(self.path, pairs[file.relative]),
            names=names,
            encoding=self.encoding,
        )


def _are_pairs(tree: Tree, pairs: Mapping[str, str]) -> bool:
    """Return whether files have equally many lines, in one folder or in folders of splits."""
    homes = {folder(name) for name in pairs}
    if len(homes) > 1 and not all(is_split(name_of(home)) for home in homes):
        return False
    return all(
        0 < _num_lines(tree.path(texts)) == _num_lines(tree.path(labels))
        for texts, labels in pairs.items()
    )


def _num_lines(path: str) -> int:
    return sum(1 for _ in lines_of_file(path))


def _names_labels(tree: Tree, path: str, labels: Iterable[str]) -> bool:
    """Return whether a file names the class of each label that is written."""
    classes = classes_in(tree.path(path))
    lines = itertools.chain(*(lines_of_file(tree.path(each)) for each in labels))
    return bool(classes) and all(line.strip() in {"", *classes} for line in lines)


def _claim(tree: Tree, config: BuildConfig) -> Claim | None:
    """Claim pairs of files, and a file that names their classes, in a tree without other data."""
    pairs = label_files_of([name for name in tree.files_with("txt") if may_hold_data(name)])
    is_asked = config.layout == LAYOUT.name
    if not pairs or not tree.is_folder or not (is_asked or _are_pairs(tree, pairs)):
        return None
    names = [name for name in tree.files() if may_hold_data(name) or media_kind(name)]
    others = [name for name in names if name not in {*pairs, *pairs.values()}]
    named = [name for name in others if suffix(name) == "txt"]
    named = [name for name in named if _names_labels(tree, name, pairs.values())][:1]
    if others != named and not is_asked:
        return None
    labels = next(iter(pairs.values()))
    what = f"{shown([*pairs], 'file')} with labels on the same lines of {labels}"
    what += ", …" if len(pairs) > 1 else ""
    claim = Claim(
        layout=LAYOUT.name,
        rank=Rank.TABLE,
        path=tree.input,
        reads=(*pairs, *pairs.values(), *named),
        understood=(("files", what), *(("names of classes", name) for name in named)),
    )
    source = reading(ReadLinePairs)(claim, config, "")
    assert isinstance(source, ReadTables)
    return with_plan(claim, source)


LAYOUT = source_layout(
    "lines",
    "x_text.txt and x_labels.txt, with a text and its label on the same lines",
    ReadLinePairs,
    _claim,
)
