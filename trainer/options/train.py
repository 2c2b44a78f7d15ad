"""The options of the command `train`."""

import argparse

from trainer.config import (
    AUGMENTATIONS,
    CACHES,
    LOOPS,
    OPTIMIZER_NAMES,
    PRECISIONS,
    SAMPLINGS,
    SCHEDULES,
    TARGETS_AS,
    TrainConfig,
    parse_image_size,
    parse_lengths,
    parse_names,
)
from trainer.options.data import add_data, add_messages, add_trust


def add_train(parser: argparse.ArgumentParser) -> None:
    """Adds them to the command's parser; those that are not given have no value."""
    where = parser.add_argument_group("data and output")
    add_data(where, required=False)
    where.add_argument("--output", required=True, metavar="RUN", help="directory for the run")
    where.add_argument(
        "--resume",
        action="store_true",
        help="continue the run in RUN, if there is one, with its own options",
    )
    where.add_argument("--overwrite", action="store_true", help="replace the run in RUN")
    add_trust(where)
    where.add_argument(
        "--train-split",
        metavar="SPLIT",
        help="split to train on (default: train, or the only split)",
    )
    where.add_argument(
        "--validation-split",
        metavar="SPLIT",
        help="split to validate on, or none (default: validation, val or valid; never test)",
    )

    what = parser.add_argument_group("inputs, target and model")
    what.add_argument(
        "--target",
        metavar="FEATURE",
        help="feature to predict (default: the class label, else the one named label, target or y, "
        "else the boxes)",
    )
    what.add_argument(
        "--as",
        dest="target_as",
        choices=TARGETS_AS,
        help="predict the target as a class or as a number (default: fractions are numbers, whole "
        "numbers and texts are classes)",
    )
    what.add_argument(
        "--inputs",
        type=parse_names,
        metavar="FEATURE,…",
        help="features to learn from (default: the image, audio, sequence, text or array, and the "
        "numeric vectors in the same record; else all numbers)",
    )
    what.add_argument(
        "--sample-weight",
        metavar="FEATURE",
        help="numeric feature that weights each record's loss in training",
    )
    what.add_argument(
        "--pad",
        type=parse_lengths,
        default={},
        metavar="INPUT=N,…",
        help="pad or cut an input to N: ids of a sequence, words of a text, samples of audio "
        "(default: pad to the longest in each batch)",
    )
    what.add_argument(
        "--model",
        default=TrainConfig.model,
        help="small, or for images a model of keras.applications such as MobileNetV2 "
        "(default: %(default)s)",
    )
    what.add_argument(
        "--model-fn",
        metavar="MODULE:FUNCTION",
        help="your own function that takes the task and returns the model",
    )
    what.add_argument(
        "--loss-fn",
        metavar="MODULE:FUNCTION",
        help="your own function that takes (target, outputs) and returns each example's loss",
    )
    what.add_argument(
        "--weights", metavar="FILE", help="weights for the model without its head (…_notop.h5)"
    )
    add_number(
        what, "--head-epochs", int, None, "epochs for the new layers alone", "2 with --weights"
    )
    add_number(
        what, "--fine-tune-rate", float, None, "learning rate after them", "--learning-rate / 10"
    )
    add_number(
        what,
        "--frozen-stages",
        int,
        None,
        "layers never learn before the image is more than 2**N times smaller",
        "all learn",
    )
    what.add_argument(
        "--augment",
        choices=AUGMENTATIONS,
        default=TrainConfig.augment,
        help="changes of images in training: mirrored (flip), also cropped (crop), "
        "also RandAugment (rand); auto (default): crop for boxes, else none",
    )
    what.add_argument(
        "--augment-fn",
        metavar="MODULE:FUNCTION",
        help="your own function from an image (uint8 tensor) and a seed (int64 [2]) to another",
    )
    add_number(what, "--mixup", float, TrainConfig.mixup, "mix images in pairs, such as 0.2")
    add_number(what, "--cutmix", float, TrainConfig.cutmix, "mix parts of images, such as 1.0")
    add_number(
        what,
        "--label-smoothing",
        float,
        TrainConfig.label_smoothing,
        "share of the loss for all classes alike, such as 0.1",
    )
    what.add_argument(
        "--class-weights",
        metavar="WEIGHTS",
        help="weight each class in the training loss: balanced, CLASS=N,…, or a JSON file",
    )
    what.add_argument(
        "--sampling",
        choices=SAMPLINGS,
        default=TrainConfig.sampling,
        help="every record once a pass (uniform), or all classes equally often (balanced) "
        "(default: %(default)s)",
    )
    what.add_argument(
        "--image-size",
        type=parse_image_size,
        metavar="SIDE|WxH",
        help="resize images to this many pixels (default: the dataset's size, else 128; "
        "for boxes up to 640, else 320)",
    )

    how = parser.add_argument_group("training")
    add_number(how, "--epochs", int, TrainConfig.epochs, "total, including those before --resume")
    add_number(
        how, "--batch-size", int, TrainConfig.batch_size, "records per step, over all replicas"
    )
    add_number(
        how, "--steps-per-epoch", int, None, "steps per epoch", "number of records / batch size"
    )
    how.add_argument(
        "--loop",
        choices=LOOPS,
        default=TrainConfig.loop,
        help="own training loop, or Keras's fit (default: %(default)s)",
    )
    add_number(
        how, "--steps-per-call", int, TrainConfig.steps_per_call, "steps per call of a tf.function"
    )
    add_number(
        how,
        "--accumulate-steps",
        int,
        TrainConfig.accumulate_steps,
        "parts of each replica's batch whose gradients are summed for a step",
    )
    add_number(how, "--checkpoint-every-steps", int, None, "further checkpoints", "epochs' ends")
    add_number(how, "--validate-every-steps", int, None, "further validations", "epochs' ends")
    add_number(
        how, "--early-stopping", int, None, "end after N validations without a lower loss", "never"
    )
    how.add_argument(
        "--callback",
        metavar="MODULE:FUNCTION",
        help="your own function that returns a Keras callback, or a list of them",
    )
    how.add_argument(
        "--optimizer",
        choices=OPTIMIZER_NAMES,
        default=TrainConfig.optimizer,
        help="default: %(default)s",
    )
    how.add_argument(
        "--optimizer-fn",
        metavar="MODULE:FUNCTION",
        help="your own function that takes the learning rate and returns the optimizer",
    )
    add_number(how, "--learning-rate", float, TrainConfig.learning_rate, "the largest")
    how.add_argument(
        "--schedule",
        choices=SCHEDULES,
        default=TrainConfig.schedule,
        help="of the learning rate: constant, or half a cosine down to 0 (default: %(default)s)",
    )
    add_number(
        how, "--warmup-steps", int, TrainConfig.warmup_steps, "steps of a linear rise from 0"
    )
    add_number(how, "--weight-decay", float, None, "decoupled weight decay", "the optimizer's")
    add_number(
        how, "--ema", float, None, "validate and save an average of the weights, by this momentum"
    )
    add_number(how, "--clip-norm", float, None, "largest global norm of the gradients", "no limit")
    how.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=TrainConfig.precision,
        help="default: %(default)s",
    )
    how.add_argument(
        "--jit-compile",
        action="store_true",
        help="compile forward and backward passes by XLA",
    )
    how.add_argument(
        "--cache",
        choices=CACHES,
        default=TrainConfig.cache,
        help="where decoded images are kept, so that only the first epoch decodes them; auto: "
        "memory, else disk, if all fit and crops are not changed by it (default: %(default)s)",
    )
    how.add_argument(
        "--tuning", metavar="FILE", help="settings of the input that `tune` found on this machine"
    )
    add_number(
        how, "--seed", int, None, "decides weights and order", "random, saved in config.json"
    )
    how.add_argument(
        "--deterministic",
        action="store_true",
        help="make runs with the same seed equal bit for bit; slower on GPUs",
    )
    add_runtime(how)
    _leave_out_defaults(parser)


def _leave_out_defaults(parser: argparse.ArgumentParser) -> None:
    """Lets the parsed options be those that were given; a run that goes on has the others."""
    for action in parser._actions:
        if action.default is not argparse.SUPPRESS:
            action.help = (action.help or "").replace("%(default)s", str(action.default))
            action.default = argparse.SUPPRESS


def add_runtime(parser: argparse._ActionsContainer) -> None:
    """Adds the options of every command that uses a model."""
    parser.add_argument(
        "--devices",
        default=TrainConfig.devices,
        help="auto (all GPUs, else the CPU), cpu, cpu:N (N replicas), gpu, or gpu:0,1 (by number)",
    )
    add_messages(parser)


def add_number(
    parser: argparse._ActionsContainer,
    name: str,
    kind: type[int] | type[float],
    default: float | None,
    meaning: str,
    otherwise: str = "",
) -> None:
    """Adds an option with a number; without a default, `otherwise` says what happens."""
    text = f"{meaning} (default: {otherwise or default})"
    parser.add_argument(name, type=kind, default=default, metavar="N", help=text)
