"""Input stages run in parallel with each other and with the training."""

import tensorflow as tf

import trainer
from trainer.input_pipeline import record_source


def test_options_leave_what_users_combine_with_the_batches_as_it_was(dataset):
    usual = tf.data.Dataset.range(7).options()
    batches = dataset.batches("train", image_size=8, deterministic=False)

    combined = tf.data.Dataset.zip(batches, tf.data.Dataset.range(7)).options()

    assert combined.deterministic == usual.deterministic
    assert combined.autotune == usual.autotune
    # TensorFlow's default would divide the records wrongly among workers.
    policy = combined.experimental_distribute.auto_shard_policy
    assert policy == tf.data.experimental.AutoShardPolicy.DATA


def test_files_in_turn_are_read_in_ranges_at_once(colors, monkeypatch):
    monkeypatch.setattr(record_source, "_streamed", None)  # would read one file after the other
    dataset = trainer.open(colors)

    numbers = [int(record["number"]) for record in dataset.numpy("train", features="number")]

    assert numbers == [*range(0, 50, 3), *range(1, 50, 3), *range(2, 50, 3)]
