"""Texts that no layout reads, and the rows that each becomes: of a sentence, or of a line."""

import functools
import re
from collections.abc import Callable, Iterator, Sequence

from beam_pipeline.errors import ConfigError
from beam_pipeline.files import storage
from beam_pipeline.sources.paths import folder, stem, suffix
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.table_forms import Form
from beam_pipeline.sources.table_rows import Files, Row
from beam_pipeline.sources.tree import head
from tfrecord_dataset.split_names import split_in_name

_SPLITS = {"testa": "validation", "testb": "test", "TREC_10": "test"}  # CoNLL's, TREC's
_IN_WORDS = re.compile("train|valid|dev|test")  # wnut17train, newstest2013
_LABEL = "__label__"
_LABELS = re.compile(rf"((?:{_LABEL}\S+[\s,]+)+)(.*)")
_QUESTION = re.compile(r"(\w+):(\w+) (.*)")
_COMMENTS = r"(?:#[^\n]*\r?\n|\r?\n)*"
_SIDES = re.compile("pos|neg")
_LANGUAGES = re.compile(
    "ar|bg|bn|ca|cs|cy|da|de|el|en|es|et|fa|fi|fr|ga|gl|gu|he|hi|hr|hu|id|is|it|ja|ka|kk|km|ko|lt"
    "|lv|mk|ml|mr|ms|ne|nl|no|pl|pt|ro|ru|si|sk|sl|sq|sr|sv|sw|ta|te|th|tr|uk|ur|vi|zh"
)


def _form(
    what: str, begins: str, parse: Callable[[str], Iterator[Row]], table: str = "texts.jsonl"
) -> Form:
    pattern = re.compile(begins.encode())
    rows = functools.partial(_of_texts, pattern, parse)
    return Form(what, rows, pattern, re.compile(".*"), table)


def _of_texts(
    begins: re.Pattern[bytes], parse: Callable[[str], Iterator[Row]], files: Files, path: str
) -> Iterator[Row]:
    paths = [each for each in files.paths if begins.search(head(files.path(each)))]
    rows = [_split(each, paths) | row for each in paths for row in parse(_text(files.path(each)))]
    if all(len(row.get("labels", ())) == 1 for row in rows):
        rows = [{"label": row.pop("labels")[0]} | row for row in rows]
    yield from rows


def _split(path: str, paths: Sequence[str]) -> Row:
    """The split of one of several files."""
    if not paths[1:]:
        return {}
    own = _SPLITS.get(suffix(path)) or _SPLITS.get(stem(path)) or split_in_name(name_of(path))
    inside = _IN_WORDS.search(stem(path))
    return {"split": own or (inside[0] if inside else stem(path))}


def _text(path: str) -> str:
    with storage.opened(path) as handle:
        data = bytes(handle.read()).replace(b"\r\n", b"\n")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _lines(text: str) -> list[str]:
    """Not `splitlines`, which ends lines at other signs, too."""
    return text.removesuffix("\n").split("\n")


def _sentences(text: str) -> Iterator[Row]:
    for block in re.split(r"\n\s*\n", text):
        words = [line.split() for line in block.strip().split("\n") if not line.startswith("# ")]
        if words and words[0] and words[0][0] != "-DOCSTART-":
            yield {"tokens": [word[0] for word in words], "tags": [word[-1] for word in words]}


def _treebank(text: str) -> Iterator[Row]:
    for block in re.split(r"\n\s*\n", text):
        words = [line.split("\t") for line in block.split("\n") if line[:1] not in ("#", "")]
        if words := [word for word in words if word[0].isdigit()]:  # 1-2 and 1.1 stand for others
            _, tokens, lemmas, tags, _, _, heads, relations, *_ = zip(*words, strict=True)
            yield {
                "tokens": tokens, "lemmas": lemmas, "tags": tags,
                "heads": [*map(int, heads)], "relations": relations,
            }  # fmt: skip


def _fasttext(text: str) -> Iterator[Row]:
    for found in filter(None, map(_LABELS.match, _lines(text))):
        labels = re.split(r"[\s,]+", found[1].strip(" \t,"))
        yield {"labels": [each.removeprefix(_LABEL) for each in labels], "text": found[2]}


def _questions(text: str) -> Iterator[Row]:
    for found in filter(None, map(_QUESTION.match, _lines(text))):
        yield {"label": found[1], "fine": found[2], "text": found[3]}


def _twins(path: str, paths: Sequence[str]) -> list[str]:
    """The texts of one name in several languages, or of both sides; none without others."""
    for endings in (_LANGUAGES, _SIDES):
        if endings.fullmatch(suffix(path)):
            home = folder(path), stem(path)
            found = [each for each in paths if (folder(each), stem(each)) == home]
            found = [each for each in found if endings.fullmatch(suffix(each))]
            return found if found[1:] else []
    return []


def _of_twins(files: Files, path: str) -> Iterator[Row]:
    twins = _twins(path.removeprefix(f"{files.root}/"), files.paths)
    endings = {*map(suffix, twins)}
    groups = {tuple(_twins(each, files.paths)) for each in files.paths if suffix(each) in endings}
    firsts = [group[0] for group in sorted(groups) if group]
    for first in firsts:
        found = {suffix(each): files.path(each) for each in _twins(first, files.paths)}
        lines = {ending: _lines(_text(each)) for ending, each in found.items()}
        if all(map(_SIDES.fullmatch, endings)):
            yield from (
                _split(first, firsts) | {"label": side, "text": line.strip()}
                for side in lines
                for line in lines[side]
            )
        elif len({*map(len, lines.values())}) > 1:
            counts = ", ".join(f"{len(lines[each])} in {each}" for each in lines)
            raise ConfigError(f"{first} and its twins have unlike numbers of lines: {counts}")
        else:
            for several in zip(*lines.values(), strict=True):
                yield _split(first, firsts) | dict(zip(lines, several, strict=True))


FORMS = (
    _form(
        "has a word and its tags a line, as CoNLL's",
        rf"\A{_COMMENTS}(?:-DOCSTART-|(?:\S+[ \t]+)+(?:O|[BIESLU]-\S+)[ \t]*\r?\n"
        r"(?:(?:\S+[ \t]+)+(?:O|[BIESLU]-\S+)[ \t]*\r?\n)*(?:[ \t]*\r?\n|\Z))",
        _sentences,
        "sentences.jsonl",
    ),
    _form(
        "is a treebank of CoNLL-U",
        rf"\A{_COMMENTS}1(?:-\d+)?\t(?:[^\t\n]+\t){{8}}[^\t\n]+\n",
        _treebank,
        "sentences.jsonl",
    ),
    _form("has labels as fastText's before each text", rf"\A{_LABEL}\S+[ \t,]", _fasttext),
    _form("has a question and its class a line, as TREC's", r"\A[A-Z]{2,6}:[a-z]+ \S", _questions),
    Form(
        "has the lines of one of several languages or sides",
        _of_twins,
        re.compile(rb"\A[^\0]+\Z"),
        re.compile(".*"),
        "texts.jsonl",
        lambda path, _, paths: bool(_twins(path, paths)),
    ),
)
