"""Files beside images and audio that no layout reads, and the commands that make tables of them."""

import re
from collections.abc import Iterator

from beam_pipeline.sources.paths import media_kind, stem, suffix
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.table_forms import FORMS, Form
from beam_pipeline.sources.tree import Tree, head, writing

_LOOKED_INTO = 20
_LINES_LOOKED_AT = 10
_WORDS = 4  # of a sentence
_SPOKEN = re.compile(r"(\S+)[ \t]+\S")
_NAMED = re.compile(rb'\s*\{\s*"[^"\\]+(\.\w+)"\s*:\s*(?:"([^"\\]*)|\d+\s*[,}]|\[\s*")')


_OF_NAMES = (
    "import csv, json, sys; w = csv.writer(sys.stdout); w.writerow(['{kind}', '{column}']); "
    "w.writerows(json.load(open(sys.argv[2], encoding='utf-8')).items())"
)
_OF_TRANSCRIPTS = (
    "import csv, pathlib, sys; r = pathlib.Path(sys.argv[1]); "
    "t = dict(f for l in open(sys.argv[2], encoding='utf-8') if len(f := l.split(None, 1)) > 1); "
    "w = csv.writer(sys.stdout, 'excel-tab'); w.writerow(['audio', 'transcript']); "
    "w.writerows((p.relative_to(r), t[p.stem].strip()) "
    "for p in sorted(r.rglob('*{ending}')) if p.stem in t)"
)


def as_table(tree: Tree) -> str:
    """The command that makes a table of what lies beside the files of a tree; "" without one."""
    likely = [path for path in (*tree.outside, *tree.files()) if _may_be(path)]
    for path in likely[:_LOOKED_INTO]:
        if form := next(_forms_of(tree, path), None):
            table = tree.path(f"{form.table or stem(path)}{form.ending}")
            return (
                f"{name_of(path)} {form.what}: make a table of it by "
                f"{writing(table, form.program, tree.root, tree.path(path))}, and give that"
            )
    return ""


def _may_be(path: str) -> bool:
    return suffix(path) in ("json", "jsonl", "geojson", "labels", "manifest", "csv", "txt")


def _forms_of(tree: Tree, path: str) -> Iterator[Form]:
    start = head(tree.path(path))
    for form in FORMS:
        if form.is_called.fullmatch(name_of(path)) and form.begins.search(start):
            yield form
    if suffix(path) == "json" and (named := _NAMED.match(start)):
        kind = media_kind(f"a{named[1].decode()}")
        column = "caption" if len((named[2] or b"").split()) >= _WORDS else "label"
        if kind:
            program = _OF_NAMES.replace("{kind}", kind).replace("{column}", column)
            yield Form(f"has a {column} by name", _NAMED, program, ending=".csv", table="")
    if suffix(path) == "txt" and (ending := _spoken(tree, start)):
        program = _OF_TRANSCRIPTS.replace("{ending}", ending)
        yield Form("has the transcripts of the audio", _NAMED, program, ending=".tsv", table="")


def _spoken(tree: Tree, start: bytes) -> str:
    """The suffix of the audio by whose names the first lines of a text begin; "" of others."""
    lines = start.decode(errors="replace").splitlines()[:_LINES_LOOKED_AT]
    names = {found[1] for line in lines if (found := _SPOKEN.match(line))}
    audio = [path for path in tree.files() if media_kind(path) == "audio"]
    there = [path for path in audio if stem(path) in names]
    return f".{there[0].rpartition('.')[2]}" if there and len(names) == len(lines) else ""
