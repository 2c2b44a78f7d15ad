"""Files beside images and audio that no layout reads, and the commands that make tables of them."""

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from beam_pipeline.sources.annotation_formats import DARWIN, DATUMARO
from beam_pipeline.sources.paths import media_kind, stem, suffix
from beam_pipeline.sources.references import name_of
from beam_pipeline.sources.tree import Tree, head

_LOOKED_INTO = 20
_LINES_LOOKED_AT = 10
# Programs have no apostrophes, so that a shell's quotes enclose them as they are.
_QUOTE, _DOUBLE = "'", '"'
_WORDS = 4  # of a sentence
_SPOKEN = re.compile(r"(\S+)[ \t]+\S")
_NAMED = re.compile(rb'\s*\{\s*"[^"\\]+(\.\w+)"\s*:\s*(?:"([^"\\]*)|\d+\s*[,}]|\[\s*")')


class _Form(NamedTuple):
    """Files that say more of others than a table does.

    Attributes:
        what: What is said of one.
        is_called: Of its name.
        begins: How it begins.
        program: Prints the table; its arguments are the tree's folder and the file.
        ending: Of the table.
        table: Its name; "" for that of the file.
    """

    what: str
    is_called: re.Pattern[str]
    begins: re.Pattern[bytes]
    program: str
    ending: str
    table: str = ""


# Of all files beside one of them: each image by the name of its file.
_FILES = (
    "import csv, json, pathlib, sys; r = pathlib.Path(sys.argv[1]); f = pathlib.Path(sys.argv[2]); "
    "m = {p.stem: str(p.relative_to(r)) for p in r.rglob('*') "
    "if p.suffix.lower() in ('.jpg', '.jpeg', '.png')}; "
)

