"""Paths as they are displayed and stored."""

import pytest

from tfrecord_dataset.store.urls import unsigned


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("/a/why?token=1.jpg", "/a/why?token=1.jpg", id="a file"),
        pytest.param("s3://b/part-?.csv", "s3://b/part-?.csv", id="a pattern"),
        pytest.param("https://h/i.png?id=7", "https://h/i.png?id=7", id="a query that means more"),
        pytest.param("https://me:pass@h:8/i.png", "https://h:8/i.png", id="password"),
        pytest.param("http://token@h", "http://h", id="user"),
        pytest.param("https://h/i.png?X-Amz-Date=1&X-Amz-Signature=a", "https://h/i.png", id="S3"),
        pytest.param("https://h/i?X-Goog-Credential=a", "https://h/i", id="Google"),
        pytest.param("https://h/c/i.png?sv=1&sr=b&sig=a%2Fb", "https://h/c/i.png", id="Azure"),
        pytest.param("https://h/i.png?access_token=a", "https://h/i.png", id="token"),
        pytest.param("https://h/i.png?opaque", "https://h/i.png", id="no parameter"),
    ],
)
def test_unsigned(path, name):
    assert unsigned(path) == name
    assert unsigned(name) == name
