"""What a build seldom needs is loaded when it is asked for, not before."""

import importlib
import subprocess
import sys

import pytest

from beam_pipeline.running.lazy_imports import import_lazily


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that counts how often it is loaded, with a module."""
    folder = tmp_path / "rarely"
    folder.mkdir()
    (folder / "__init__.py").write_text("import builtins\nbuiltins.loads += 1\nNUMBER = 7\n")
    (folder / "part.py").write_text("from rarely import NUMBER\n")
    monkeypatch.setattr("builtins.loads", 0, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "rarely"
    for name in ("rarely", "rarely.part"):
        sys.modules.pop(name, None)


def loads():
    import builtins

    return builtins.loads


def test_it_loads_at_its_first_use(package):
    import_lazily([package])
    module = importlib.import_module(package)
    importlib.import_module(package)
    assert loads() == 0
    assert module.NUMBER == 7
    assert module.NUMBER == 7
    assert loads() == 1
    with pytest.raises(AttributeError, match="has no attribute 'LETTER'"):
        _ = module.LETTER


def test_a_module_below_it_finds_all_of_it(package):
    import_lazily([package])
    assert importlib.import_module(f"{package}.part").NUMBER == 7
    assert loads() == 1


def test_what_is_loaded_or_not_installed_stays(package):
    module = importlib.import_module(package)
    import_lazily([package, "no_such_module"])
    assert importlib.import_module(package) is module
    assert "no_such_module" not in sys.modules


@pytest.mark.slow
def test_beam_asks_nothing_of_them_at_its_import():
    code = (
        "import sys\n"
        "from beam_pipeline import __main__\n"
        "from beam_pipeline.running.lazy_imports import import_lazily\n"
        "from beam_pipeline.running.lazy_imports import load_when_called\n"
        "import_lazily(__main__.LAZY_MODULES)\n"
        "load_when_called(*__main__.MONGODB)\n"
        "import beam_pipeline.cli.commands\n"
        "rare = ('requests.models', 'httplib2.auth', 'pyarrow._compute', 'pymongo', 'tqdm',"
        "'proto.message', 'dateutil.parser._parser', 'pytz.tzinfo', 'ijson.common',"
        "'yaml.reader')\n"
        # Beam imports pandas where it is installed, and that asks for this.
        "asked = {'pyarrow._compute'} if 'pandas' in sys.modules else set()\n"
        "print([name for name in rare if name in sys.modules and name not in asked])\n"
        "import requests, httplib2, pyarrow.compute\n"
        "print(requests.Session.__name__, httplib2.Http.__name__, pyarrow.compute.sum([2, 3]))\n"
        "import apache_beam.io\n"
        "read = apache_beam.io.ReadFromMongoDB(uri='mongodb://h', db='d', coll='c')\n"
        "from apache_beam.io import mongodbio\n"
        "print(type(read) is mongodbio.ReadFromMongoDB, sorted(mongodbio.__all__))\n"
        "print(sorted(__main__.MONGODB[1]))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "[]",
        "Session Http 5",
        "True ['ReadFromMongoDB', 'WriteToMongoDB']",
        "['ReadFromMongoDB', 'WriteToMongoDB']",
    ]
