"""A stage's output waits in its worker, in small messages: a runner's heap holds a hundred."""

import pytest
from apache_beam.runners.worker import data_plane

from beam_pipeline.running.remote import boot

PATCHED = (
    "_DEFAULT_SEND_QUEUE_MAX_BYTES",
    "_DEFAULT_SIZE_FLUSH_THRESHOLD",
    "SizeBasedBufferingClosableOutputStream",
)


@pytest.mark.parametrize(
    ("element_bytes", "count", "largest"),
    [
        pytest.param(1000, 5000, 1 << 20, id="many small elements"),
        pytest.param(400_000, 20, 1 << 20, id="elements of almost a message"),
        pytest.param(3 << 20, 3, (3 << 20) + 100, id="larger elements"),
    ],
)
def test_messages(monkeypatch, element_bytes, count, largest):
    for name in PATCHED:
        monkeypatch.setattr(data_plane, name, getattr(data_plane, name))
    monkeypatch.setattr(data_plane, "_DEFAULT_SEND_QUEUE_MAX_BYTES", 1 << 20)  # would block
    boot.let_output_wait_here()
    channel = data_plane._GrpcDataChannel()
    stream = channel.output_stream("instruction", "stage")
    for _ in range(count):
        stream.write(bytes(element_bytes))
        stream.maybe_flush()
    stream.close()
    channel.close()
    sizes = [message.ByteSize() for message in channel._write_outputs()]
    assert sum(sizes) >= element_bytes * count
    assert max(sizes) <= largest
    assert len(sizes) < 2 + sum(sizes) // boot._MESSAGE_BYTES
