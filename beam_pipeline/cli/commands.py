"""The commands: build, plan, adopt, verify, show."""

import argparse
import contextlib
import logging
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.cli import summary
from beam_pipeline.cli.beam_arguments import Parser, beam_options, split_arguments
from beam_pipeline.cli.options import add_build_options, add_schema, build_config
from beam_pipeline.cli.show import as_text, examples, write_images
from beam_pipeline.config import BuildConfig
from beam_pipeline.dataset.adoption import adopt
from beam_pipeline.dataset.opening import is_dataset, open_dataset
from beam_pipeline.dataset.verification import verify
from beam_pipeline.errors import (
    BeamTFRecordsError,
    ConfigError,
    DataError,
    DatasetDamagedError,
    RecordError,
)
from beam_pipeline.files import storage
from beam_pipeline.pipeline import build, plan
from beam_pipeline.records import FileRef
from beam_pipeline.schema.declaration import read_schema
from beam_pipeline.sources import find_layout, settled, source_of
from beam_pipeline.sources.layout import Layout
from beam_pipeline.write.commit import FAILED_REJECTS_FILE, REJECTS_FILE
from beam_pipeline.write.receipts import scratch_dir

# What Beam adds to the message of an error that a stage raises.
_STEP = re.compile(r" \[while running '[^']*'\]$")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command that `arguments` name; returns its exit code."""
    parser = _parser()
    logging.getLogger("apache_beam.runners.common").addFilter(_is_news)
    try:
        ours, theirs = split_arguments(sys.argv[1:] if arguments is None else arguments)
        args, stray = parser.parse_known_args(ours)
        unknown = theirs + stray
        options = beam_options(unknown, args.parser)
        if unknown and args.run not in (_build, _plan):
            raise ConfigError(f"unknown argument {unknown[0]} (see `{args.parser.prog} --help`)")
        args.run(args, options)
    except BeamTFRecordsError as error:
        print(f"error: {_STEP.sub('', str(error))}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # `show … | head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (Exception, KeyboardInterrupt) as error:
        cause = _outer_cause(error)
        if isinstance(cause, KeyboardInterrupt):
            print(
                "interrupted; run the same command again (build takes up finished shards)",
                file=sys.stderr,
            )
            return 130
        if cause is None:
            raise
        where = f": {cause.filename}" if cause.filename else ""
        print(
            f"error: {cause.strerror}{where}; mend that and run the same command again (build "
            "takes up finished shards)",
            file=sys.stderr,
        )
        return 1
    return 0


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a log record is not Beam's traceback of an error that `main` is going to tell."""
    error = record.exc_info[1] if record.exc_info else None
    told = error and (isinstance(error, BeamTFRecordsError) or _outer_cause(error))
    return not told


def _outer_cause(error: BaseException) -> OSError | KeyboardInterrupt | None:
    """What led to `error` from outside: an interrupt, a full disk, a forbidden path."""
    seen: list[BaseException] = []  # an error may be its own cause
    cause: BaseException | None = error
    while cause is not None and cause not in seen:
        if isinstance(cause, KeyboardInterrupt) or (isinstance(cause, OSError) and cause.strerror):
            return cause
        seen.append(cause)
        cause = cause.__context__ if cause.__cause__ in (None, cause) else cause.__cause__
    return None


