"""The options of `build` and `plan`: argparse in, BuildConfig out."""

import argparse
from collections.abc import Callable

from beam_pipeline.cli.option_values import (
    parse_bytes,
    parse_classes,
    parse_fractions,
    parse_names,
    parse_shards,
    parse_size,
)
from beam_pipeline.config import (
    COMPRESSIONS,
    DUPLICATE_POLICIES,
    LEAK_POLICIES,
    MISSING_NUMBERS,
    BuildConfig,
)
from beam_pipeline.kinds.boxes import FORMATS, POLICIES
from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.images import ImageOptions
from beam_pipeline.schema.declaration import read_schema
from beam_pipeline.sources.registry import layout_names


def add_build_options(parser: argparse.ArgumentParser) -> None:
    """Adds every option of a BuildConfig."""
    default = BuildConfig(name="default")
    parser.add_argument(
        "input", help="folder or file to read, or a pattern of files with many records each"
    )
    add = parser.add_argument_group("input").add_argument
    add(
        "--layout",
        choices=layout_names(),
        default="auto",
        help="how the input is laid out (default: detect it)",
    )
    add(
        "--image-root",
        default="",
        metavar="DIR",
        help="folder that the paths in a manifest or COCO file are relative to",
    )
    add(
        "--allow-outside",
        type=parse_names,
        default=(),
        metavar="DIR[,DIR]",
        help="folders or buckets outside the input whose files annotations may name",
    )
    add("--image-column", default="", metavar="NAME", help="manifest column with image paths")
    add("--audio-column", default="", metavar="NAME", help="manifest column with audio paths")
    add("--label-column", default="", metavar="A[,B]", help="manifest columns with class names")
    add("--split-column", default="", metavar="NAME", help="manifest column with split names")
    add(
        "--column-names",
        type=parse_names,
        default=(),
        metavar="A,B",
        help="column names of a CSV file without a header",
    )
    add(
        "--ignore-columns",
        type=parse_names,
        default=(),
        metavar="A,B",
        help="manifest columns to leave out",
    )
    add(
        "--missing-numbers",
        choices=MISSING_NUMBERS,
        default=default.missing_numbers,
        help="rows without a number: reject them (default), or store nan",
    )
    add(
        "--missing-values",
        type=parse_names,
        default=(),
        metavar="A,B",
        help="texts in a manifest that stand for a missing value, such as NA,?",
    )
    add(
        "--image-template",
        default="",
        metavar="T",
        help="path of the image, made of a manifest's columns, such as 'train/{id}.png'",
    )
    add(
        "--box-format",
        choices=FORMATS,
        default="",
        help="format of the boxes in a manifest, COCO or VOC",
    )
    add_schema(add)
    add(
        "--path-pattern",
        default="",
        metavar="P",
        help="features in the files' paths, such as '{label}_{speaker}_{index}'",
    )
    add = parser.add_argument_group("checks").add_argument
    add(
        "--max-bad-fraction",
        type=float,
        default=0.0,
        metavar="F",
        help="largest accepted fraction of bad records, 0 to 1 (default: 0)",
    )
    add(
        "--duplicates",
        choices=DUPLICATE_POLICIES,
        default="keep",
        help="records with the same files: keep all (default), drop all but one, or fail",
    )
    add(
        "--leaks",
        choices=LEAK_POLICIES,
        default=default.leaks,
        help="records with the same files in several splits: fail (default), or warn",
    )
    add(
        "--box-policy",
        choices=POLICIES,
        default="clip",
        help="boxes that reach outside the image: clip (default), drop the box, or error to "
        "reject the image",
    )
    add(
        "--max-image-pixels",
        type=int,
        default=default.image.max_pixels,
        metavar="N",
        help="reject larger images before they are decoded (default: %(default)s)",
    )
    add(
        "--max-record-seconds",
        type=float,
        default=default.max_record_seconds,
        metavar="S",
        help="reject records whose inspection takes more CPU time (default: %(default)g)",
    )
    add = parser.add_argument_group("stored images").add_argument
    add(
        "--image-max-side",
        type=int,
        metavar="PX",
        help="shrink images whose longer side exceeds this",
    )
    add("--image-size", type=parse_size, metavar="S|WxH", help="stretch every image to this size")
    add(
        "--image-format",
        choices=("keep", "jpeg", "png"),
        default="keep",
        help="convert images to this format (default: keep)",
    )
    add(
        "--jpeg-quality",
        type=int,
        default=default.image.jpeg_quality,
        metavar="Q",
        help="of JPEGs that are encoded again (default: %(default)s)",
    )
    add = parser.add_argument_group("stored audio and text").add_argument
    add(
        "--audio-sample-rate",
        type=int,
        metavar="HZ",
        help="resample to this rate (default: keep each file's)",
    )
    add("--audio-mono", action="store_true", help="average the channels into one")
    add(
        "--tokenizer",
        default="",
        metavar="FILE",
        help="sentencepiece .model or tokenizers .json file; adds a feature <text>/tokens",
    )
    add = parser.add_argument_group("splits and shards").add_argument
    add(
        "--split",
        type=parse_fractions,
        default=None,
        metavar="A=F,…",
        help="fraction of each split, where the input states no splits (default: train=1)",
    )
    add(
        "--group-by",
        default="",
        metavar="COLUMN|LEVEL",
        help="keep records with the same value of this in one split",
    )
    add("--seed", type=int, default=0, help="decides split and order (default: 0)")
    add(
        "--num-shards",
        type=parse_shards,
        metavar="N|A=N,…",
        help="number of shards per split (default: by size)",
    )
    add(
        "--target-shard-bytes",
        type=parse_bytes,
        default=default.target_shard_bytes,
        metavar="SIZE",
        help="approximate size of a shard (default: 128MiB)",
    )
    add("--compression", choices=COMPRESSIONS, default="none", help="of the shards (default: none)")
    add = parser.add_argument_group("output").add_argument
    add("--name", default="", help="the dataset's name (default: from the input's)")
    add("--version", default="1.0.0", help="the dataset's version (default: 1.0.0)")
    add("--overwrite", action="store_true", help="replace a finished dataset")
    add(
        "--trust-receipts",
        action="store_true",
        help="take finished shards of an interrupted build by their size, without reading them",
    )
    add(
        "--threads",
        type=int,
        default=0,
        metavar="N",
        help="parallel reads per worker (default: 0, chosen by file size)",
    )


