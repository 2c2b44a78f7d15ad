"""Makes docs/options.md, docs/trees.md and the types of Python keywords.

`PYTHONPATH=. python tests/generated_pages.py` writes them: from the commands' options, and from
the trees of public datasets in tests/cases/zoo, which tests read with these commands.
"""

import dataclasses
import shlex
import typing
from collections.abc import Collection, Mapping
from pathlib import Path

import yaml

from beam_pipeline.cli import options as cli
from beam_pipeline.config import BuildConfig
from tfrecord_dataset.options import all_options
from trainer import commands as trainer
from trainer.options.train_options import TrainConfig

_ROOT = Path(__file__).parent.parent
OPTIONS = _ROOT / "docs" / "options.md"
TREES = _ROOT / "docs" / "trees.md"
_ZOO = _ROOT / "tests" / "cases" / "zoo"
# Arguments of `trainer.train` itself; mypy refuses duplicates.
_OF_TRAIN = ("data", "output", "model", "augment", "optimizer", "schedule", "metrics")
_TRAIN_HEAD = '''"""Options that `trainer.train` takes as keywords, for editors and type checkers.

Made of `TrainConfig` by tests/generated_pages.py.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict


class TrainArguments(TypedDict, total=False):
    """The options of `train`."""

'''
_BUILD_HEAD = '''"""Options that `build` and `plan` take as keywords, for editors and type checkers.

Made of `BuildConfig` by tests/generated_pages.py.
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from beam_pipeline.media.audio import AudioOptions
from beam_pipeline.media.images import ImageOptions
from tfrecord_dataset.format.feature import Feature


class BuildArguments(TypedDict, total=False):
    """The options of `build` and `plan`."""

'''
# Python accepts more types than the command line's texts are converted to.
_WIDER = {
    "tuple[str, ...]": "Sequence[str]",
    "tfrecord_dataset.image_size.ImageSize": "int | tuple[int, int]",
    "tfrecord_dataset.format.feature.": "",
    "collections.abc.": "",
    "typing.": "",
    "'": '"',
}
# Longer value names are cut in the table.
_WIDEST = 80
_TREES_HEAD = """# Public datasets

Commands for datasets as their authors or Kaggle distribute them, once unpacked.
A test reads a small tree of each, with the folders, names and annotations of the original.

If an option is needed, `build` stops with a question that names it.
"""
# By heading: what is read of a dataset, by its case in tests/cases/zoo.
_PUBLIC = {
    "Classes of images": {
        "mnist-s-own-files": "MNIST",
        "kmnist-as-npz": "Kuzushiji-MNIST",
        "cassava": "Cassava leaf disease (Kaggle)",
        "plant-pathology": "Plant pathology 2020 (Kaggle)",
        "chest-x-ray": "Chest X-ray (Kaggle)",
        "herbarium-2020": "Herbarium 2020 (Kaggle)",
        "ham10000": "HAM10000",
        "chexpert": "CheXpert",
        "cub-200": "CUB-200-2011",
        "dtd": "Describable Textures",
        "inaturalist": "iNaturalist",
        "fairface": "FairFace",
        "rvl-cdip": "RVL-CDIP",
    },
    "Boxes": {
        "coco-2017": "COCO 2017",
        "pascal-voc-2012": "Pascal VOC 2012",
        "ilsvrc-of-kaggle": "ImageNet, localization (Kaggle)",
        "bccd": "BCCD",
        "kitti": "KITTI",
        "wider-face": "WIDER FACE",
        "global-wheat": "Global wheat detection (Kaggle)",
        "publaynet": "PubLayNet",
    },
    "Masks and depth": {
        "ade20k": "ADE20K",
        "cityscapes-fine-and-coarse": "Cityscapes",
        "busi": "Breast ultrasound (BUSI)",
        "nyu-depth-whole": "NYU depth (Kaggle)",
    },
    "Audio": {
        "speech-commands": "Speech Commands",
        "esc-50-whole": "ESC-50",
        "fsd50k": "FSD50K",
        "common-voice": "Common Voice",
        "librispeech": "LibriSpeech",
        "ljspeech": "LJ Speech",
        "vctk": "VCTK",
        "maestro": "MAESTRO",
        "nsynth": "NSynth",
    },
    "Text and tables": {
        "imdb-of-the-hub": "IMDb (Hugging Face)",
        "20-newsgroups-as-the-refusal-mends-it": "20 Newsgroups, once the names end in `.txt`",
        "snli": "SNLI",
        "sts-b": "STS-B",
        "flickr8k": "Flickr8k captions (Kaggle)",
        "docvqa": "DocVQA",
        "iris-of-kaggle": "Iris (Kaggle)",
        "tables-of-kaggle-s-digits": "Digit recognizer (Kaggle)",
    },
}