_FORMS = (
    _Form(
        "is a manifest of SageMaker Ground Truth",
        re.compile(r".*\.(manifest|jsonl|json)"),
        re.compile(rb'\A\s*\{[^\n]*"source-ref"\s*:'),
        "import json, sys; box = lambda a: [a[k] for k in ('left', 'top', 'width', 'height')]; "
        "said = lambda v, m, c: {'objects': {'bbox': [*map(box, v['annotations'])], 'category': "
        "[c[str(a['class_id'])] for a in v['annotations']]}} if isinstance(v, dict) else "
        "{'label': m['class-name'] if 'class-name' in m else sorted(c.values())}; "
        "[print(json.dumps({'image': d['source-ref'].rpartition('/')[2], **{n: w for k in d if "
        "k + '-metadata' in d for n, w in said(d[k], d[k + '-metadata'], "
        "d[k + '-metadata'].get('class-map', {})).items()}})) "
        "for d in map(json.loads, open(sys.argv[2]))]",
        ".jsonl",
    ),
    _Form(
        "has the corners and the text of each word, as ICDAR's files do, which become upright "
        "boxes with their texts",
        re.compile(r"gt_.*\.txt"),
        re.compile(rb"\A(?:\xef\xbb\xbf)?(?:-?\d+ ?,){8}"),
        "import json, pathlib, sys; r = pathlib.Path(sys.argv[1]); "
        "of = lambda p: 'test' if 'test' in str(p.relative_to(r)).lower() else 'train'; "
        "m = {(p.stem, of(p)): str(p.relative_to(r)) for p in r.rglob('*') "
        "if p.suffix.lower() in ('.jpg', '.jpeg', '.png')}; s = len({k[1] for k in m}) > 1; "
        "box = lambda x, y: [min(x), min(y), max(x) - min(x), max(y) - min(y)]; "
        "rows = lambda p: [([*map(int, f[:8])], f[8]) for l in "
        "p.read_text('utf-8-sig').splitlines() if len(f := l.split(',', 8)) > 8]; "
        "[print(json.dumps({'image': m[g.stem[3:], of(g)], **({'split': of(g)} if s else {}), "
        "'objects': {'bbox': [box(n[0:8:2], n[1:8:2]) for n, _ in w], "
        "'category': ['text'] * len(w), 'transcript': [t for _, t in w]}})) "
        "for g in sorted(r.rglob('gt_*.txt')) for w in [rows(g)]]",
        ".jsonl",
        "words",
    ),
    _Form(
        "is one of FGVC-Aircraft's lists of classes",
        re.compile(r"images_variant_\w+\.txt"),
        re.compile(rb"\A\d+ \S"),
        _FILES + "w = csv.writer(sys.stdout); w.writerow(['image', 'label', 'split']); "
        "[w.writerow((m[i], c, s)) for s in ('train', 'val', 'test') "
        "for l in (f.parent / ('images_variant_%s.txt' % s)).read_text().splitlines() "
        "for i, c in [l.split(' ', 1)]]",
        ".csv",
        "variants",
    ),
    _Form(
        "is Datumaro's, whose boxes become a table",
        re.compile(r".*\.json"),
        DATUMARO,
        _FILES + "of = lambda d: [c['name'] for c in d['categories']['label']['labels']]; "
        "box = lambda i: [a for a in i['annotations'] if a['type'] == 'bbox']; "
        "[print(json.dumps({'image': m[pathlib.Path(i['id']).name], 'split': p.stem, 'objects': "
        "{'bbox': [a['bbox'] for a in box(i)], 'category': [of(d)[a['label_id']] for a in box(i)]}"
        "})) for p in sorted(f.parent.glob('*.json')) for d in [json.loads(p.read_text('utf-8'))] "
        "for i in d['items']]",
        ".jsonl",
        "boxes",
    ),
    _Form(
        "is V7 Darwin's, whose boxes become a table",
        re.compile(r".*\.json"),
        DARWIN,
        _FILES + "box = lambda b: [b['x'], b['y'], b['w'], b['h']]; "
        "some = lambda d: [a for a in d['annotations'] if 'bounding_box' in a]; "
        "[print(json.dumps({'image': m[pathlib.Path(d['item']['name']).stem], 'objects': {'bbox': "
        "[box(a['bounding_box']) for a in some(d)], 'category': [a['name'] for a in some(d)]}})) "
        "for p in sorted(f.parent.glob('*.json')) for d in [json.loads(p.read_text('utf-8'))]]",
        ".jsonl",
        "boxes",
    ),
)
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
                f"{name_of(path)} {form.what}: make a table of it by python -c "
                f"{shlex.quote(form.program.replace(_QUOTE, _DOUBLE))} {shlex.quote(tree.root)} "
                f"{shlex.quote(tree.path(path))} > {shlex.quote(table)}, and give that"
            )
    return ""


def _may_be(path: str) -> bool:
    return suffix(path) in ("json", "jsonl", "manifest", "txt")


def _forms_of(tree: Tree, path: str) -> Iterator[_Form]:
    start = head(tree.path(path))
    for form in _FORMS:
        if form.is_called.fullmatch(name_of(path)) and form.begins.search(start):
            yield form
    if suffix(path) == "json" and (named := _NAMED.match(start)):
        kind = media_kind(f"a{named[1].decode()}")
        column = "caption" if len((named[2] or b"").split()) >= _WORDS else "label"
        if kind:
            program = _OF_NAMES.replace("{kind}", kind).replace("{column}", column)
            yield _Form(f"has a {column} by name", _SPOKEN, _NAMED, program, ".csv")
    if suffix(path) == "txt" and (ending := _spoken(tree, start)):
        program = _OF_TRANSCRIPTS.replace("{ending}", ending)
        yield _Form("has the transcripts of the audio", _SPOKEN, _NAMED, program, ".tsv")


def _spoken(tree: Tree, start: bytes) -> str:
    """The suffix of the audio by whose names the first lines of a text begin; "" of others."""
    lines = start.decode(errors="replace").splitlines()[:_LINES_LOOKED_AT]
    names = {found[1] for line in lines if (found := _SPOKEN.match(line))}
    audio = [path for path in tree.files() if media_kind(path) == "audio"]
    there = [path for path in audio if stem(path) in names]
    return f".{there[0].rpartition('.')[2]}" if there and len(names) == len(lines) else ""
