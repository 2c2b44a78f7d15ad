"""The options of `python -m trainer tune`. Imports no TensorFlow."""

import argparse
import dataclasses

from trainer.config import AUGMENTATIONS, TARGETS_AS, TrainConfig, parse_image_size, parse_names
from trainer.errors import ConfigError
from trainer.options.data import add_cache, add_messages


@dataclasses.dataclass(frozen=True, kw_only=True)
class TuneConfig:
    """The options of `python -m trainer tune`.

    Attributes:
        data: What `trainer.open` opens.
        output: A JSON file for what may be tuned; the picture is beside it.
        schema: As for `train`.
        target, target_as, inputs, image_size, augment, batch_size, train_split: As for `train`.
        cache_dir, cache_bytes: As for `train`.
        seconds: That each stage is measured.
        quiet: Print nothing but errors on stderr.

    Raises:
        ConfigError: A number is not positive, or the output is no JSON file.
    """

    data: str
    output: str = "tuning.json"
    schema: str | None = None
    target: str | None = None
    target_as: str | None = None
    inputs: tuple[str, ...] | None = None
    image_size: tuple[int, int] | None = None
    augment: str = TrainConfig.augment
    batch_size: int = TrainConfig.batch_size
    train_split: str | None = None
    cache_dir: str | None = None
    cache_bytes: int | None = None
    seconds: float = 5.0
    quiet: bool = False

    def __post_init__(self) -> None:
        if not self.seconds > 0 or self.batch_size < 1:
            raise ConfigError("--seconds and --batch-size must be positive; give positive numbers")
        if not self.output.endswith(".json"):
            raise ConfigError(f"--output {self.output} is no JSON file; end its name in .json")

    def train_config(self) -> TrainConfig:
        """The options of a training with this input."""
        names = ("data", "schema", "target", "target_as", "inputs", "image_size", "augment")
        more = ("batch_size", "train_split", "cache_dir", "cache_bytes", "quiet")
        given = {name: getattr(self, name) for name in (*names, *more)}
        return TrainConfig(output=self.output, seed=0, **given)


def add_tune(parser: argparse.ArgumentParser) -> None:
    """Adds the options to the command's parser."""
    parser.add_argument(
        "data", metavar="DATASET", help="dataset directory, or a glob of TFRecord files"
    )
    parser.add_argument(
        "--output",
        default=TuneConfig.output,
        metavar="FILE",
        help="JSON file for `train --tuning`, with a picture of the same name in .svg "
        "(default: %(default)s)",
    )
    parser.add_argument("--schema", metavar="FILE", help="as for train")
    parser.add_argument("--train-split", metavar="SPLIT", help="as for train")
    parser.add_argument("--target", metavar="FEATURE", help="as for train")
    parser.add_argument("--as", dest="target_as", choices=TARGETS_AS, help="as for train")
    parser.add_argument("--inputs", type=parse_names, metavar="FEATURE,…", help="as for train")
    parser.add_argument(
        "--image-size", type=parse_image_size, metavar="SIDE|WxH", help="as for train"
    )
    parser.add_argument(
        "--augment", choices=AUGMENTATIONS, default=TuneConfig.augment, help="as for train"
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        default=TuneConfig.batch_size,
        metavar="N",
        help="as for train (default: %(default)s)",
    )
    add_cache(parser)
    parser.add_argument(
        "--seconds",
        type=float,
        default=TuneConfig.seconds,
        metavar="N",
        help="time for each measurement (default: %(default)s)",
    )
    add_messages(parser)
