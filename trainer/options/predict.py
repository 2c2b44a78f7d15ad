"""The options of `python -m trainer predict`. Imports no TensorFlow."""

import argparse
import dataclasses

from trainer.options.data import add_cache, add_messages, add_model_fn, add_trust, add_which

FORMATS = ("jsonl", "csv", "coco")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PredictConfig:
    """The options of `python -m trainer predict`.

    Attributes:
        inputs: A dataset directory, or a glob of TFRecord files; or files and folders.
        run_path: The directory that `train` wrote.
        output: A file; None for stdout.
        format: "jsonl", "csv" or "coco".
        images: A directory for images with the boxes drawn, or None.
        report: A file for a page on the predictions of a dataset's classes, or None.
        split: Of a dataset; None for "test", or the only one.
        cache_dir, cache_bytes: As for `trainer.open`, of a dataset on a store.
        min_score: Boxes with a lower score are left out; None for 0.3, or 0 for "coco", whose
            evaluation wants all.
        which: "final" or "best": the model at the end, or after the best epoch.
        model_fn: `package.module:function` that made the model, for its own layers; or None.
        trust_run: Use the function that the run names.
        batch_size: Records at a time.
        quiet: Print nothing but errors on stderr.
    """

    inputs: tuple[str, ...]
    run_path: str
    output: str | None = None
    format: str = "jsonl"
    images: str | None = None
    report: str | None = None
    split: str | None = None
    cache_dir: str | None = None
    cache_bytes: int | None = None
    min_score: float | None = None
    which: str = "final"
    model_fn: str | None = None
    trust_run: bool = False
    batch_size: int = 32
    quiet: bool = False


def add_predict(parser: argparse.ArgumentParser) -> None:
    """Adds the options to the command's parser."""
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help="a dataset directory, or a glob of TFRecord files; or files and folders of images, "
        "audio or texts; or .csv and .jsonl files with a column for each input",
    )
    parser.add_argument(
        "--run", required=True, dest="run_path", metavar="RUN", help="directory that train wrote"
    )
    parser.add_argument("--output", metavar="FILE", help="file to write (default: stdout)")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default=PredictConfig.format,
        help="JSON lines, CSV (for boxes a line each), or the results that COCO's evaluation reads "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--images", metavar="DIR", help="directory for the images with their boxes drawn"
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="HTML page for a dataset with one class per record: figures by class, confusion "
        "matrix, worst mistakes",
    )
    parser.add_argument("--split", help="split of a dataset (default: test, or the only split)")
    parser.add_argument(
        "--min-score",
        type=float,
        metavar="N",
        help="leave out boxes below this score (default: 0.3; for coco 0)",
    )
    add_cache(parser)
    add_which(parser)
    add_model_fn(parser)
    add_trust(parser)
    parser.add_argument(
        "--batch-size",
        type=int,
        default=PredictConfig.batch_size,
        metavar="N",
        help="records at a time (default: %(default)s)",
    )
    add_messages(parser)
