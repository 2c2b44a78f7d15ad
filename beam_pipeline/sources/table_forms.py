"""Forms of files that say more of images than a table does, and the programs that make one."""

import re
from typing import NamedTuple

from beam_pipeline.sources.annotation_formats import DARWIN, DATUMARO, ENCORD, HASTY, KILI, SCALE


class Form(NamedTuple):
    """Files of one form.

    Attributes:
        what: What is said of one.
        begins: How it begins.
        program: Prints the table; its arguments are the tree's folder and the file.
        is_called: Of its name.
        ending: Of the table.
        table: Its name; "" for that of the file.
    """

    what: str
    begins: re.Pattern[bytes]
    program: str
    is_called: re.Pattern[str] = re.compile(r".*\.json")
    ending: str = ".jsonl"
    table: str = "boxes"


# Of all files beside one of them: each image by the name of its file.
_FILES = (
    "import csv, json, pathlib, sys; r = pathlib.Path(sys.argv[1]); f = pathlib.Path(sys.argv[2]); "
    "m = {p.stem: str(p.relative_to(r)) for p in r.rglob('*') "
    "if p.suffix.lower() in ('.jpg', '.jpeg', '.png', '.tif')}; "
    "at = lambda n: n if (r / n).is_file() else m.get(pathlib.PurePath(n).stem, n); "
    "load = lambda p: json.loads(p.read_text('utf-8')); "
)
# What `d` is, of which the rows are made.
_FILE = "d = load(f); "
_FOLDER = "d = [(p, load(p)) for p in sorted(f.parent.glob('*.json'))]; "
_LINES = "d = map(json.loads, f.read_text('utf-8').splitlines()); "
_SIZED = "from PIL import Image; size = lambda n: Image.open(r / at(n)).size; "


def _of_boxes(rows: str, made: str = _FILE, texts: str = "") -> str:
    """A program that prints a table of boxes.

    Args:
        rows: Gives the path of each image, or a name like it; its boxes by left, top, width and
            height, each with its class and perhaps a text; and perhaps its split.
        made: Makes what `rows` asks for.
        texts: What the texts are called.
    """
    more = f", '{texts}': [x[2] for x in o]" if texts else ""
    return (
        f"{_FILES}{made}c = lambda a, b, x, y: [a, b, x - a, y - b]; "
        "[print(json.dumps({'image': at(n), **({'split': s[0]} if s else {}), 'objects': "
        f"{{'bbox': [x[0] for x in o], 'category': [x[1] for x in o]{more}}}}})) "
        f"for n, o, *s in {rows}]"
    )


def _of_classes(rows: str, made: str) -> str:
    """A program that prints a table of classes; `rows` gives names, classes and splits."""
    return (
        f"{_FILES}{made}[print(json.dumps({{'image': at(n), 'label': k, "
        f"**({{'split': s[0]}} if s else {{}})}})) for n, k, *s in {rows}]"
    )


def _beside(folder: str, images: str, boxes: str, texts: str = "") -> str:
    """As `_of_boxes`, where each image has a file in a folder beside that of the images."""
    made = f"d = ((p, load(p)) for p in sorted(r.rglob('{folder}/*.json'))); "
    name = f"next((p.parents[1] / '{images}').glob(p.stem + '.*')).relative_to(r)"
    return _of_boxes(f"((str({name}), {boxes}) for p, e in d)", made, texts)


_ML_USE = "e.get('dataItemResourceLabels', {}).get('aiplatform.googleapis.com/ml_use', '')"

