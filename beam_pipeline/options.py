"""The command line's options: argparse in, BuildConfig out."""

import argparse
import difflib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from apache_beam.options.pipeline_options import PipelineOptions

from beam_pipeline.boxes import FORMATS, POLICIES
from beam_pipeline.config import COMPRESSIONS, DUPLICATE_POLICIES, LAYOUTS, BuildConfig
from beam_pipeline.errors import ConfigError
from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.images import ImageOptions
from beam_pipeline.schema.declaration import read_schema

_Number = TypeVar("_Number", int, float)
_ONE_INPUT = "; there is one input: put a pattern of several files in quotes"

_BYTE_UNITS = {"": 1, "b": 1} | {
    unit: int(factor**power)
    for power, letter in enumerate("kmgt", 1)
    for unit, factor in ((letter, 1024), (f"{letter}ib", 1024), (f"{letter}b", 1000))
}


def parse_bytes(text: str) -> int:
    """Bytes in "128MiB", "1.5GB" (powers of 1000) or "4096"."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if not found or found[2] not in _BYTE_UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write it as 128MiB or 1GB")
    return round(float(found[1]) * _BYTE_UNITS[found[2]])


def parse_fractions(text: str) -> dict[str, float]:
    """Fractions by split in "train=0.8,test=0.2"."""
    return _numbers(text, float, "train=0.8,test=0.2")


def parse_shards(text: str) -> int | dict[str, int]:
    """Shards in "8", or by split in "train=8,test=1"."""
    if text.strip().isdigit():
        return int(text)
    return _numbers(text, int, "8 or train=8,test=1")


def parse_size(text: str) -> tuple[int, int]:
    """(width, height) in pixels in "224" or "640x480"."""
    found = re.fullmatch(r"(\d+)(?:x(\d+))?", text.strip().lower())
    if not found:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no size; write 224, or width x height as 640x480"
        )
    return int(found[1]), int(found[2] or found[1])


def parse_names(text: str) -> tuple[str, ...]:
    """Names in "a,b"."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def parse_classes(text: str) -> tuple[str, ...]:
    """Class names in "cat,dog", or one a line in the file of that path."""
    path = Path(text)
    if path.is_file():
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise argparse.ArgumentTypeError(f"{text!r} is not UTF-8: save it so") from error
        return tuple(line.strip() for line in lines if line.strip())
    if "," not in text and (path.suffix or "/" in text):
        raise argparse.ArgumentTypeError(
            f"there is no file {text!r}; give one with a name a line, or names such as cat,dog"
        )
    return parse_names(text)


def _numbers(text: str, number: Callable[[str], _Number], wanted: str) -> dict[str, _Number]:
    """Numbers by name in "a=1,b=2"; `wanted` shows how to write it."""
    pairs = [part.partition("=") for part in text.split(",")]
    try:
        numbers = {name.strip(): number(value) for name, _, value in pairs}
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} cannot be read; write it as {wanted}"
        ) from error
    if len(numbers) < len(pairs):
        raise argparse.ArgumentTypeError(f"{text!r} names a split twice")
    return numbers


