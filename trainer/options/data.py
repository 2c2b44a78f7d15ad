"""The options that several commands share."""

import argparse

from trainer.config import parse_bytes


def add_data(parser: argparse._ActionsContainer, *, required: bool = True) -> None:
    """Adds those that say where the data is."""
    parser.add_argument(
        "--data",
        required=required,
        metavar="DATASET",
        help="dataset directory, its parent (newest version), or a glob of TFRecord files, "
        "local or on gs://, s3://, az://, https://",
    )
    parser.add_argument(
        "--schema",
        metavar="FILE",
        help="JSON file that declares the features of bare TFRecord files, like metadata.json "
        "(default: those of the run, else inferred from the first records)",
    )
    add_cache(parser)


def add_cache(parser: argparse._ActionsContainer) -> None:
    """Adds those of the copies of remote shards."""
    parser.add_argument(
        "--cache-dir",
        metavar="DIR",
        help="folder for copies of remote shards, and for the images of --cache disk (default: "
        "shards and decoded-images in ~/.cache/beam-tfrecords)",
    )
    parser.add_argument(
        "--cache-bytes",
        type=parse_bytes,
        metavar="SIZE",
        help="what either may take, such as 50GB (default: for copies half of the free disk, for "
        "images a quarter of it, or half of the free memory)",
    )


def add_which(parser: argparse.ArgumentParser) -> None:
    """Adds the choice among the models of a run."""
    parser.add_argument(
        "--which",
        choices=("final", "best"),
        default="final",
        help="model.keras, or best.keras from the epoch with the lowest validation loss "
        "(default: %(default)s)",
    )


def add_trust(parser: argparse._ActionsContainer) -> None:
    """Adds the one for runs of one's own."""
    parser.add_argument(
        "--trust-run",
        action="store_true",
        help="use the functions and the places that RUN names, and that the command does not; "
        "only for runs whose maker you know",
    )


def add_model_fn(parser: argparse._ActionsContainer) -> None:
    """Adds the function that made a run's model."""
    parser.add_argument(
        "--model-fn",
        metavar="MODULE:FUNCTION",
        help="the function that made the model, for layers of its own; as in training",
    )


def add_messages(parser: argparse._ActionsContainer) -> None:
    """Adds those of what is printed."""
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors on stderr")
    add_debug(parser)


def add_debug(parser: argparse._ActionsContainer) -> None:
    """Adds the one for tracebacks."""
    parser.add_argument("--debug", action="store_true", help="print the full traceback of an error")
