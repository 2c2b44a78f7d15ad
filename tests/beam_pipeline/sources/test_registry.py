"""Layouts that other packages register, and errors for unusable ones."""

import re
import sys
from pathlib import Path

import pytest

import beam_pipeline
from beam_pipeline import option_values
from beam_pipeline.config import BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.sources import registry
from beam_pipeline.sources.folders.read_folders import LAYOUT as FOLDERS
from beam_pipeline.sources.inputs import detect
from beam_pipeline.sources.registry import layout_named, layouts
from tfrecord_dataset import plugins

OWN = ["auto", *registry.OWN]
MODULE = """
from beam_pipeline import Claim, Layout, Rank, claim_of_files


def claim_games(tree, config):
    return claim_of_files("pgn", tree, [n for n in tree.files() if n.lower().endswith(".pgn")])


def claim_notes(tree, config):
    if tree.is_file and "notes" in tree.input:
        what = (("files", tree.files()[0]),)
        return Claim(layout="notes", rank=Rank.ANNOTATIONS, path=tree.input, understood=what)


PGN = Layout(name="pgn", sign=".pgn files", claim=claim_games, read=print)
NOTES = Layout(name="notes", sign="notes", claim=claim_notes, read=print)
"""


def detected(path, layout="auto"):
    return detect(BuildConfig(input=str(path), layout=layout))


@pytest.fixture
def register(tmp_path, monkeypatch):
    """register(entry points, module): install a package that registers layouts."""

    def install(entries, module=MODULE):
        site = tmp_path / "site"
        (site / "chess-1.0.dist-info").mkdir(parents=True)
        (site / "chess-1.0.dist-info/METADATA").write_text("Name: chess\nVersion: 1.0\n")
        (site / "chess-1.0.dist-info/entry_points.txt").write_text(
            f"[beam_tfrecords.layouts]\n{entries}\n"
        )
        (site / "chess_of_tests.py").write_text(module)
        monkeypatch.syspath_prepend(site)
        monkeypatch.delitem(sys.modules, "chess_of_tests", raising=False)
        plugins.registered.cache_clear()

    yield install
    monkeypatch.undo()
    plugins.registered.cache_clear()


def test_the_own_layouts():
    assert option_values.layout_names() == OWN == [*dict.fromkeys(OWN)]
    assert list(layouts()) == OWN[1:]
    assert layout_named("folders") is FOLDERS
    cases = {path.name for path in (Path(__file__).parents[2] / "cases").iterdir()}
    assert {*OWN[1:]} - cases == {"tfrecord"}


def test_a_registered_layout_is_one_like_any_other(register, make_tree):
    register("pgn = chess_of_tests:PGN\nnotes = chess_of_tests:NOTES")
    root = make_tree({"train/a.pgn": "", "test/b.PGN": "", "x.csv": "a,b", "notes.csv": "a,b"})
    assert option_values.layout_names() == [*OWN, "notes", "pgn"]
    found = detected(f"{root}/train/a.pgn")
    assert (found.layout, found.summary) == ("pgn", "pgn: a.pgn")
    assert detected(root, "pgn").summary == (
        "pgn: 2 files (test/b.PGN, train/a.pgn) in test, train"
    )
    assert detected(f"{root}/**/*.pgn").layout == "pgn"
    # The first bytes decide between layouts of one suffix; annotations win over tables.
    assert detected(f"{root}/x.csv").layout == "csv"
    assert detected(f"{root}/notes.csv").layout == "notes"


@pytest.mark.parametrize(
    ("entries", "module", "message"),
    [
        pytest.param("pgn = nowhere:X", MODULE, "ModuleNotFoundError", id="no such module"),
        pytest.param("pgn = chess_of_tests:X", MODULE, "AttributeError", id="no such name"),
        pytest.param("pgn = chess_of_tests:x", "x = 1 / 0", "ZeroDivisionError", id="it raises"),
        pytest.param("pgn = chess_of_tests:x", "x = 1", "it is 1, not a Layout", id="no layout"),
        pytest.param("go = chess_of_tests:PGN", MODULE, "not a Layout of this name", id="renamed"),
        pytest.param("csv = chess_of_tests:PGN", MODULE, "the name is taken", id="taken"),
    ],
)
def test_a_package_that_registers_something_else(register, make_tree, entries, module, message):
    register(entries, module)
    root = make_tree({"a.csv": "x,y\n1,2\n"})
    name = entries.split()[0]
    with pytest.raises(ConfigError, match=rf"'{name}' of .* in the package chess .*{message}"):
        detected(root)
    assert name in option_values.layout_names()
    assert detected(root, "csv").layout == "csv"


@pytest.mark.parametrize("name", ["karpathy", "vott", "bdd100k", "visdrone", "wider.?face"])
def test_only_its_parser_knows_the_format_of_a_single_data_set(name):
    root = Path(beam_pipeline.__file__).parent
    pattern = re.compile(name, re.IGNORECASE)
    knowing = {path.name for path in root.rglob("*.py") if pattern.search(path.read_text())}
    assert len(knowing - {"registry.py", "option_values.py"}) == 1
