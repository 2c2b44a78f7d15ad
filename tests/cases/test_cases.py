"""Readers yield the expected records and rejects of each case, or its error.

A case is a folder with

    input            files, described in one text (`cases.inputs`)
    options          options of the build, as on a command line, for INPUT; optional
    expected.jsonl   how the input is read, then classes and records (`cases.shown`)
    rejects.jsonl    the rejects; absent if there are none
    error            the error, in place of both
    recipe.yaml      a recipe for an input that is refused without it

`pytest tests/cases --regenerate` rewrites the expected files, for review.
"""

import contextlib
import json
import logging
from pathlib import Path

import apache_beam as beam
import pytest
from eager_runner import by_record, yielded

from beam_pipeline import recipe
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import BeamTFRecordsError, ConfigError
from beam_pipeline.files import storage
from beam_pipeline.files.remote import Remote
from beam_pipeline.records import Record
from beam_pipeline.running.buckets import Buckets
from beam_pipeline.sources.annotations import side_files
from beam_pipeline.sources.inputs import complete, detect, find_input, source_of
from beam_pipeline.sources.registry import layouts
from beam_pipeline.sources.tree import Tree
from cases.inputs import make
from cases.reading import AllElements, options_of_case, source_at
from cases.shown import Shown

CASES = {
    f"{path.parent.parent.name}/{path.parent.name}": path.parent
    for path in sorted(Path(__file__).parent.glob("*/*/input"))
}


def is_file(case, name):
    """Whether a case has a file of this name."""
    return (case / name).exists()


_SIDE_FILES = ("dota", "kitti", "labelme", "masks", "supervisely", "visdrone", "voc", "yolo")
OF_SIDE_FILES = [name for name in CASES if name.startswith(_SIDE_FILES)]
DETECTED = [
    name for name in CASES if name.startswith("found/") and not (CASES[name] / "options").exists()
]
# Inputs of tables that no layout claims yet, since they are not at the top of the tree.
AWAITED = frozenset((Path(__file__).parent / "awaited.txt").read_text("utf-8").split())
RESULTS = ("expected.jsonl", "rejects.jsonl", "error")


def source_for(case, root):
    """(claim, source) of a case whose input is made at `root`."""
    make(case / "input", root)
    return source_at(root, options_of_case(case))


@pytest.fixture
def read(tmp_path, caplog, monkeypatch):
    """The texts of a case's results by file; stores are never asked whether a file exists."""
    monkeypatch.setattr(Remote, "exists", lambda self, path: False)

    def run(case):
        if case.parent.name == "xlsx":
            pytest.importorskip("python_calamine")
        caplog.set_level(logging.WARNING)
        shown = Shown(tmp_path / "input")
        try:
            found, source = source_for(case, tmp_path / "input")
            elements = yielded(source)
        except BeamTFRecordsError as error:
            message = shown.text(str(error))
            return {"error": f"{type(error).__name__}: {message}\n"}
        how = {"input": shown.text(found.summary)}
        if caplog.messages:
            how["told"] = [shown.text(message) for message in caplog.messages]
        results = {
            "expected.jsonl": f"{json.dumps(how, ensure_ascii=False)}\n{shown.records(elements)}",
            "rejects.jsonl": shown.rejects(elements),
        }
        return {name: text for name, text in results.items() if text}

    return run


