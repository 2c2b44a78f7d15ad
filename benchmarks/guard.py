"""Counts the work of a training's input per record, which does not depend on the machine.

    python benchmarks/guard.py DATASET [--image-size 224]

Prints the TensorFlow operations that a record and a batch pass through, and the number of calls of
Python. tests/trainer/test_work.py checks the counts.
"""

import argparse
from collections import Counter
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

import trainer

# Operations without work: constants, arguments, pass-through.
_FREE = {"Const", "Identity", "NoOp", "Placeholder", "_Arg", "_Retval"}


def operations(batches: tf.data.Dataset) -> Counter[str]:
    """Counts the operations by kind in all functions of a chain.

    All branches of a condition count, although a record takes only one.
    """
    return Counter(
        node.op
        for function in _graph(batches).library.function
        for node in function.node_def
        if node.op not in _FREE
    )


def stages(batches: tf.data.Dataset) -> list[str]:
    """The stages of a chain, unordered."""
    return sorted(node.op for node in _graph(batches).node if "Dataset" in node.op)


def _graph(batches: tf.data.Dataset) -> Any:
    graph = tf.compat.v1.GraphDef()
    variant = tf.data.experimental.to_variant(batches)
    graph.ParseFromString(tf.raw_ops.DatasetToGraphV2(input_dataset=variant).numpy())
    return graph


def in_python(found: Mapping[str, int]) -> int:
    """Number of operations that call Python (one thread at a time)."""
    return sum(count for name, count in found.items() if "PyFunc" in name)


def main() -> None:
    """Prints the counts of several chains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset")
    parser.add_argument("--image-size", type=int, default=224)
    args = parser.parse_args()
    dataset = trainer.open(args.dataset)
    options: dict[str, Any] = {"batch_size": 64, "image_size": args.image_size, "shuffle": True}
    for dtype in ("uint8", "float32"):
        batches = dataset.batches("train", image_dtype=dtype, **options)
        found = operations(batches)
        print(f"{dtype}: {found.total()} operations, {in_python(found)} of them in Python")
        print("  " + ", ".join(f"{count} × {name}" for name, count in found.most_common()))
        print("  stages: " + ", ".join(stages(batches)))


if __name__ == "__main__":
    main()
