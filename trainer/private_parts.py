"""Table of the private parts of Keras and TensorFlow that this package uses (`PrivatePart`)."""

from tfrecord_dataset.private_parts import PrivatePart

PRIVATE_PARTS = (
    PrivatePart(
        "keras",
        "layers.Layer()._flatten_layers",
        "all layers of a model, also those inside of others",
        "batch normalisation inside of a user's layer differs by replica without a message",
    ),
    PrivatePart(
        "keras",
        "optimizers.SGD()._trainable_variables",
        "variables in the order of their averages, frozen ones too",
        "--ema evaluates weights that are not averaged",
    ),
    PrivatePart(
        "tensorflow",
        "__internal__.autograph.tf_convert",
        "converts a user's function that is called from one that is not converted",
        "`if` on a tensor fails in --augment-fn and `prepare`",
    ),
    PrivatePart(
        "tensorflow",
        "__internal__.autograph.control_status_ctx",
        "the state of AutoGraph before anything is converted",
        "`if` on a tensor fails in --augment-fn and `prepare`",
    ),
    PrivatePart(
        "tensorflow.python.framework.config",
        "is_op_determinism_enabled",
        "whether the process is deterministic, in which case the input is not timed",
        "--deterministic trains at the speed of its slowest stage",
    ),
)