def expected(case):
    there = [case / name for name in RESULTS]
    return {path.name: path.read_text("utf-8") for path in there if path.exists()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_case(read, case, request):
    is_awaited = f"{case.parent.name}/{case.name}" in AWAITED
    if is_awaited:
        request.applymarker(pytest.mark.xfail(reason="its layout has no claim yet", strict=True))
    results = read(case)
    if request.config.getoption("--regenerate") and not is_awaited:
        for name in RESULTS:
            (case / name).unlink(missing_ok=True)
        for name, text in results.items():
            (case / name).write_text(text, "utf-8")
    assert results == expected(case)


RECIPES = {
    name: case / "recipe.yaml" for name, case in CASES.items() if is_file(case, "recipe.yaml")
}


def has_records(name):
    case = CASES[name]
    return is_file(case, "expected.jsonl") and '"key"' in (case / "expected.jsonl").read_text()


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_reads_what_is_refused_or_rejected_without_it(tmp_path, name):
    assert not has_records(name)
    root = tmp_path / "input"
    make(CASES[name] / "input", root)
    copy = tmp_path / "recipe.yaml"
    copy.write_text(RECIPES[name].read_text("utf-8").replace("INPUT", str(root)), "utf-8")
    config = BuildConfig(**recipe.load(str(copy)))
    claim = find_input(config)
    elements = yielded(source_of(complete(config, claim), claim, f"{root}.scratch"))
    assert any(isinstance(element, Record) for element in elements)


# Cases whose question is which of two layouts to read, or whose options name the layout.
TWO_LAYOUTS = {"masks/voc", "refused/mixed-pattern", "refused/two-layouts"}


def test_at_each_rank_one_layout_claims_a_case(tmp_path, monkeypatch):
    monkeypatch.setattr(Remote, "exists", lambda self, path: False)
    several = {}
    for number, (name, case) in enumerate(CASES.items()):
        root = tmp_path / str(number)
        make(case / "input", root)
        claims = {}
        for layout in layouts().values():
            with contextlib.suppress(ConfigError):  # its own files contradict each other
                if claim := layout.claim(Tree.of(str(root)), BuildConfig(input=str(root))):
                    claims.setdefault(claim.rank, []).append(layout.name)
        if twice := [each for each in claims.values() if len(each) > 1]:
            several[name] = twice
    assert several.keys() == TWO_LAYOUTS, several


def test_every_refused_tree_and_every_open_layout_has_a_recipe():
    errors = {
        name: (case / "error").read_text("utf-8")
        for name, case in CASES.items()
        if is_file(case, "error")
    }
    needed = {name for name in errors if name.startswith("zoo/") or "ways:" in errors[name]}
    rejected = {name for name in CASES if name.startswith("zoo/") and not has_records(name)}
    assert needed | rejected == {*RECIPES}


@pytest.mark.parametrize("name", sorted(OF_SIDE_FILES, key=lambda name: len(CASES[name].name))[:30])
def test_neither_buckets_nor_the_order_of_the_listing_matter(read, name, monkeypatch):
    list_names = storage.list_names

    def backwards(*arguments):
        return ((folder, names[::-1]) for folder, names in [*list_names(*arguments)][::-1])

    monkeypatch.setattr(storage, "list_names", backwards)
    monkeypatch.setattr(side_files, "buckets_of_names", lambda *_: Buckets(256))
    assert read(CASES[name]) == expected(CASES[name])


@pytest.mark.parametrize("name", DETECTED)
def test_a_layout_by_its_name_is_what_is_detected(tmp_path, name):
    make(CASES[name] / "input", tmp_path)
    found = detect(BuildConfig(input=str(tmp_path)))
    inside = found.path if Path(found.path).is_dir() else str(tmp_path)
    by_name = BuildConfig(input=inside, layout=found.layout)
    assert detect(by_name) == detect(BuildConfig(input=inside))


ON_BEAMS_RUNNER = """
    arrays/as-keras-has-mnist captions/flickr8k coco/two-splits csv/a-box-a-row csv/ids-of-files
    csv/table folders/splits jsonl/hugging-face-objects kitti/lists labelme/image-path
    split_lists/by-path tar/anywhere voc/devkit yolo/data-yaml zoo/cassava zoo/global-wheat
    zoo/librispeech zoo/plant-pathology
"""


class ReadAll(beam.PTransform):
    """Elements of several sources, each with the name of its source."""

    def __init__(self, sources):
        self._sources = sources

    def expand(self, pipeline):
        return [
            pipeline
            | name >> AllElements(source)
            | f"Name {name}" >> beam.Map(lambda element, name: (name, element), name)
            for name, source in self._sources.items()
        ] | beam.Flatten()


@pytest.mark.slow
def test_beams_own_runner_yields_the_same(tmp_path, run_transform):
    sources = {
        name: source_for(CASES[name], tmp_path / name)[1] for name in ON_BEAMS_RUNNER.split()
    }
    found = run_transform(ReadAll(sources))
    for name, source in sources.items():
        elements = by_record(element for of, element in found if of == name)
        assert sorted(map(repr, elements)) == sorted(map(repr, yielded(source)))