def _parser() -> Parser:
    parser = Parser(
        prog="python -m beam_pipeline",
        description="Raw files to sharded TFRecords that describe themselves.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    build_parser = commands.add_parser(
        "build",
        help="build a dataset",
        description="Builds a dataset; stdout's last line is its directory. Options of Apache "
        "Beam's own, such as --runner, pass through.",
    )
    add_build_options(build_parser)
    build_parser.add_argument(
        "--output", required=True, metavar="DATA_DIR", help="below which the dataset goes"
    )
    build_parser.set_defaults(run=_build, parser=build_parser)

    plan_parser = commands.add_parser(
        "plan",
        help="what build would do; writes nothing",
        description="Reads and checks everything, tells what build would do, and writes nothing.",
    )
    add_build_options(plan_parser)
    plan_parser.add_argument("--output", default="", metavar="DATA_DIR", help="accepted, not used")
    plan_parser.set_defaults(run=_plan, parser=plan_parser)

    adopt_parser = commands.add_parser(
        "adopt",
        help="describe TFRecord files that others wrote, where they lie",
        description="Reads and checks the TFRecord files of a directory, and writes what describes "
        "them beside them; stdout's last line is the directory.",
    )
    add = adopt_parser.add_argument
    add("dataset", help="the directory where the files lie")
    add_schema(add)
    add("--name", default="", help="the dataset's name (default: the files' or directory's)")
    add("--version", default="", help="the dataset's version (default: the directory's, or 1.0.0)")
    add("--overwrite", action="store_true", help="replace an older description")
    adopt_parser.set_defaults(run=_adopt, parser=adopt_parser)

    verify_parser = commands.add_parser(
        "verify",
        help="read everything back and check it",
        description="Checks counts, checksums, hashes and every Example of a dataset.",
    )
    verify_parser.add_argument("dataset", help="the dataset's directory")
    verify_parser.set_defaults(run=_verify, parser=verify_parser)

    show_parser = commands.add_parser(
        "show", help="print records", description="Prints the first records of a dataset."
    )
    show_parser.add_argument("dataset", help="the dataset's directory")
    show_parser.add_argument("--split", help="of this split alone (default: of each)")
    show_parser.add_argument(
        "--limit", type=int, default=3, metavar="N", help="records (default: 3)"
    )
    show_parser.add_argument("--images", metavar="DIR", help="write images with boxes drawn there")
    show_parser.set_defaults(run=_show, parser=show_parser)
    return parser


def _build(args: argparse.Namespace, options: PipelineOptions) -> None:
    config, layout = _found(build_config(args))
    try:
        info = build(config, options, source_of(config, layout, scratch_dir(config)))
    except DataError:
        name = FAILED_REJECTS_FILE if is_dataset(config.dataset_dir) else REJECTS_FILE
        path = storage.join(config.dataset_dir, name)
        with contextlib.suppress(RecordError):  # it has not one byte
            storage.read_bytes(FileRef(path=path, length=1))
            print(f"rejects are listed in {path}", file=sys.stderr)
        raise
    print(summary.of_dataset(info), file=sys.stderr)
    print(info.directory)


def _plan(args: argparse.Namespace, options: PipelineOptions) -> None:
    config, layout = _found(build_config(args))
    with tempfile.TemporaryDirectory(prefix="beam-tfrecords-unpacked-") as scratch:
        made = plan(config, options, source_of(config, layout, scratch))
    print(summary.of_plan(made, config.split, declared=bool(config.schema)))
    if made.problem:
        raise made.problem


def _found(config: BuildConfig) -> tuple[BuildConfig, Layout]:
    """The layout of the configured input, settled with it; says on stderr what was found."""
    layout = find_layout(config)
    print(f"found {layout.found}", file=sys.stderr)
    return settled(config, layout), layout


def _adopt(args: argparse.Namespace, options: PipelineOptions) -> None:
    info = adopt(
        args.dataset,
        schema=read_schema(args.schema) if args.schema else (),
        classes=args.classes,
        name=args.name,
        version=args.version,
        overwrite=args.overwrite,
    )
    print(summary.of_dataset(info), file=sys.stderr)
    print(info.directory)


def _verify(args: argparse.Namespace, options: PipelineOptions) -> None:
    info = open_dataset(args.dataset)
    problems = verify(info)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        raise DatasetDamagedError(
            f"{info.directory} does not verify: {summary.counted(len(problems), 'problem')}; build "
            "it again, or restore the files named above"
        )
    shards = sum(map(len, info.splits.values()))
    records = sum(map(info.num_records, info.splits))
    print(
        f"{summary.counted(records, 'record')} in {summary.counted(shards, 'shard')} of "
        f"{summary.counted(len(info.splits), 'split')}: all well"
    )


def _show(args: argparse.Namespace, options: PipelineOptions) -> None:
    info = open_dataset(args.dataset)
    if args.split and args.split not in info.splits:
        raise ConfigError(f"there is no split {args.split!r}; there are {', '.join(info.splits)}")
    if args.limit < 0:
        raise ConfigError(f"--limit {args.limit}: give 0 records or more")
    if args.images:
        shown = write_images(info, args.split, args.limit, Path(args.images))
    else:
        shown = ((name, each, None) for name, each in examples(info, args.split, args.limit))
    for name, example, path in shown:
        text = as_text(example, info.features)
        print(f"--- {name}{f', drawn in {path}' if path else ''}\n{text}")