FORMS = (
    Form(
        "is a manifest of SageMaker Ground Truth",
        re.compile(rb'\A\s*\{[^\n]*"source-ref"\s*:'),
        "import json, sys; box = lambda a: [a[k] for k in ('left', 'top', 'width', 'height')]; "
        "said = lambda v, m, c: {'objects': {'bbox': [*map(box, v['annotations'])], 'category': "
        "[c[str(a['class_id'])] for a in v['annotations']]}} if isinstance(v, dict) else "
        "{'label': m['class-name'] if 'class-name' in m else sorted(c.values())}; "
        "[print(json.dumps({'image': d['source-ref'].rpartition('/')[2], **{n: w for k in d if "
        "k + '-metadata' in d for n, w in said(d[k], d[k + '-metadata'], "
        "d[k + '-metadata'].get('class-map', {})).items()}})) "
        "for d in map(json.loads, open(sys.argv[2]))]",
        re.compile(r".*\.(manifest|jsonl|json)"),
        table="",
    ),
    Form(
        "has the corners and the text of each word, as ICDAR's files do, which become upright "
        "boxes with their texts",
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
        re.compile(r"gt_.*\.txt"),
        table="words",
    ),
    Form(
        "is one of FGVC-Aircraft's lists of classes",
        re.compile(rb"\A\d+ \S"),
        _of_classes(
            "((*l.split(' ', 1), s) for s in ('train', 'val', 'test') "
            "for l in (f.parent / ('images_variant_%s.txt' % s)).read_text().splitlines())",
            "",
        ),
        re.compile(r"images_variant_\w+\.txt"),
        table="variants",
    ),
    Form(
        "is Datumaro's, whose boxes become a table",
        DATUMARO,
        _of_boxes(
            "((i['id'], [(a['bbox'], e['categories']['label']['labels'][a['label_id']]['name']) "
            "for a in i['annotations'] if a['type'] == 'bbox'], p.stem) "
            "for p, e in d for i in e['items'])",
            _FOLDER,
        ),
    ),
    Form(
        "is V7 Darwin's, whose boxes become a table",
        DARWIN,
        _of_boxes(
            "((e['item']['name'], [([b['x'], b['y'], b['w'], b['h']], a['name']) "
            "for a in e['annotations'] for b in [a.get('bounding_box')] if b]) for p, e in d)",
            _FOLDER,
        ),
    ),
    Form(
        "is Hasty's, whose boxes become a table",
        HASTY,
        _of_boxes(
            "((i['image_name'], [(c(*l['bbox']), l['class_name']) for l in i['labels'] "
            "if l.get('bbox')]) for i in d['images'])"
        ),
    ),
    Form(
        "is Encord's, whose boxes become a table",
        ENCORD,
        _of_boxes(
            "((u['data_title'], [([b['x'] * u['width'], b['y'] * u['height'], b['w'] * u['width'], "
            "b['h'] * u['height']], o['name']) for o in u['labels'].get('objects', []) "
            "for b in [o.get('boundingBox')] if b]) for e in d for u in e['data_units'].values())"
        ),
    ),
    Form(
        "is Kili's, whose boxes become a table",
        KILI,
        _of_boxes(
            "((a['externalId'], [(c(min(x), min(y), max(x), max(y)), o['categories'][0]['name']) "
            "for l in a['labels'][-1:] for j in l['jsonResponse'].values() "
            "for o in j.get('annotations', []) if o.get('boundingPoly') "
            "for w, h in [size(a['externalId'])] "
            "for v in [o['boundingPoly'][0]['normalizedVertices']] "
            "for x, y in [([p['x'] * w for p in v], [p['y'] * h for p in v])]]) for a in d)",
            _SIZED + _FILE,
        ),
    ),
    Form(
        "is Scale's, whose boxes become a table",
        SCALE,
        _of_boxes(
            "((t['params']['attachment'], [([a[k] for k in ('left', 'top', 'width', 'height')], "
            "a['label']) for a in t['response']['annotations'] if 'left' in a]) for t in d)"
        ),
    ),
    Form(
        "has the words in images, as COCO-Text's and TextOCR's do",
        re.compile(rb'"imgs"\s*:\s*\{|"utf8_string"\s*:'),
        _of_boxes(
            "((i['file_name'], [(a['bbox'], 'text', a['utf8_string']) for a in "
            "map(d['anns'].get, map(str, d['imgToAnns'].get(k, []))) if a], i['set']) "
            "for k, i in d['imgs'].items())",
            texts="transcript",
        ),
        table="words",
    ),
    Form(
        "has the boxes of all images, as xView's does",
        re.compile(rb'"bounds_imcoords"\s*:'),
        _of_boxes(
            "g.items()",
            f"{_FILE}g = {{}}; [g.setdefault(p['image_id'], []).append(([a, b, x - a, y - b], "
            "str(p['type_id']))) for z in d['features'] for p in [z['properties']] "
            "for a, b, x, y in [map(int, p['bounds_imcoords'].split(','))]]; ",
        ),
        re.compile(r".*\.geojson"),
    ),
    Form(
        "is Edge Impulse's, whose boxes become a table",
        re.compile(rb'"boundingBoxes"\s*:'),
        _of_boxes(
            "((e['path'], [([b[k] for k in ('x', 'y', 'width', 'height')], b['label']) "
            "for b in e.get('boundingBoxes', [])]) for e in d['files'])"
        ),
        re.compile(r"info\.labels"),
    ),
    Form(
        "is Vertex AI's, with boxes",
        re.compile(rb'"boundingBoxAnnotations"\s*:'),
        _of_boxes(
            "((e['imageGcsUri'], [(c(b['xMin'] * w, b['yMin'] * h, b['xMax'] * w, b['yMax'] * h), "
            "b['displayName']) for b in e['boundingBoxAnnotations'] "
            f"for w, h in [size(e['imageGcsUri'])]], {_ML_USE}) for e in d)",
            _SIZED + _LINES,
        ),
        re.compile(r".*\.jsonl"),
    ),
    Form(
        "is Vertex AI's, with classes",
        re.compile(rb'"classificationAnnotation"\s*:'),
        _of_classes(
            "((e['imageGcsUri'], e['classificationAnnotation']['displayName'], "
            f"{_ML_USE}) for e in d)",
            _LINES,
        ),
        re.compile(r".*\.jsonl"),
        table="classes",
    ),
    Form(
        "is Google AutoML's, with boxes",
        re.compile(rb"\A[A-Z]+,gs://[^,\n]+,[^,\n]*,\S"),
        _of_boxes(
            "((n, [(c(float(q[3]) * w, float(q[4]) * h, float(q[7]) * w, float(q[8]) * h), q[2]) "
            "for q in g[n] if q[3] for w, h in [size(n)]], g[n][0][0].lower()) for n in g)",
            f"{_SIZED}g = {{}}; [g.setdefault(q[1], []).append(q) for q in csv.reader(open(f))]; ",
        ),
        re.compile(r".*\.csv"),
    ),
    Form(
        "is Google AutoML's, with classes",
        re.compile(rb"\A[A-Z]+,gs://[^,\n]+,[^,\n]*\n"),
        _of_classes("((n, k, s.lower()) for s, n, k, *_ in csv.reader(open(f)))", ""),
        re.compile(r".*\.csv"),
        table="classes",
    ),
    Form(
        "is Azure ML's, with boxes",
        re.compile(rb'"image_url"\s*:[^\n]*"label"\s*:\s*\['),
        _of_boxes(
            "((e['image_url'], [(c(b['topX'] * w, b['topY'] * h, b['bottomX'] * w, "
            "b['bottomY'] * h), b['label']) for b in e['label'] for w, h in "
            "[size(e['image_url'])]]) for e in d)",
            _SIZED + _LINES,
        ),
        re.compile(r".*\.jsonl"),
    ),
    Form(
        "is Azure ML's, with classes",
        re.compile(rb'"image_url"\s*:[^\n]*"label"\s*:\s*"'),
        _of_classes("((e['image_url'], e['label']) for e in d)", _LINES),
        re.compile(r".*\.jsonl"),
        table="classes",
    ),
    Form(
        "is SuperAnnotate's, whose boxes become a table",
        re.compile(rb'"metadata"\s*:\s*\{[^\0]*"instances"\s*:'),
        _of_boxes(
            "((e['metadata']['name'], [(c(*(o['points'][k] for k in ('x1', 'y1', 'x2', 'y2'))), "
            "o['className']) for o in e['instances'] if o['type'] == 'bbox']) for p, e in d)",
            _FOLDER,
        ),
    ),
    Form(
        "is RectLabel's, whose boxes become a table",
        re.compile(rb'"image_w_h"\s*:'),
        _of_boxes(
            "((e['filename'], [(o['x_y_w_h'], o['label']) for o in e['objects']]) for p, e in d)",
            _FOLDER,
        ),
    ),
    Form(
        "is DeepFashion2's, whose boxes become a table",
        re.compile(rb'"item\d+"\s*:\s*\{[^\0]*"bounding_box"\s*:'),
        _beside(
            "annos",
            "image",
            "[(c(*o['bounding_box']), o['category_name']) for o in e.values() "
            "if isinstance(o, dict)]",
        ),
    ),
    Form(
        "is FUNSD's, whose texts become a table",
        re.compile(rb'\A\s*\{\s*"form"\s*:'),
        _beside(
            "annotations",
            "images",
            "[(c(*o['box']), o['label'], o['text']) for o in e['form']]",
            "transcript",
        ),
        table="texts",
    ),
)