def as_table(owner: type) -> str:
    """Render a class's options as a Markdown table, with a second one for recipe-only options."""
    options = all_options(owner)
    rows: dict[bool, list[str]] = {False: [], True: []}
    for dotted, field in options.items():
        is_of_recipe = field.option.recipe_only
        words = [dotted] if is_of_recipe else [] if field.option.is_positional else [field.flag]
        if field.kind is not bool:
            metavar = field.metavar or field.name.upper()
            words.append(metavar if len(metavar) <= _WIDEST else field.name.upper())
        name = (": " if is_of_recipe else " ").join(words)
        meaning = field.help.replace("|", "\\|").replace("<", "&lt;")
        # Python-Markdown keeps the backslash of `\\|` in backticks, which GitHub drops.
        code = f"<code>{name.replace('|', '&#124;')}</code>" if "|" in name else f"`{name}`"
        rows[is_of_recipe].append(f"| {code} | {meaning} |\n")
    table = "| option | meaning |\n|---|---|\n" + "".join(rows[False])
    if rows[True]:
        table += "\n| in a recipe | meaning |\n|---|---|\n" + "".join(rows[True])
    return table


def options_page() -> str:
    """Render docs/options.md."""
    parts = [
        "# Options",
        "All options of the commands, as `--help` shows them; `plan` has those of `build`. "
        "`plan`, `verify`, `show`, `diff`, `train`, `evaluate`, `predict` and `tune` print JSON "
        "with `--json`. `beam-tfrecords` is "
        "`python -m beam_pipeline`, and `beam-tfrecords-train` is `python -m trainer`.",
        "A `BuildConfig` takes the options of `build`, and `trainer.train` those of `train`, by "
        "their names with `_`: `batch_size=64`. In Python a size is a side or (height, width); "
        "`640x480` is for the command line.",
    ]
    for program, commands in (
        ("beam-tfrecords", cli.COMMANDS),
        ("beam-tfrecords-train", trainer.COMMANDS),
    ):
        described: dict[str, str] = {}
        for name, command in commands.items():
            if name == "plan":
                continue
            parts += [f"## {program} {name}", _without_repeats(command, described, name)]
    return "\n\n".join(parts) + "\n"


def _without_repeats(command: typing.Any, described: dict[str, str], name: str) -> str:
    """Render a command's table; options shared with another command are only named below it."""
    kept: list[str] = []
    repeated: dict[str, list[str]] = {}
    for row in as_table(command.options).strip().splitlines():
        if row in described:
            option = row.split("`")[1].split(" ")[0] if "`" in row else row.split(">")[1].split()[0]
            repeated.setdefault(described[row], []).append(f"`{option}`")
        else:
            kept.append(row)
            if row.startswith(("| `", "| <code>")):
                described[row] = name
    lists = [f"As for `{other}`: {', '.join(options)}." for other, options in repeated.items()]
    return "\n\n".join(["\n".join(kept)] * (len(kept) > 2) + lists)


def arguments() -> Mapping[Path, str]:
    """Render the modules with types of keywords."""
    return {
        _ROOT / "beam_pipeline" / "build_arguments.py": _BUILD_HEAD + _typed(BuildConfig, ()),
        _ROOT / "trainer" / "options" / "train_arguments.py": _TRAIN_HEAD
        + _typed(TrainConfig, _OF_TRAIN),
    }


def _typed(owner: type, left_out: Collection[str]) -> str:
    hints = typing.get_type_hints(owner)
    lines = []
    for field in dataclasses.fields(owner):
        if field.name in left_out:
            continue
        hint = hints[field.name]
        kind = hint.__name__ if type(hint) is type else str(hint)
        for narrow, wide in _WIDER.items():
            kind = kind.replace(narrow, wide)
        lines.append(f"    {field.name}: {kind}\n")
    return "".join(lines)


def trees_page() -> str:
    """Render docs/trees.md: what to type for public datasets."""
    parts = [_TREES_HEAD]
    for heading, titles in _PUBLIC.items():
        rows: dict[str, list[str]] = {}
        for case, title in titles.items():
            rows.setdefault(typed(_ZOO / case), []).append(title)
        parts.append(f"## {heading}\n\n| dataset | type `beam-tfrecords …` |\n|---|---|")
        parts += [f"| {', '.join(named)} | `{command}` |" for command, named in rows.items()]
        parts[-1] += "\n"
    return "\n".join(parts)


def typed(case: Path) -> str:
    """Return the command that reads a case: its options, or what its recipe answers."""
    words = ["INPUT"]
    if (case / "options").exists():
        words = shlex.split((case / "options").read_text())
    elif (case / "recipe.yaml").exists():
        options = all_options(BuildConfig)
        answers = yaml.safe_load((case / "recipe.yaml").read_text())
        words = [answers.pop("input")]
        for name, answer in answers.items():
            for value in answer if isinstance(answer, list) else [answer]:
                words += [options[name].flag, value]
    return f"build {' '.join(map(shlex.quote, words)).replace('INPUT', 'FOLDER')} --output data"


if __name__ == "__main__":
    OPTIONS.write_text(options_page())
    TREES.write_text(trees_page())
    for path, text in arguments().items():
        path.write_text(text)
