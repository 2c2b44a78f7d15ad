"""The options of a build, each written once: command line, help and checks come from here."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated

from beam_pipeline import option_values as values
from beam_pipeline.kinds.boxes import FORMATS as BOX_FORMATS
from beam_pipeline.kinds.kind import BOX_POLICIES
from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.images import ImageOptions
from beam_pipeline.schema.declaration import read_schema
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.options import Group, Option, Options, parse_bytes

_INPUT, _CHECKS = Group("input"), Group("checks")
_SPLITS, _OUTPUT = Group("splits and shards"), Group("output")
# In the order of the help.
HEADINGS = ("input", "checks", "stored images", "stored audio", _SPLITS.title, _OUTPUT.title)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BuildOption(Option):
    """An option of a build.

    Attributes:
        is_content: Whether it determines the content of the files, and so the fingerprint; others
            set locations, speed, and limits that stop the build.
        is_path: Whether its values are paths; in a recipe they are relative to its folder.
    """

    is_content: bool = True
    is_path: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobOption(BuildOption):
    """An option that does not affect the content of the files."""

    is_content: bool = False


AllowMissingShards = Annotated[
    bool,
    JobOption(
        "read TFRecord files also if shards of a numbering are missing (00003-of-00010)",
        is_rare=True,
    ),
]
Classes = Annotated[
    tuple[str, ...],
    BuildOption(
        "class names in order (default: the input's order, else sorted)",
        other_flag="--labels",
        metavar="A,B|FILE",
        is_path=True,
        parse=values.parse_classes,
        make=values.make_classes,
    ),
]
Schema = Annotated[
    tuple[Feature, ...],
    BuildOption(
        "JSON or YAML file that declares the features (default: infer them from all records)",
        metavar="FILE",
        is_path=True,
        parse=read_schema,
    ),
]


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class BuildOptions(Options):
    """Input, output and options of a build, each checked by itself."""

    input: Annotated[
        str,
        JobOption(
            "folder or file to read, or a pattern of files with many records each",
            is_positional=True,
            make=values.make_described,
            is_path=True,
        ),
    ] = ""
    output: Annotated[
        str,
        JobOption(
            "the dataset goes to DATA_DIR/NAME/VERSION",
            metavar="DATA_DIR",
            make=values.make_output,
            is_path=True,
        ),
        _OUTPUT,
    ] = ""
    name: Annotated[
        str, BuildOption("the dataset's name (default: from the input's)", make=values.make_name)
    ] = ""
    version: Annotated[str, BuildOption("the dataset's version", make=values.make_version)] = (
        "1.0.0"
    )
    license: Annotated[
        str, BuildOption("the data's licence, such as cc-by-4.0", metavar="ID", recipe_only=True)
    ] = ""
    layout: Annotated[
        str,
        BuildOption(
            "how the input is laid out (default: detect it)",
            metavar="LAYOUT",
            choices=values.layout_names,
        ),
        _INPUT,
    ] = values.AUTO
    split: Annotated[
        Mapping[str, float],
        BuildOption(
            "fraction of each split, where the input states no splits (default: train=1); "
            "validation=0.1 also divides the input's own train",
            metavar="A=F,…",
            parse=values.parse_fractions,
            make=values.make_fractions,
        ),
        _SPLITS,
    ] = dataclasses.field(default_factory=lambda: dict(values.ONE_SPLIT))
    no_stratify: Annotated[
        bool, BuildOption("choose splits without regard to the records' classes", recipe_only=True)
    ] = False
    split_list: Annotated[
        tuple[str, ...],
        BuildOption(
            "file with one file name per line, all of one split: val.txt, or val=FILE; may be "
            "repeated",
            metavar="[A=]FILE",
            parse=values.parse_one,
            make=values.make_split_lists,
            may_repeat=True,
            is_path=True,
            is_rare=True,
        ),
    ] = ()
    group_by: Annotated[
        str,
        BuildOption(
            "keep records with the same value of this in one split", metavar="COLUMN|LEVEL"
        ),
    ] = ""
    seed: Annotated[int, BuildOption("random seed of the splits and the order", metavar="SEED")] = 0
    num_shards: Annotated[
        int | Mapping[str, int] | None,
        BuildOption(
            "number of shards per split (default: by size)",
            metavar="N|A=N,…",
            parse=values.parse_shards,
            make=values.make_shards,
        ),
    ] = None
    target_shard_bytes: Annotated[
        int,
        BuildOption(
            "approximate size of a shard (default: 128MiB)",
            metavar="SIZE",
            parse=parse_bytes,
            least=1,
        ),
    ] = 128 << 20
    compression: Annotated[
        str, BuildOption("compression of the shards", choices=("none", "gzip"))
    ] = "none"
    overwrite: Annotated[bool, JobOption("replace a finished dataset"), _OUTPUT] = False
    no_report: Annotated[
        bool, JobOption("leave out report.html, the page of the dataset", recipe_only=True)
    ] = False
    duplicates: Annotated[
        str,
        BuildOption(
            "records with the same files: keep all (default), drop all but one, or fail",
            choices=("keep", "drop", "error"),
        ),
        _CHECKS,
    ] = "keep"
    near_duplicates: Annotated[
        str,
        BuildOption(
            "images that look alike: report them, or group to keep them in one split",
            choices=("report", "group"),
            is_rare=True,
        ),
    ] = ""
    leaks: Annotated[
        str,
        JobOption(
            "records with the same files in several splits: fail (default), or warn",
            choices=("error", "warn"),
            is_rare=True,
        ),
    ] = "error"
    max_bad_fraction: Annotated[
        float,
        BuildOption(
            "largest accepted fraction of bad records, 0 to 1", metavar="F", least=0, most=1
        ),
    ] = 0.0
    box_policy: Annotated[
        str,
        BuildOption(
            "boxes that reach outside the image: clip (default), drop the box, or error to "
            "reject the image",
            choices=tuple(BOX_POLICIES),
            recipe_only=True,
        ),
    ] = "clip"
    box_format: Annotated[
        str,
        BuildOption(
            "format of the boxes in a manifest, COCO or VOC", choices=BOX_FORMATS, recipe_only=True
        ),
        _INPUT,
    ] = ""
    points: Annotated[
        str,
        BuildOption(
            "ungrouped points: one object each (default), or landmarks of the image's only object",
            choices=("objects", "landmarks"),
            recipe_only=True,
        ),
    ] = "objects"
    masks: Annotated[
        bool, BuildOption("store PNG masks of objects; polygons are always stored")
    ] = False
    classes: Classes = ()
    image: ImageOptions = dataclasses.field(default_factory=ImageOptions)
    audio: AudioOptions = dataclasses.field(default_factory=AudioOptions)
    schema: Annotated[Schema, _INPUT] = ()
    ignore: Annotated[
        tuple[str, ...],
        BuildOption(
            "files or folders of the input to leave out, such as '*_mask.png'; may be repeated",
            metavar="P",
            parse=values.parse_one,
            may_repeat=True,
        ),
    ] = ()
    one_class: Annotated[bool, JobOption("read a single class folder as one class")] = False
    path_pattern: Annotated[
        str,
        BuildOption(
            "features in the files' paths, such as '{label}_{speaker}_{index}'", metavar="P"
        ),
    ] = ""
    image_root: Annotated[
        str,
        JobOption(
            "folder that the paths in a manifest or COCO file are relative to",
            metavar="DIR",
            make=values.make_path,
            is_path=True,
        ),
    ] = ""
    allow_missing_shards: AllowMissingShards = False
    allow_outside: Annotated[
        tuple[str, ...],
        JobOption(
            "folders or buckets outside the input whose files annotations may name",
            metavar="DIR[,DIR]",
            parse=values.parse_names,
            make=values.make_paths,
            is_path=True,
            is_rare=True,
        ),
    ] = ()
    image_column: Annotated[
        str, BuildOption("manifest column with image paths", metavar="NAME")
    ] = ""
    audio_column: Annotated[
        str, BuildOption("manifest column with audio paths", metavar="NAME", recipe_only=True)
    ] = ""
    label_column: Annotated[
        str, BuildOption("manifest columns with class names; or none", metavar="A[,B]")
    ] = ""
    label_separator: Annotated[
        str,
        BuildOption(
            "separator of the classes in a label, such as '|'; none: each "
            "text is one class (default: decided by the first rows)",
            metavar="S",
            recipe_only=True,
        ),
    ] = ""
    split_column: Annotated[
        str, BuildOption("manifest column with split names", metavar="NAME")
    ] = ""
    column_names: Annotated[
        tuple[str, ...],
        BuildOption(
            "column names of a CSV file without a header",
            metavar="A,B",
            parse=values.parse_names,
            recipe_only=True,
        ),
    ] = ()
    no_header: Annotated[
        bool,
        BuildOption(
            "the first line of a CSV file is a row; columns are column_1, column_2, …", is_rare=True
        ),
    ] = False
    header_rows: Annotated[
        int,
        BuildOption(
            "rows of names above a CSV's or a workbook's values, joined by _: a name and its unit",
            least=1,
            recipe_only=True,
        ),
    ] = 1
    encoding: Annotated[
        str, BuildOption("encoding of CSV files, such as cp1252 (default: utf-8)", metavar="E")
    ] = "utf-8"
    table: Annotated[
        str,
        BuildOption("sheet of a workbook that is read", metavar="NAME"),
    ] = ""
    ignore_columns: Annotated[
        tuple[str, ...],
        BuildOption("manifest columns to leave out", metavar="A,B", parse=values.parse_names),
    ] = ()
    missing_numbers: Annotated[
        str | float,
        BuildOption(
            "missing numbers in a table: store nan (default) or NUMBER, or reject the row",
            metavar="nan|reject|NUMBER",
            parse=values.parse_missing_numbers,
            make=values.make_missing_numbers,
        ),
    ] = values.NAN
    missing_values: Annotated[
        tuple[str, ...],
        BuildOption(
            "texts in a table that mean a missing value, such as NA,?",
            metavar="A,B",
            parse=values.parse_names,
            recipe_only=True,
        ),
    ] = ()
    decimal_comma: Annotated[
        bool | tuple[str, ...],
        BuildOption(
            "numbers in a table are written with a decimal comma, 1,5 or 1.234,5: true, or the "
            "columns with such numbers",
            metavar="true|A,B",
            parse=values.parse_columns,
            make=values.make_columns,
            recipe_only=True,
        ),
    ] = False
    image_template: Annotated[
        str,
        BuildOption(
            "path of the image, made of a manifest's columns, such as 'train/{id}.png'",
            metavar="T",
            recipe_only=True,
        ),
    ] = ""
    threads: Annotated[
        int,
        JobOption(
            "parallel reads per worker (default: 0, chosen by file size)", least=0, is_rare=True
        ),
        _OUTPUT,
    ] = 0
    max_record_seconds: Annotated[
        float,
        JobOption(
            "reject records whose inspection takes more CPU time",
            metavar="S",
            above=0,
            recipe_only=True,
        ),
        _CHECKS,
    ] = 60.0
