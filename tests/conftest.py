"""Fixtures shared by several test folders, and the order of tests in two processes."""

import gc
import hashlib
import importlib
import math
import multiprocessing.util
import os
import pickle
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from fake_store import FakeStore

# Keras imports scikit-learn, if installed, and SciPy's statistics: a fifth of its import time.
# Tests that need it use `scikit_learn`.
sys.modules.setdefault("sklearn", None)  # type: ignore[arg-type]

# Shells make background processes ignore Ctrl-C, but tests interrupt commands.
signal.signal(signal.SIGINT, signal.default_int_handler)

# On a busy machine examples may exceed any deadline.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=15)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=100)
hypothesis.settings.load_profile("quick")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, FakeStore]]:
    """The s3:// URL of an empty bucket, and the local store that has it."""
    store = FakeStore()
    for name, value in store.environment().items():
        monkeypatch.setenv(name, value)
    yield f"s3://{store.new_bucket()}", store
    store.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--until`: when the run must end; `--regenerate`: rewrite expected results."""
    parser.addoption(
        "--until",
        type=float,
        default=math.inf,
        metavar="SECONDS",
        help="tests that would start after this moment, in seconds of Unix time, fail",
    )
    parser.addoption(
        "--regenerate",
        action="store_true",
        help="write anew what the cases of tests/cases expect, for review",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Runs before a test's fixtures, which may take minutes."""
    if time.time() > item.config.getoption("--until"):
        pytest.fail("not reached: no time was left", pytrace=False)


@pytest.fixture(scope="session", autouse=True)
def _temporary() -> Iterator[None]:
    """A temporary folder for everything that tests and killed processes leave behind.

    Each build scans the system's, which would have thousands of entries. Socket paths must be
    short: pytest's folders are too deep.
    """
    multiprocessing.util.get_temp_dir()  # at exit it is removed, after the folder below
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # pytest's own stay there
    with (
        tempfile.TemporaryDirectory(prefix="tests-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(scope="session", autouse=True)
def _draw_page() -> Iterator[Callable[[Any], None] | None]:
    """The function that draws a build's page, disabled except with the fixture `pages`.

    Tests run hundreds of builds.
    """
    pipeline = sys.modules.get("beam_pipeline.pipeline")
    with pytest.MonkeyPatch.context() as patch:
        draws = pipeline and pipeline.draw_page
        if pipeline:
            patch.setattr(pipeline, "draw_page", lambda config: None)
        yield draws


@pytest.fixture
def pages(_draw_page: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes builds of this test draw their page."""
    monkeypatch.setattr("beam_pipeline.pipeline.draw_page", _draw_page)


gc.disable()  # until all tests are collected and all modules imported

# These files take seconds each, partly waiting; all others take far less.
_LONG = (
    *("tests/beam_pipeline/files", "tests/beam_pipeline/running", "tests/beam_pipeline/write"),
    *("tests/cases", "tests/end_to_end", "tests/test_", "tests/tfrecord_dataset/store"),
    "tests/trainer",
)
# All tests in these folders get a marker of the same name.
_MARKED = ("dataflow", "flink", "runners")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs long files first, so that short ones keep both processes busy at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(_LONG))
    for item in items:
        folder = item.nodeid.split("/")[1]
        if folder in _MARKED:
            item.add_marker(folder)


def pytest_collection_finish() -> None:
    """Collects garbage less often: TensorFlow's and Beam's modules have a million objects.

    Traversing them repeatedly took a fifth of the suite's CPU time.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


@pytest.fixture(scope="session")
def scikit_learn() -> Any:
    """scikit-learn, with its `datasets` and `metrics`."""
    sys.modules.pop("sklearn", None)
    import sklearn.datasets
    import sklearn.metrics

    return sklearn


@pytest.fixture
def run_transform(tmp_path: Path) -> Callable[[Any], list[Any]]:
    """Runs a root PTransform on the local runner; returns its outputs, in no order."""
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions

    from beam_pipeline.records import Consumed
    from beam_pipeline.running.runner import choose_runner

    def run(transform: Any) -> list[Any]:
        result = tmp_path / "run_transform.pickle"
        options = PipelineOptions([])
        with beam.Pipeline(runner=choose_runner(options), options=options) as pipeline:
            (
                pipeline
                | transform
                | "Collect" >> beam.combiners.ToList()
                | "Save" >> beam.Map(lambda items: result.write_bytes(pickle.dumps(items)))
            )
        found: list[Any] = pickle.loads(result.read_bytes())
        return [each for each in found if not isinstance(each, Consumed)]

    return run


@pytest.fixture(scope="session")
def write_image() -> Callable[..., Path]:
    """Writes a small image of coloured blocks, different for each seed."""

    def write(path: Path, seed: int = 0, size: tuple[int, int] = (12, 9), **save: Any) -> Path:
        import numpy as np
        from PIL import Image

        colours = np.random.default_rng(seed).integers(0, 256, (3, 4, 3), dtype=np.uint8)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(colours).resize(size, Image.Resampling.NEAREST).save(path, **save)
        return path

    return write


@pytest.fixture(scope="session")
def class_folders(write_image: Callable[..., Path]) -> Callable[..., Path]:
    """Writes `<root>/<class>/<number>.jpg`, a number of each class; returns the root."""

    def write(root: Path, classes: tuple[str, ...] = ("cat", "dog"), each: int = 8) -> Path:
        for number in range(each * len(classes)):
            name = classes[number % len(classes)]
            write_image(root / name / f"{number:03d}.jpg", seed=number)
        return root

    return write


@pytest.fixture(scope="session")
def digests() -> Callable[[Path], dict[str, str]]:
    """The sha256 of every file below a folder, including hidden ones.

    Except build.json and the page, which are not part of a dataset.
    """
    others = ("build.json", "report.html", "report.json")

    def of(folder: Path) -> dict[str, str]:
        return {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(Path(folder).rglob("*"))
            if path.is_file() and path.name not in others
        }

    return of


@pytest.fixture
def worker_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """worker_module(name, code) -> a new module, which worker processes can import."""
    from beam_pipeline.running import parallel

    def make(name: str, code: str) -> Any:
        (tmp_path / f"{name}.py").write_text(code)
        path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        monkeypatch.setenv("PYTHONPATH", path)
        monkeypatch.syspath_prepend(str(tmp_path))
        return importlib.import_module(name)

    yield make
    parallel.end_processes()