def add_schema(add: Callable[..., object]) -> None:
    """Adds, by an `add_argument`, the options that declare features and classes."""
    add(
        "--schema",
        default="",
        metavar="FILE",
        help="JSON or YAML file that declares the features (default: infer them from all records)",
    )
    add(
        "--classes",
        "--labels",
        type=parse_classes,
        default=(),
        metavar="A,B|FILE",
        help="class names in order (default: the input's order, else sorted)",
    )


def build_config(args: argparse.Namespace) -> BuildConfig:
    """The configuration that parsed arguments ask for."""
    return BuildConfig(
        input=args.input,
        output=getattr(args, "output", ""),
        name=args.name,
        version=args.version,
        layout=args.layout,
        split=args.split or {"train": 1.0},
        group_by=args.group_by,
        seed=args.seed,
        num_shards=args.num_shards,
        target_shard_bytes=args.target_shard_bytes,
        compression=args.compression,
        overwrite=args.overwrite,
        trust_receipts=args.trust_receipts,
        duplicates=args.duplicates,
        leaks=args.leaks,
        max_bad_fraction=args.max_bad_fraction,
        max_record_seconds=args.max_record_seconds,
        box_policy=args.box_policy,
        box_format=args.box_format,
        classes=args.classes,
        image=ImageOptions(
            max_side=args.image_max_side,
            size=args.image_size,
            format=args.image_format,
            jpeg_quality=args.jpeg_quality,
            max_pixels=args.max_image_pixels,
        ),
        audio=AudioOptions(sample_rate=args.audio_sample_rate, mono=args.audio_mono),
        tokenizer=args.tokenizer,
        schema=read_schema(args.schema) if args.schema else (),
        path_pattern=args.path_pattern,
        image_root=args.image_root,
        allow_outside=args.allow_outside,
        image_column=args.image_column,
        audio_column=args.audio_column,
        label_column=args.label_column,
        split_column=args.split_column,
        column_names=args.column_names,
        ignore_columns=args.ignore_columns,
        missing_numbers=args.missing_numbers,
        missing_values=args.missing_values,
        image_template=args.image_template,
        threads=args.threads,
    )
