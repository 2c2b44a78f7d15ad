"""What an option of a build is; and those that other commands take, too."""

import dataclasses
from typing import Annotated

from beam_pipeline.inspect import tokens
from beam_pipeline.option_values import make_classes, make_path, parse_classes
from beam_pipeline.schema.declaration import read_schema
from tfrecord_dataset.format.feature import Feature
from tfrecord_dataset.options import Option


@dataclasses.dataclass(frozen=True, kw_only=True)
class BuildOption(Option):
    """An option of a build.

    Attributes:
        is_content: It decides what the files hold, and is part of the fingerprint; the others say
            where the data is, how fast it is read, what stops the build, what may go.
        is_path: Its texts are paths; in a recipe they are relative to the recipe's folder.
    """

    is_content: bool = True
    is_path: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobOption(BuildOption):
    """One that does not decide what the files hold."""

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
        parse=parse_classes,
        make=make_classes,
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


def _tokenizer(path: str) -> str:
    """The path of one that can be read."""
    if path := make_path(path):
        tokens.load(path)
    return path


Tokenizer = Annotated[
    str,
    BuildOption(
        "sentencepiece .model or tokenizers .json file; adds a feature <text>/tokens",
        metavar="FILE",
        is_path=True,
        recipe_only=True,
        make=_tokenizer,
    ),
]