def add_build_options(parser: argparse.ArgumentParser) -> None:
    """Adds every option that makes a BuildConfig."""
    default = BuildConfig(name="default")
    parser.add_argument(
        "input", help="folder or file to read; or a pattern of files that hold many records each"
    )
    add = parser.add_argument_group("what is read").add_argument
    add(
        "--layout",
        choices=LAYOUTS,
        default="auto",
        help="how the input is laid out (default: look)",
    )
    add("--image-root", default="", metavar="DIR", help="where a manifest's or COCO's paths start")
    add("--image-column", default="", metavar="NAME", help="a manifest's column of picture paths")
    add("--audio-column", default="", metavar="NAME", help="a manifest's column of sound paths")
    add("--label-column", default="", metavar="A[,B]", help="a manifest's columns of class names")
    add("--split-column", default="", metavar="NAME", help="a manifest's column of splits")
    add(
        "--column-names",
        type=parse_names,
        default=(),
        metavar="A,B",
        help="a CSV's columns, where it has no header",
    )
    add(
        "--ignore-columns",
        type=parse_names,
        default=(),
        metavar="A,B",
        help="columns of a manifest to leave out",
    )
    add("--box-format", choices=FORMATS, default="", help="a manifest's box format")
    add_schema(add)
    add(
        "--path-pattern",
        default="",
        metavar="P",
        help="what files' paths say, such as '{label}_{speaker}_{index}'",
    )
    add = parser.add_argument_group("what is checked").add_argument
    add(
        "--max-bad-fraction",
        type=float,
        default=0.0,
        metavar="F",
        help="bad records to accept, 0..1",
    )
    add("--duplicates", choices=DUPLICATE_POLICIES, default="keep", help="pictures met twice")
    add(
        "--box-policy",
        choices=POLICIES,
        default="clip",
        help="boxes that reach outside: clip (default), drop the box, or error: reject the picture",
    )
    add(
        "--max-image-pixels",
        type=int,
        default=default.image.max_pixels,
        metavar="N",
        help="refuse larger pictures before decoding (default: %(default)s)",
    )
    add = parser.add_argument_group("how pictures are stored").add_argument
    add("--image-max-side", type=int, metavar="PX", help="shrink pictures with a longer side")
    add("--image-size", type=parse_size, metavar="S|WxH", help="stretch every picture to this size")
    add("--image-format", choices=("keep", "jpeg", "png"), default="keep")
    add("--jpeg-quality", type=int, default=default.image.jpeg_quality, metavar="Q")
    add = parser.add_argument_group("how sounds and texts are stored").add_argument
    add("--audio-sample-rate", type=int, metavar="HZ", help="resample (default: keep)")
    add("--audio-mono", action="store_true", help="average the channels")
    add(
        "--tokenizer",
        default="",
        metavar="FILE",
        help="sentencepiece .model or tokenizers .json: adds <text>/tokens",
    )
    add = parser.add_argument_group("splits and shards").add_argument
    add(
        "--split",
        type=parse_fractions,
        default=None,
        metavar="A=F,…",
        help="fractions, where the layout has no splits (default: train=1)",
    )
    add(
        "--group-by", default="", metavar="COLUMN|LEVEL", help="keep records alike in this together"
    )
    add("--seed", type=int, default=0, help="salt of split and order (default: 0)")
    add("--num-shards", type=parse_shards, metavar="N|A=N,…", help="shards of each split")
    add(
        "--target-shard-bytes",
        type=parse_bytes,
        default=default.target_shard_bytes,
        metavar="SIZE",
        help="bytes a shard aims at (default: 128MiB)",
    )
    add("--compression", choices=COMPRESSIONS, default="none")
    add = parser.add_argument_group("where it goes").add_argument
    add("--name", default="", help="the dataset's name (default: the input's)")
    add("--version", default="1.0.0", help="the dataset's version (default: 1.0.0)")
    add("--overwrite", action="store_true", help="replace a finished dataset")
    add("--threads", type=int, default=0, metavar="N", help="reads at once in a worker (0: choose)")


def add_schema(add: Callable[..., object]) -> None:
    """Adds what says what records hold, by an `add_argument`."""
    add(
        "--schema",
        default="",
        metavar="FILE",
        help="JSON or YAML that declares the features (default: look at all records)",
    )
    add(
        "--classes",
        "--labels",
        type=parse_classes,
        default=(),
        metavar="A,B|FILE",
        help="class names in order (default: the layout's, else sorted)",
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
        duplicates=args.duplicates,
        max_bad_fraction=args.max_bad_fraction,
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
        image_column=args.image_column,
        audio_column=args.audio_column,
        label_column=args.label_column,
        split_column=args.split_column,
        column_names=args.column_names,
        ignore_columns=args.ignore_columns,
        threads=args.threads,
    )


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose mistakes are ConfigErrors and whose options are not abbreviated."""

    def __init__(self, *args: object, **kwargs: object):
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message} (see `{self.prog} --help`)")


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """(ours, Beam's): an option of Beam's goes with its value, wherever it stands.

    Our own parser, which does not know that `--direct_num_workers` takes a value, would
    take the value for the input.
    """
    _, ours = _beam_parser().parse_known_args(list(arguments))
    rest = iter(ours)
    awaited = next(rest, None)
    theirs = []
    for argument in arguments:
        if argument == awaited:
            awaited = next(rest, None)
        else:
            theirs.append(argument)
    return ours, theirs


def beam_options(unknown: Sequence[str], parser: argparse.ArgumentParser) -> PipelineOptions:
    """Beam's options in what our own parser did not know.

    Raises:
        ConfigError: An argument is neither ours nor Beam's; the nearest of both is named.
    """
    theirs = _beam_parser()
    _, stray = theirs.parse_known_args(list(unknown))
    if stray:
        option = stray[0].partition("=")[0]
        known = [*parser._option_string_actions, *theirs._option_string_actions]
        near = difflib.get_close_matches(option, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else f" (see `{parser.prog} --help`)"
        raise ConfigError(f"unknown argument {option}{hint if option[:1] == '-' else _ONE_INPUT}")
    return PipelineOptions(list(unknown))


def _beam_parser() -> Parser:
    """A parser of all options of Beam's."""
    parser = Parser(add_help=False)
    for group in PipelineOptions.__subclasses__():
        _add_group(parser, group._add_argparse_args)
    parser._option_string_actions.pop("--labels", None)  # ours; Dataflow's are --label too
    return parser


def _add_group(
    parser: argparse.ArgumentParser, add: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Adds a group of Beam's options; some of them stand in two groups."""
    group = Parser(add_help=False)
    add(group)
    for action in group._actions:
        if not set(action.option_strings) & set(parser._option_string_actions):
            parser._add_action(action)
