"""What readers make of an input: of each case, its records and rejects, or its refusal.

A case is a folder with

    input            files as one text describes them (`cases.inputs`)
    options          the build's, as on a command line, for INPUT; absent where there are none
    expected.jsonl   how the input is read, then classes and records (`cases.shown`)
    rejects.jsonl    what is rejected; absent where nothing is
    error            the refusal, in place of both

`pytest tests/cases --regenerate` writes the last three anew, for review.
"""

import functools
import json
import logging
import re
import shlex
from pathlib import Path

import pytest
from eager_runner import yielded

from beam_pipeline.cli.options import build_config
from beam_pipeline.cli.parser import command_parser
from beam_pipeline.errors import BeamTFRecordsError
from beam_pipeline.files import storage
from beam_pipeline.sources.inputs import complete, find_input, source_of
from beam_pipeline.sources.listing import buckets_of_names
from beam_pipeline.sources.side_files import read as side_files
from cases.inputs import make
from cases.shown import Shown

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/*/input"))
OF_SIDE_FILES = [case for case in CASES if case.parent.name in ("kitti", "labelme", "voc", "yolo")]
RESULTS = ("expected.jsonl", "rejects.jsonl", "error")
# What Beam adds to the message of an error.
_STEP = re.compile(r" \[while running '[^']*'\]$")


def name_of(case):
    return f"{case.parent.name}/{case.name}"


@pytest.fixture
def read(tmp_path, caplog):
    """The texts of a case's results, by file."""

    def run(case):
        root = tmp_path / "input"
        make(case / "input", root)
        options = case / "options"
        arguments = shlex.split(options.read_text() if options.exists() else "INPUT")
        shown = Shown(root)
        caplog.set_level(logging.WARNING)
        try:
            config = build_config(parser().parse_args(["plan", *map(shown.meant, arguments)]))
            found = find_input(config)
            config = complete(config, found)
            elements = yielded(source_of(config, found, str(tmp_path / "scratch")))
        except BeamTFRecordsError as error:
            message = shown.text(_STEP.sub("", str(error)))
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


@functools.cache
def parser():
    return command_parser()


def expected(case):
    there = [case / name for name in RESULTS]
    return {path.name: path.read_text("utf-8") for path in there if path.exists()}


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_case(read, case, request):
    results = read(case)
    if request.config.getoption("--regenerate"):
        for name in RESULTS:
            (case / name).unlink(missing_ok=True)
        for name, text in results.items():
            (case / name).write_text(text, "utf-8")
    assert results == expected(case)


@pytest.mark.parametrize("case", OF_SIDE_FILES, ids=name_of)
def test_neither_buckets_nor_the_order_of_the_listing_matter(read, case, monkeypatch):
    list_names = storage.list_names

    def backwards(path):
        return ((folder, names[::-1]) for folder, names in [*list_names(path)][::-1])

    monkeypatch.setattr(storage, "list_names", backwards)
    monkeypatch.setattr(side_files, "buckets_of_names", lambda files, _: buckets_of_names(files, 1))
    assert read(case) == expected(case)
