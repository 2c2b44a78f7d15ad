"""A shard info is written as a receipt and read back."""

import pytest

from beam_pipeline.describe.shard_info import ShardInfo, TemporaryFile

INFO = ShardInfo(
    split="train",
    shard=3,
    file="pets-train.tfrecord-00003-of-00004",
    num_records=6,
    num_bytes=10,
    sha256="ab",
    records_digest="cd",
    temporary={"idx/x.idx": TemporaryFile("/tmp/x", 8)},
)


def test_a_receipt_is_read_back():
    assert ShardInfo.from_receipt(INFO.to_receipt()) == INFO


def test_its_entry_in_metadata_json():
    assert list(INFO.to_json().items()) == [
        ("file", "pets-train.tfrecord-00003-of-00004"),
        ("num_records", 6),
        ("num_bytes", 10),
        ("sha256", "ab"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"split": "train"',
        "{}",
        '"train"',
        "[]",
        INFO.to_receipt().replace('{"idx/x.idx": ["/tmp/x", 8]}', "7"),
        INFO.to_receipt().replace(", 8]", "]"),
    ],
)
def test_what_is_no_receipt(text):
    with pytest.raises((ValueError, TypeError)):
        ShardInfo.from_receipt(text)
