"""What the library's errors say."""

import pytest

from tfrecord_dataset.store.faults import tries_of


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Error performing GET https://h/b/k in 12.5s, after 3 retries, max 10",
            (4, 12.5),
        ),
        ("Error performing GET https://h/b/k in 1ms - Server returned 404", (1, 0.0)),
    ],
)
def test_how_often_a_request_was_sent(message, expected):
    assert tries_of(OSError(message)) == expected
