"""Suites of `make bench`: contenders that do the same work, and goals for ours."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from peer_environments import python

HERE = Path(__file__).parent


class Contender(NamedTuple):
    """One program.

    Attributes:
        title: Its name in tables.
        command: Arguments of its Python, from the data folder and the output folder.
        environment: Environment that it runs in (`peer_environments.PACKAGES`); "" is ours.
        full: Whether only `make bench-full` runs it.
    """

    title: str
    command: Callable[[Path, Path], Sequence[str]]
    environment: str = ""
    full: bool = False


class Goal(NamedTuple):
    """Target of a ratio.

    Attributes:
        text: Description.
        ours: Title of our contender.
        other: Title of the contender to compare with.
        figure: Figure to compare: "wall_s", "cpu_s", "peak_mib" or PAST_START.
        at_most: Upper bound of the ratio ours / other.
        holds: Limiting factor, reported if the goal is missed.
    """

    text: str
    ours: str
    other: str
    figure: str
    at_most: float
    holds: str = ""


class Suite(NamedTuple):
    """Contenders that do the same work on the same data.

    Attributes:
        title: Title on the page.
        name: Value of `--suite`.
        prepare: Makes the data in a folder, once, for a number of records.
        counts: Numbers of records for `make bench` and `make bench-full`.
        contenders: Contenders, ours first.
        goals: Goals for ours.
        passes: Whether contenders print passes (`peers.timing`), else the whole run counts.
    """

    title: str
    name: str
    prepare: Callable[[Path, int], Sequence[Sequence[str]]]
    counts: tuple[int, int]
    contenders: Sequence[Contender]
    goals: Sequence[Goal]
    passes: bool = False


# CPU seconds per record past the start of a command.
PAST_START = "past_start_s"
OURS = "beam-tfrecords"
SIZED = "… of images of 256 pixels"
PIXELS = "… of such images as BMP"
CHAIN = "tf.data by hand, bilinear"
FFCV = "FFCV, of images of 256 pixels"
LIMIT = "decoding alone"
SCRIPT = "a script by hand"
BUILDER = "TFDS's builder"

# Shards that we write; a build refuses more shards than records.
NUM_SHARDS = 8


def _build(source: str, output: str, *options: str) -> Sequence[str]:
    return [
        *["-m", "beam_pipeline", "build", source, "--output", output, "--name", "photographs"],
        *["--overwrite", "--num-shards", str(NUM_SHARDS), *options],
    ]


def _photographs(folder: Path, count: int) -> Sequence[Sequence[str]]:
    source = str(folder / "photographs")
    smaller = ["--image-max-side", "256", "--jpeg-quality", "90"]
    return [
        [str(HERE / "make_photographs.py"), str(folder), "--count", str(count)],
        _build(source, str(folder / "tfrecords")),
        _build(source, str(folder / "sized"), *smaller),
        _build(source, str(folder / "pixels"), *smaller, "--image-format", "bmp"),
    ]


def _images(kilobytes: float) -> Callable[[Path, int], Sequence[Sequence[str]]]:
    def commands(folder: Path, count: int) -> Sequence[Sequence[str]]:
        made = [str(HERE / "make_images.py"), str(folder / "images"), "--count", str(count)]
        return [[*made, "--kilobytes", str(kilobytes)]]

    return commands


def _table(*options: str) -> Callable[[Path, int], Sequence[Sequence[str]]]:
    def commands(folder: Path, count: int) -> Sequence[Sequence[str]]:
        rows = str(folder / "rows.csv")
        return [[str(HERE / "make_table.py"), rows, "--count", str(count), *options]]

    return commands


def _coco(folder: Path, count: int) -> Sequence[Sequence[str]]:
    return [[str(HERE / "make_coco.py"), str(folder / "images"), "--count", str(count)]]


def _reader(module: str) -> Callable[[Path, Path], Sequence[str]]:
    return lambda folder, output: ["-m", "peers.timing", module, str(folder)]


def _writer(script: str, *options: str) -> Callable[[Path, Path], Sequence[str]]:
    return lambda folder, output: [
        *[str(HERE / script), str(folder / "images"), str(output), *options]
    ]


def _row_writer(script: str) -> Callable[[Path, Path], Sequence[str]]:
    return lambda folder, output: [str(HERE / script), str(folder / "rows.csv"), str(output)]


_ROW_WRITERS = (
    Contender(OURS, lambda folder, output: _build(str(folder / "rows.csv"), str(output))),
    Contender(SCRIPT, _row_writer("hand_written_table.py")),
    Contender("pandas and TFRecordWriter", _row_writer("peers/pandas_rows.py")),
    Contender(BUILDER, _row_writer("peers/tfds_rows.py")),
)

_WRITERS = (
    Contender(OURS, lambda folder, output: _build(str(folder / "images"), str(output))),
    Contender(SCRIPT, _writer("hand_written.py")),
    Contender(BUILDER, _writer("peers/tfds_builder.py")),
    Contender("TFDS on Beam", _writer("peers/tfds_builder.py", "--beam"), full=True),
    Contender("Ray Data", _writer("peers/ray_data.py"), "ray", full=True),
)

# Limiting factor of a missed goal.
_SCALING = "scaling to float32, reading and copying take as long as decoding"
_ANTIALIASED = "ours antialiases, and checks the records that it reads"
_CROPPED = "FFCV decodes the middle square alone, resizes bytes, and checks no record"
_CHECKED = "ours decodes every image to check it; TFDS stores the bytes that it finds"
_DESCRIBED = "the script checks, hashes and describes less"


def _of_script(at_most: float) -> Goal:
    text = f"at most {at_most} times the script's CPU time past the start"
    return Goal(text, OURS, SCRIPT, PAST_START, at_most, holds=_DESCRIBED)


_ROW_GOALS = (
    _of_script(1.5),
    Goal("faster than TFDS's builder", OURS, BUILDER, "wall_s", 1.0, holds=_DESCRIBED),
)


def _rows(what: str, name: str, counts: tuple[int, int], *options: str) -> Suite:
    """Suite on a table of `what`, made with options of make_table.py."""
    return Suite(
        title=f"Preparation of a CSV of {what}",
        name=name,
        prepare=_table(*options),
        counts=counts,
        contenders=_ROW_WRITERS,
        goals=_ROW_GOALS,
    )


SUITES = (
    Suite(
        title="The input of a training: photographs of mixed sizes to 224 × 224 float32",
        name="input",
        prepare=_photographs,
        counts=(2_000, 4_000),
        contenders=(
            Contender(OURS, _reader("ours")),
            Contender(SIZED, _reader("ours_sized")),
            Contender(PIXELS, _reader("ours_pixels")),
            Contender(LIMIT, _reader("decode_limit")),
            Contender(CHAIN, _reader("plain_chain")),
            Contender("Keras's image_dataset_from_directory", _reader("keras_directory")),
            Contender("Grain with OpenCV", _reader("grain_opencv"), "grain"),
            Contender("PyTorch's DataLoader", _reader("torch_loader"), "torch"),
            Contender("WebDataset", _reader("webdataset_torch"), "torch"),
            Contender("DALI on the CPU", _reader("dali_cpu"), "dali"),
            Contender(FFCV, _reader("ffcv_loader"), "ffcv", full=True),
        ),
        goals=(
            Goal("as fast as the chain by hand", OURS, CHAIN, "wall_s", 1.0, holds=_ANTIALIASED),
            Goal("0.85 of the decode limit", OURS, LIMIT, "wall_s", 1 / 0.85, holds=_SCALING),
            *(
                Goal(f"faster than {peer}", OURS, peer, "wall_s", 1.0, holds=_ANTIALIASED)
                for peer in (
                    "Keras's image_dataset_from_directory",
                    "Grain with OpenCV",
                    "PyTorch's DataLoader",
                    "WebDataset",
                    "DALI on the CPU",
                )
            ),
            Goal(
                "of images of 256 pixels, faster than FFCV",
                SIZED,
                FFCV,
                "wall_s",
                1.0,
                holds=_CROPPED,
            ),
            Goal(
                "a quarter of the chain's time, of images of 256 pixels",
                SIZED,
                CHAIN,
                "wall_s",
                0.25,
                holds=_SCALING,
            ),
        ),
        passes=True,
    ),
    Suite(
        title="Preparation of tiny images (2 KB)",
        name="tiny",
        prepare=_images(3),
        counts=(20_000, 50_000),
        contenders=_WRITERS,
        goals=(
            _of_script(1.2),
            Goal("faster than TFDS's builder", OURS, BUILDER, "wall_s", 1.0, holds=_CHECKED),
        ),
    ),
    Suite(
        title="Preparation of photographs (65 KB)",
        name="photographs",
        prepare=_images(65),
        counts=(2_000, 12_000),
        contenders=_WRITERS,
        goals=(
            _of_script(1.1),
            Goal("faster than TFDS's builder", OURS, BUILDER, "wall_s", 1.0, holds=_CHECKED),
            Goal(
                "a fifth of the time of TFDS on Beam",
                OURS,
                "TFDS on Beam",
                "wall_s",
                0.2,
                holds=_CHECKED,
            ),
            Goal("a tenth of its memory", OURS, "TFDS on Beam", "peak_mib", 0.1),
        ),
    ),
    _rows("five columns", "table", (300_000, 1_000_000)),
    _rows("twenty columns", "wide-table", (100_000, 300_000), "--columns", "20"),
    _rows("texts of 20 KB", "texts", (10_000, 30_000), "--text-bytes", "20000"),
    Suite(
        title="Preparation of COCO JSON: ten objects with polygons an image",
        name="coco",
        prepare=_coco,
        counts=(10_000, 20_000),
        contenders=(
            Contender(OURS, lambda folder, output: _build(str(folder / "images"), str(output))),
            Contender(SCRIPT, _writer("hand_written_coco.py")),
            Contender(BUILDER, _writer("peers/tfds_coco.py")),
        ),
        goals=(
            _of_script(1.5),
            Goal("faster than TFDS's builder", OURS, BUILDER, "wall_s", 1.0, holds=_CHECKED),
        ),
    ),
)


def script_of(contender: Contender) -> Path | None:
    """File with the code of a contender; None if it is a command of ours."""
    first, *rest = contender.command(Path(), Path())
    if first.endswith(".py"):
        return Path(first)
    return HERE / "peers" / f"{rest[1]}.py" if rest[0] == "peers.timing" else None


def command_of(contender: Contender, folder: Path, output: Path) -> list[str]:
    """Command line of a contender, with the Python of its environment."""
    return [python(contender.environment), *contender.command(folder, output)]


def prepare(suite: Suite, folder: Path, count: int) -> None:
    """Makes the data of a suite unless it exists."""
    if (folder / "ready").exists():
        return
    for command in suite.prepare(folder, count):
        subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    (folder / "ready").touch()
